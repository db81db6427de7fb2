/**
 * Named transaction locks for streams and claimed goods (Postgres; SQLite has a single writer). Commands wait for them
 * at their start (`lockFirst`) and in a fixed order, which avoids deadlocks. Locks needed later are taken only if free
 * (`lockIfFree`); otherwise the command restarts and waits for them first. `lockStreams` waits at any time: use it
 * alone only for names whose holders never wait for this command.
 */
import { Context, Effect } from "effect"
import { SqlError } from "effect/sql"
import { Store } from "../store/store.ts"
import { type Table, tables_locked_by_row } from "../tables/table.ts"

/** State shared by the attempts at one transaction. */
interface LocksWanted {
  /** Names to lock first: those that earlier attempts found locked, or requested together with such a name. */
  readonly names: Set<string>
  /** True after too many attempts or names: `lockIfFree` then waits, and the database resolves deadlocks. */
  waits: boolean
}
/** Undefined if the transaction is not retried. */
export const LocksWanted = Context.Reference<LocksWanted | undefined>("flightcase/core/LocksWanted", {
  defaultValue: () => undefined
})

/** Maximum names to lock first: Postgres has room for a few thousand locks over all transactions. */
const wanted_max = 2_000

// Names come from the request, unchecked: Postgres refuses a NUL and half a surrogate pair, even in a lock.
const inOrder = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(names.map((one) => one.replaceAll("\u0000", "").toWellFormed()))].sort()

interface How {
  /** A shared lock, which does not exclude other shared ones. */
  readonly shared?: boolean
}
const locking = (kind: "" | "try_", { shared = false }: How): string =>
  `pg_${kind}advisory_xact_lock${shared ? "_shared" : ""}`

const hashed = (text: string): string => `(hashtextextended(${text}, 0))`
/** Number of these rows, by id and in its order; locks them until the transaction ends, against the same lock. */
const rowsLocked = (table: string, ids: string): string =>
  `(select count(*) from (select from "${table}" where id in (${ids}) order by id for no key update) as held)`
const listed = (parameter: string): string => `select json_array_elements_text(${parameter}::json)::bigint`

/** Names whose lock is sent without parameters, and so planned each time. */
const ahead_max = 8

/**
 * Locks these names until the transaction ends, waiting for their holders. `lamp:7` locks the row 7 as well, if the
 * table says `locked_by_row`; locks of `lockIfFree` do not.
 */
export const lockStreams = Effect.fnUntraced(function* (
  names: ReadonlyArray<string>,
  how: How = {}
): Store.Reads<void> {
  const store = yield* Store
  if (store.dialect !== "pg") return
  const named = inOrder(names)
  if (named.length === 0) return
  const rows = new Map<string, Array<string>>()
  for (const name of named) {
    const [entity = "", id = ""] = name.split(":")
    const table = /^\d{1,18}$/.test(id) ? tables_locked_by_row.get(entity) : undefined
    if (table !== undefined) rows.set(table, [...(rows.get(table) ?? []), id])
  }
  // One statement, in the order of the list: every writer locks in the same order, which avoids deadlocks.
  const lock = locking("", how)
  // Without parameters, the statement travels with BEGIN and with the one that follows.
  if (named.length <= ahead_max && named.every((name) => /^[a-z_]+:\d+$/.test(name))) {
    const held = [...rows].map(([table, ids]) => rowsLocked(table, ids.join(", ")))
    yield* store.runAhead(`select ${[...named.map((name) => `${lock}${hashed(`'${name}'`)}`), ...held].join(", ")}`)
  } else {
    const held = [...rows.keys()].map((table, at) => `, ${rowsLocked(table, listed(`$${at + 2}`))}`)
    yield* store.run(
      `select count(${lock}${hashed("name")})${held.join("")} from json_array_elements_text($1::json) name`,
      [named, ...rows.values()].map((one) => JSON.stringify(one))
    )
  }
})

/** Locks these rows of a table `locked_by_row` until the transaction ends, of which there may be any number. */
export const lockRows = Effect.fnUntraced(function* (table: Table, ids: ReadonlyArray<number>): Store.Reads<void> {
  const store = yield* Store
  if (store.dialect === "pg" && ids.length > 0)
    yield* store.run(`select ${rowsLocked(table.name, listed("$1"))}`, [JSON.stringify(ids)])
})

/** Call at the start of a transaction: locks these names and those of `LocksWanted`. */
export const lockFirst = Effect.fnUntraced(function* (names: ReadonlyArray<string>): Store.Reads<void> {
  yield* lockStreams([...names, ...((yield* LocksWanted)?.names ?? [])])
})

/**
 * Locks these names until the transaction ends if they are free; otherwise the transaction restarts and waits for them
 * at its start, or waits here if it is not retried. Takes no locks outside a transaction.
 */
export const lockIfFree = Effect.fnUntraced(function* (names: ReadonlyArray<string>, how: How = {}): Store.Reads<void> {
  const store = yield* Store
  if (store.dialect !== "pg" || (yield* store.openTransaction) === undefined) return
  const named = inOrder(names)
  if (named.length === 0) return
  const wanted = yield* LocksWanted
  if (wanted === undefined || wanted.waits) return yield* lockStreams(named, how)
  const rows = yield* store.run<{ readonly name: string }>(
    `with tried as materialized (select name, ${locking("try_", how)}(hashtextextended(name, 0)) as taken ` +
      "from json_array_elements_text($1::json) as given (name)) select name from tried where not taken",
    [JSON.stringify(named)]
  )
  if (rows.length === 0) return
  // Shared locks wait only for writers, so only locked names are remembered.
  for (const name of how.shared === true ? rows.map((row) => row.name) : named) wanted.names.add(name)
  if (wanted.names.size > wanted_max) wanted.waits = true
  return yield* new SqlError.SqlError({
    reason: new SqlError.SerializationError({
      cause: undefined,
      message: "somebody else is changing the same just now"
    })
  })
})

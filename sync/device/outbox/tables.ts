/**
 * The outbox's tables, and how its parts read and write them: statements are prepared once, and what belongs together is
 * kept in one transaction or not at all.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"
import { DeviceFailure, isDamage, outboxDamaged } from "../device-failure.ts"
import { checksumOf, isIntact } from "./checksum.ts"
import { type CommandState, command_states, type OutboxCommand } from "./command.ts"

const schema = `
create table if not exists meta (key text primary key, value text not null);
create table if not exists commands (
  n integer primary key, id text not null unique, name text not null, payload text not null, ids text not null,
  issued_at text not null, state text not null default 'pending', error text
);
create index if not exists commands_state on commands (state, n);
create table if not exists things (thing text not null, n integer not null, made integer not null, primary key (thing, n)) without rowid;
create index if not exists things_of on things (n);
create table if not exists leases (entity text not null, first integer not null, last integer not null, next integer not null, primary key (entity, first));
create table if not exists lost_ids (entity text not null, first integer not null, last integer not null, up_to_n integer not null);
create table if not exists lease_requests (entity text primary key, request_no integer not null);
`
/** Columns that came later, with what they say of commands from before. */
const added_columns = [
  "needs text not null default '[]'",
  "base integer",
  "replaces text",
  "cause text",
  "settled_before integer not null default 0",
  "outcome text",
  "account text",
  "seen integer not null default 0",
  "rows_seen text not null default '{}'",
  "checksum text"
]
interface Row {
  readonly n: number
  readonly id: string
  readonly name: string
  readonly payload: string
  readonly ids: string
  readonly issued_at: string
  readonly state: string
  readonly error: string | null
  readonly needs: string
  readonly base: number | null
  readonly replaces: string | null
  readonly cause: string | null
  readonly account: string | null
  readonly rows_seen: string
  readonly checksum: string | null
}
/** What is read of a command, for `OutboxTables.kept`. */
export const columns =
  "n, id, name, payload, ids, issued_at, state, error, needs, base, replaces, cause, account, rows_seen, checksum"

/** What is kept as JSON; null where nothing is. */
export const parsed = (text: string | null | undefined) =>
  text === null || text === undefined ? null : JSON.parse(text)
/** The states of commands the server may still have to decide: nobody else has what they say. */
const unsettled: ReadonlySet<string> = new Set(["pending", "rejected", "held"] satisfies ReadonlyArray<CommandState>)
/** A row that is not what was written. */
class Altered extends Error {
  override readonly name = "Altered"
}
/** A command as it is kept, of a row with `columns`. One that is not settled must be what was acknowledged. */
const keptCommand = (row: Record<string, unknown>): OutboxCommand => {
  const whole = row as unknown as Row
  if (!(command_states as ReadonlyArray<string>).includes(whole.state))
    throw new Altered(`command ${whole.n} is in no state there is`)
  if (unsettled.has(whole.state) && !isIntact(whole)) throw new Altered(`command ${whole.n} is not as it was written`)
  try {
    return keptIn(whole)
  } catch (error) {
    throw new Altered(`command ${whole.n} cannot be read`, { cause: error })
  }
}
const keptIn = (row: Row): OutboxCommand => {
  const { payload, ids, state, error, needs, account, rows_seen, ...plain } = row
  const { n, id, name, issued_at, base, replaces, cause } = plain
  return {
    n,
    id,
    name,
    issued_at,
    base,
    replaces,
    cause,
    payload: JSON.parse(payload),
    ids: JSON.parse(ids),
    state: state as CommandState,
    needs: JSON.parse(needs),
    error: parsed(error),
    account: parsed(account),
    ...(rows_seen === "{}" ? {} : { rows_seen: JSON.parse(rows_seen) })
  }
}

export interface OutboxTables {
  readonly all: (sql: string, ...values: ReadonlyArray<string | number>) => ReadonlyArray<Record<string, unknown>>
  /** A command as it is kept, of a row with `columns`. */
  readonly kept: (row: Record<string, unknown>) => OutboxCommand
  /** A command was changed on purpose: its checksum is that of what it is now. */
  readonly sign: (n: number) => void
  readonly prepared: (sql: string) => Pick<StatementSync, "run">
  /** One durable step: when it returns, what it wrote is on the disk; when it throws, nothing of it is kept. */
  readonly transaction: <A>(body: () => A) => A
  /** The highest number ever given here; 0 before the first. */
  readonly lastN: () => number
}

/** Pages of an outbox that is looked over whenever it is opened; what is larger is for the doctor. */
const looked_over_pages_max = 2_048
const looked_over_commands_max = 500

/**
 * Makes what is missing of the tables, also in a file of an earlier release. An outbox that is damaged acknowledges nothing:
 * neither when that is seen on opening, nor when it is come upon later.
 */
export const openTables = (db: DatabaseSync): OutboxTables => {
  const guarded = <A>(work: () => A): A => {
    try {
      return work()
    } catch (error) {
      throw (isDamage(error) || error instanceof Altered) && !(error instanceof DeviceFailure)
        ? outboxDamaged(db.location() ?? "in memory", error)
        : error
    }
  }
  return guarded(() => openGuarded(db, guarded))
}
const lookOver = (db: DatabaseSync): void => {
  const pages = Number(db.prepare("pragma page_count").get()?.["page_count"] ?? 0)
  if (pages <= looked_over_pages_max) {
    const said = String(db.prepare("pragma quick_check(1)").get()?.["quick_check"])
    if (said !== "ok") throw new Altered(said)
  }
  for (const row of db
    .prepare(
      `select ${columns} from commands where state = 'pending' order by n desc limit ${looked_over_commands_max}`
    )
    .all()) {
    if (!isIntact(row as unknown as Row)) throw new Altered(`command ${String(row["n"])} is not as it was written`)
  }
}
const openGuarded = (db: DatabaseSync, guarded: <A>(work: () => A) => A): OutboxTables => {
  db.exec(schema)
  const present = new Set(
    db
      .prepare("select name from pragma_table_info('commands')")
      .all()
      .map((column) => String(column["name"]))
  )
  for (const column of added_columns)
    if (!present.has(column.slice(0, column.indexOf(" ")))) db.exec(`alter table commands add column ${column}`)
  db.exec("create index if not exists commands_replaces on commands (replaces) where replaces is not null")
  lookOver(db)
  const statements = new Map<string, StatementSync>()
  const statementOf = (sql: string): StatementSync => {
    let statement = statements.get(sql)
    if (statement === undefined) statements.set(sql, (statement = db.prepare(sql)))
    return statement
  }
  const prepared: OutboxTables["prepared"] = (sql) => ({
    run: (...values) => guarded(() => statementOf(sql).run(...(values as ReadonlyArray<SQLInputValue>)))
  })
  const all = (sql: string, ...values: ReadonlyArray<string | number>): ReadonlyArray<Record<string, unknown>> =>
    guarded(() => statementOf(sql).all(...values))
  const transaction = <A>(body: () => A): A =>
    guarded(() => {
      db.exec("begin immediate")
      try {
        const result = body()
        db.exec("commit")
        return result
      } catch (error) {
        if (db.isTransaction) db.exec("rollback")
        throw error
      }
    })
  const sign = (n: number): void => {
    const [row] = all(`select ${columns} from commands where n = ?`, n)
    if (row !== undefined)
      prepared("update commands set checksum = ? where n = ?").run(checksumOf(row as unknown as Row), n)
  }
  const lastN = (): number => Number(all("select coalesce(max(n), 0) as n from commands")[0]!["n"])
  return { all, kept: (row) => guarded(() => keptCommand(row)), prepared, sign, transaction, lastN }
}

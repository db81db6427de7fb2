/**
 * Examines a device: whether its files are undamaged, its tables match the journal and the server, and no command is
 * missing.
 */
import { itemAt } from "../../core/values/text.ts"
import { Effect } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { columnList, quote, Store, type Key, type Table } from "../../core/kernel/index.ts"
import { type Checksum, rowsDigest } from "../protocol/snapshot.ts"
import { missing_advice, missingNow, missingText, revertProvisional, writeMeta } from "./outbox/replica-tables.ts"
import { type Remote, RemoteError, Unreachable } from "./exchange/remote.ts"
import { pull, refill, type SyncParts } from "./exchange/sync.ts"
import { projectJournal } from "../../core/kernel/runtime/schema.ts"
import { command_states } from "./outbox/rows.ts"

// Compares a replica with the server by checksums of row ranges, both at the same journal position.

type ComparisonResult =
  | { readonly kind: "same"; readonly rows: number }
  | { readonly kind: "differs"; readonly tables: ReadonlyArray<string> }
  /** Not compared, such as with a server that does not respond or has no checksums. */
  | { readonly kind: "unknown"; readonly why: string }
interface CompareParts extends Omit<SyncParts, "remote"> {
  readonly remote: SyncParts["remote"] & Pick<Remote, "checksums">
}

/** Maximum number of reads of a page, which is repeated if others wrote meanwhile. */
const tries_max = 8

const compareWithServer = async (parts: CompareParts): Promise<ComparisonResult> => {
  try {
    return await compared(parts)
  } catch (error) {
    if (error instanceof Unreachable) return { kind: "unknown", why: "the server cannot be reached" }
    if (error instanceof RemoteError && error.status === 404)
      return { kind: "unknown", why: "this server keeps no checksums" }
    throw error
  }
}

const compared = async (parts: CompareParts): Promise<ComparisonResult> => {
  const { profile, remote, replica, run } = parts
  await pull(parts)
  const differing = new Set<string>(),
    seen = new Set<string>()
  let rows = 0,
    tries = 0
  for (let after = ""; ;) {
    const { position, offset, handle } = await run(replica.position)
    const page = await remote.checksums(profile.replica_id, { handle: handle ?? "", offset, after })
    // Events that this device does not receive advance the server's position as well; a pull updates the cursor.
    if (page === "anew" || page.position !== positionOf(offset, position)) {
      if (++tries > tries_max) return { kind: "unknown", why: "others write faster than rows can be compared" }
      await pull(parts)
      continue
    }
    tries = 0
    const own = await run(ownSums(page.sums))
    for (const [at, sum] of page.sums.entries()) {
      seen.add(sum.table)
      rows += sum.rows
      if (own[at] !== sum.digest) differing.add(sum.table)
    }
    if (page.next === null) break
    after = page.next
  }
  // Tables not named by the server are empty for this device.
  const filled_here = (await run(filledTables)).filter((table) => !seen.has(table))
  const tables = [...differing, ...filled_here]
  return tables.length === 0 ? { kind: "same", rows } : { kind: "differs", tables }
}
const positionOf = (offset: string, position: number): number => Math.max(position, Number(offset.split("_")[0]))

/** Checksums of the confirmed rows, with provisional changes reverted temporarily. */
const ownSums = (sums: ReadonlyArray<Checksum>) =>
  Effect.flatMap(Store, (store) =>
    store.rolledBack(
      Effect.gen(function* () {
        yield* revertProvisional(catalogue)
        return yield* Effect.forEach(sums, (sum) => {
          const table = catalogue.tables.find((one) => one.name === sum.table)
          // A table known only to a later release counts as equal.
          return table === undefined
            ? Effect.succeed(sum.digest)
            : Effect.map(rowsOf(table, sum), (rows) => rowsDigest(table, Object.keys(table.columns), rows))
        })
      })
    )
  )

const rowsOf = Effect.fnUntraced(function* (table: Table, { after, through }: Checksum) {
  const store = yield* Store
  const { sql } = store
  const keyed = (text: string): Key => (table.columns[table.key]?.type.kind === "text" ? text : Number(text))
  const conditions = [
    ...(after === "" ? [] : [sql`${sql(table.key)} > ${keyed(after)}`]),
    ...(through === null ? [] : [sql`${sql(table.key)} <= ${keyed(through)}`])
  ]
  const found = yield* sql`
    select ${sql.literal(columnList(table))} from ${sql(table.name)} where ${sql.and(conditions)}
    order by ${sql(table.key)}`
  return found.map((row) => {
    const decoded = store.decode(table, row)
    return Object.keys(table.columns).map((name) => decoded[name] ?? null)
  })
})
const filledTables = Effect.gen(function* () {
  const filled: Array<string> = []
  for (const table of catalogue.tables)
    if ((yield* Store.run(`select 1 from ${quote(table.name)} limit 1`)).length > 0) filled.push(table.name)
  return filled
})

export interface Finding {
  readonly check: string
  readonly ok: boolean
  readonly detail: string
}
interface Parts extends Omit<SyncParts, "remote"> {
  readonly remote: Remote
}

/**
 * Checks the replica's file, the outbox's numbers, and the tables against the journal and, unless `offline`, against
 * the server. With `repair`, projects the journal again or refills the replica where they differ. Decides pending
 * commands again; deletes nothing from the outbox.
 */
export const examineDevice = async (
  parts: Parts,
  repair: boolean,
  offline = false
): Promise<ReadonlyArray<Finding>> => {
  const { outbox, replica, run } = parts
  const findings: Array<Finding> = []
  const file = await run(integrity)
  findings.push({ check: "replica file", ok: file === "ok", detail: file === "ok" ? "whole" : file })
  const missing = await run(missingNow(outbox))
  if (missing !== undefined) {
    // A repair would delete the last traces of those commands.
    findings.push({
      check: "outbox numbers",
      ok: false,
      detail: `${missingText(missing)}. Nothing is recorded or sent until that is decided. ${missing_advice}`
    })
    return findings
  }
  const pending = outbox.pending()
  const numbers = command_states
    .flatMap((state) => outbox.byState(state))
    .map((command) => command.n)
    .sort((a, b) => a - b)
  const gap = numbers.find((n, at) => n !== itemAt(numbers, 0) + at)
  findings.push({
    check: "outbox numbers",
    ok: gap === undefined,
    detail:
      gap === undefined ? `${numbers.length} commands, ${pending.length} pending` : `command ${gap - 1} is missing`
  })
  const { journal_from } = await run(replica.position)
  const differing = journal_from > 0 ? [] : await run(tablesAgainstJournal(repair))
  findings.push({
    check: "tables against journal",
    ok: differing.length === 0,
    detail:
      journal_from > 0
        ? `filled from rows at event ${journal_from}: what they came of is the server's to compare`
        : differing.length === 0
          ? "every row as folded"
          : `${differing.join(", ")} differ${repair ? "; folded again" : "; run flightcase doctor --repair"}`
  })
  if (!offline) findings.push(await againstServer(parts, repair))
  await run(replica.open)
  const stalled = await run(replica.stalled)
  findings.push({
    check: "pending commands",
    ok: stalled.length === 0,
    detail: stalled.length === 0 ? "all hold here" : `${stalled.length} no longer hold here: flightcase sync`
  })
  return findings
}

const againstServer = async (parts: Parts, repair: boolean): Promise<Finding> => {
  const check = "tables against server"
  const found = await compareWithServer(parts)
  if (found.kind === "unknown") return { check, ok: true, detail: `not compared: ${found.why}` }
  if (found.kind === "same")
    return {
      check,
      ok: true,
      detail: `${found.rows.toLocaleString("en")} rows alike at event ${(await parts.run(parts.replica.position)).position}`
    }
  if (repair) await refill(parts)
  return {
    check,
    ok: false,
    detail: `${found.tables.join(", ")} differ${repair ? "; filled anew, the outbox as it was" : "; run flightcase doctor --repair"}`
  }
}

const integrity = Effect.gen(function* () {
  const rows = yield* Store.run<{ integrity_check: string }>("pragma integrity_check(5)")
  return rows.map((row) => row.integrity_check).join("; ")
})

const dump = Effect.gen(function* () {
  const tables: { [name: string]: string } = {}
  for (const table of catalogue.tables) tables[table.name] = JSON.stringify(yield* Store.find(table, {}))
  return tables
})

/**
 * Reverts provisional changes, projects the confirmed journal into empty tables and compares; commits only if `repair`.
 */
const tablesAgainstJournal = (repair: boolean) =>
  Effect.flatMap(Store, (store) =>
    store.rolledBack(
      Effect.gen(function* () {
        yield* revertProvisional(catalogue)
        const before = yield* dump
        for (const table of catalogue.tables) yield* store.run(`delete from "${table.name}"`)
        yield* projectJournal(catalogue)
        const after = yield* dump
        const differing = Object.keys(after).filter((name) => after[name] !== before[name])
        // Makes the next opening decide pending commands again.
        yield* writeMeta(store, "run_n", "0")
        return differing
      }),
      (differing) => repair && differing.length > 0
    )
  )

/** Compares a replica with the server by checksums of runs of rows, both sides at the same position of the journal. */
import { Effect } from "effect"
import { catalogue } from "../../../core/catalogue.ts"
import type { Key } from "../../../core/kernel/row-change.ts"
import type { Json } from "../../../core/kernel/json.ts"
import { bindings, columnList, quote } from "../../../core/kernel/store/statement.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { AnyRow, Table } from "../../../core/kernel/table.ts"
import { type Checksum, rowsDigest } from "../../protocol/snapshot.ts"
import { revertProvisional } from "../replica/provisional.ts"
import { type Remote, RemoteError, Unreachable } from "../remote.ts"
import { pull, type SyncParts } from "../sync.ts"

export type ComparisonResult =
  | { readonly kind: "same"; readonly rows: number }
  | { readonly kind: "differs"; readonly tables: ReadonlyArray<string> }
  /** The server does not answer, or is of a release without checksums. */
  | { readonly kind: "unknown"; readonly why: string }
export interface CompareParts extends Omit<SyncParts, "remote"> {
  readonly remote: SyncParts["remote"] & Pick<Remote, "checksums">
}

/** How often a page is read again because others wrote in between. */
const tries_max = 8

export const compareWithServer = async (parts: CompareParts): Promise<ComparisonResult> => {
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
    // Events this device is not sent move the server's position as well; a pull brings the cursor up to it.
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
  // Tables the server did not name hold nothing for this device, so they must be empty.
  for (const table of await run(filledTables)) if (!seen.has(table)) differing.add(table)
  return differing.size === 0 ? { kind: "same", rows } : { kind: "differs", tables: [...differing] }
}
const positionOf = (offset: string, position: number): number => Math.max(position, Number(offset.split("_")[0]))

/** Carries the checksums out of a transaction that is rolled back: provisional changes are reverted for it alone. */
class Summed extends Error {
  readonly sums: ReadonlyArray<string | undefined>
  constructor(sums: ReadonlyArray<string | undefined>) {
    super("summed")
    this.sums = sums
  }
}
const ownSums = (sums: ReadonlyArray<Checksum>) =>
  Effect.gen(function* () {
    const store = yield* Store
    return yield* store.transaction(
      Effect.gen(function* () {
        yield* revertProvisional(catalogue)
        const own = yield* Effect.forEach(sums, (sum) => {
          const table = catalogue.tables.find((one) => one.name === sum.table)
          // Only a later release knows this table: it counts as alike.
          return table === undefined
            ? Effect.succeed(sum.digest)
            : Effect.map(rowsOf(table, sum), (rows) => rowsDigest(table, Object.keys(table.columns), rows))
        })
        return yield* Effect.die(new Summed(own))
      })
    )
  }).pipe(Effect.catchDefect((defect) => (defect instanceof Summed ? Effect.succeed(defect.sums) : Effect.die(defect))))

const rowsOf = Effect.fnUntraced(function* (table: Table, { after, through }: Checksum) {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const keyed = (text: string): Key => (table.columns[table.key]?.type.kind === "text" ? text : Number(text))
  const conditions = [
    ...(after === "" ? [] : [`${quote(table.key)} > ${bind(keyed(after))}`]),
    ...(through === null ? [] : [`${quote(table.key)} <= ${bind(keyed(through))}`])
  ]
  const found = yield* store.run(
    `select ${columnList(table)} from ${quote(table.name)}${conditions.length === 0 ? "" : ` where ${conditions.join(" and ")}`} order by ${quote(table.key)}`,
    values
  )
  return found.map((row) => {
    const decoded = store.decode(table, row) as AnyRow
    return Object.keys(table.columns).map((name) => decoded[name] as Json)
  })
})
const filledTables = Effect.gen(function* () {
  const store = yield* Store
  const filled: Array<string> = []
  for (const table of catalogue.tables)
    if ((yield* store.run(`select 1 from ${quote(table.name)} limit 1`)).length > 0) filled.push(table.name)
  return filled
})

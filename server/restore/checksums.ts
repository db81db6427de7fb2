/** Checksums of this server's tables, with its counters: an export carries them and an import is compared with them. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import type { Key } from "../../core/kernel/row-change.ts"
import type { Failure } from "../../core/kernel/endpoint.ts"
import { hasOwnIds, nextIds, number_sequences } from "../../core/kernel/ids.ts"
import { canonicalJson, type Json } from "../../core/kernel/json.ts"
import { lastPosition } from "../../core/kernel/journal.ts"
import { schema_version } from "../../core/kernel/store/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { keyOf, rowsAfter } from "../../core/kernel/store/scan.ts"
import type { Table } from "../../core/kernel/table.ts"
import type { Manifest, TableChecksum } from "./schema.ts"

/** Rows in the order of their keys, as canonical JSON: the same on either engine. One pass; memory for one page. */
const checksumOf = Effect.fnUntraced(function* (
  table: Table,
  names: ReadonlyArray<string>
): Effect.fn.Return<TableChecksum, Failure, Store> {
  const hash = createHash("sha256")
  let rows = 0
  for (let after: Key | undefined; ;) {
    const page = yield* rowsAfter(table, after)
    const last = page.at(-1)
    if (last === undefined) return { name: table.name, rows, checksum: hash.digest("hex"), columns: names }
    for (const row of page)
      hash.update(`${canonicalJson(names.map((name) => (row[name] as Json | undefined) ?? null))}\n`)
    rows += page.length
    after = keyOf(table, last)
  }
})
const columnsOf = (table: Table): ReadonlyArray<string> => Object.keys(table.columns).sort()
/** Checksums of every table, over all its columns. */
export const tableChecksums = (catalogue: Catalogue): Effect.Effect<ReadonlyArray<TableChecksum>, Failure, Store> =>
  Effect.forEach(catalogue.tables, (table) => checksumOf(table, columnsOf(table)))

/** Columns added while exports did not yet name the columns in their checksums. */
export const changed_meanwhile: { readonly [table: string]: ReadonlyArray<string> } = {
  custom_fields: ["is_personal"],
  opportunity_items: ["first_made_at"],
  opportunities: ["kept_rule_ids"]
}
/** Checksums over the columns that the export took, which may be of an earlier release with fewer columns. */
export const checksumsAsExported = (
  catalogue: Catalogue,
  exported: ReadonlyMap<string, TableChecksum>
): Effect.Effect<ReadonlyArray<TableChecksum>, Failure, Store> =>
  Effect.forEach(catalogue.tables, (table) =>
    checksumOf(
      table,
      exported.get(table.name)?.columns ??
        columnsOf(table).filter((name) => changed_meanwhile[table.name]?.includes(name) !== true)
    )
  )

/** What an export says of itself. To be run inside one transaction, so that all of it is of one position. */
export const ownManifest = Effect.fnUntraced(function* (
  catalogue: Catalogue
): Effect.fn.Return<Manifest, Failure, Store> {
  const store = yield* Store
  const position = yield* lastPosition(store)
  const [{ events } = { events: 0 }] = yield* store.run<{ events: number }>("select count(*) as events from journal")
  const numbers = yield* store.find(number_sequences, {})
  return {
    position,
    events: Number(events),
    schema_version,
    tables: yield* tableChecksums(catalogue),
    ids: Object.fromEntries(yield* nextIds(catalogue.tables.filter(hasOwnIds))),
    numbers: Object.fromEntries(numbers.map(({ name, next }) => [name, next]))
  }
})

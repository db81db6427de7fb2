/** What the tables and counters of this server come to, to be compared with another's. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import type { Key } from "../../core/kernel/change.ts"
import type { Fault } from "../../core/kernel/endpoint.ts"
import { hasOwnIds, nextIds, number_sequences } from "../../core/kernel/ids.ts"
import { canonicalJson, type Json } from "../../core/kernel/json.ts"
import { headOf } from "../../core/kernel/journal.ts"
import { schema_version } from "../../core/kernel/store/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { keyOf, rowsAfter } from "../../core/kernel/store/walk.ts"
import type { Table } from "../../core/kernel/table.ts"
import type { Manifest, TableSum } from "./schema.ts"

/** Rows in the order of their keys, as canonical JSON: the same on either engine. One pass; memory for one page. */
const sumOf = Effect.fnUntraced(function*(table: Table): Effect.fn.Return<TableSum, Fault, Store> {
  const hash = createHash("sha256")
  const names = Object.keys(table.columns).sort()
  let rows = 0
  for (let after: Key | undefined; ;) {
    const page = yield* rowsAfter(table, after)
    if (page.length === 0) return { name: table.name, rows, checksum: hash.digest("hex") }
    for (const row of page) hash.update(`${canonicalJson(names.map((name) => row[name] as Json | undefined ?? null))}\n`)
    rows += page.length
    after = keyOf(table, page.at(-1)!)
  }
})
export const tableSums = (catalogue: Catalogue): Effect.Effect<ReadonlyArray<TableSum>, Fault, Store> =>
  Effect.forEach(catalogue.tables, sumOf)

/** Asked inside one transaction, so that all of it is of one position. */
export const manifestHere = Effect.fnUntraced(function*(catalogue: Catalogue): Effect.fn.Return<Manifest, Fault, Store> {
  const store = yield* Store
  const position = yield* headOf(store)
  const [{ events } = { events: 0 }] = yield* store.run<{ events: number }>("select count(*) as events from journal")
  const numbers = yield* store.find(number_sequences, {})
  return {
    position, events: Number(events), schema_version, tables: yield* tableSums(catalogue),
    ids: Object.fromEntries(yield* nextIds(catalogue.tables.filter(hasOwnIds))),
    numbers: Object.fromEntries(numbers.map(({ name, next }) => [name, next]))
  }
})

/** Blocks of ids for replicas: what is created offline keeps its id for ever. Asking twice with one number gives one block. */
import { Effect } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { drawIds, hasOwnIds } from "../../core/kernel/ids.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { LeaseRange } from "../wire.ts"
import { id_leases } from "./tables.ts"

/** Ids in one block: half of it, the least a device leaves the network with, is a long evening of quotes and packing; fewer of what is rarely made in the field. */
const block_sizes: { readonly [table: string]: number } = { claims: 2_000, opportunity_items: 2_000, asset_assignments: 1_000, opportunities: 200, container_items: 1_000 }
export const blockSize = (table: string): number => block_sizes[table] ?? 50

/** Tables that commands which can be sent later make rows in. */
export const leasedTables = (catalogue: Catalogue): ReadonlyArray<string> =>
  catalogue.tables.filter(hasOwnIds).map((table) => table.name)

/** The block of a request number: drawn once, repeated as often as asked. Runs in the caller's transaction. */
export const lease = Effect.fnUntraced(function*(replica_id: number, entity: string, request_no: number) {
  const store = yield* Store
  const known = yield* store.find(id_leases, { replica_id, entity, request_no })
  if (known.length > 0) return known.map(({ entity, from, to }): LeaseRange => ({ entity, from, to }))
  const ids = yield* drawIds(entity, blockSize(entity))
  // Writers beside us may have drawn in between: a block is one or more unbroken runs.
  const ranges: Array<{ entity: string; from: number; to: number }> = []
  for (const id of ids) {
    const last = ranges.at(-1)
    if (last !== undefined && last.to + 1 === id) last.to = id
    else ranges.push({ entity, from: id, to: id })
  }
  yield* store.apply(ranges.map((range) => ({
    op: "insert" as const, table: id_leases, row: { ...range, key: `${replica_id}:${entity}:${range.from}`, replica_id, request_no }
  })))
  return ranges as ReadonlyArray<LeaseRange>
})

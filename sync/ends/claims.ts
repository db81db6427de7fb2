/**
 * A server put back from a backup has forgotten the blocks of ids it leased since; its devices have not, and have made
 * rows with them. A device shows such a block again and gets of it what nobody else has. Ids passed over on the way to a
 * block are most likely of other such blocks: they are kept aside for whoever shows those.
 */
import { Effect } from "effect"
import { type Fault } from "../../core/kernel/endpoint.ts"
import { integer, object, text } from "../../core/kernel/field.ts"
import { drawIds, nextIds } from "../../core/kernel/ids.ts"
import { Site } from "../../core/kernel/site.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { RowOf } from "../../core/kernel/table.ts"
import type { LeaseRange } from "../wire.ts"
import { blockSize, leasedTables } from "./leases.ts"
import { id_leases } from "./tables.ts"

/** Whose blocks are nobody's: ids passed over. */
const nobody = 0
/** No server leases more blocks of a table between two backups than this. */
const blocks_ahead_max = 100

export type Claim = LeaseRange & { readonly request_no: number }
export const claim_fields = object({
  entity: text({ required: true }), request_no: integer({ required: true, min: 1 }),
  from: integer({ required: true, min: 1, max: Number.MAX_SAFE_INTEGER }), to: integer({ required: true, min: 1, max: Number.MAX_SAFE_INTEGER })
})

/** How many blocks the server remembers to have leased to a replica, initial ones included. */
export const leasesKnown = Effect.fnUntraced(function*(replica_id: number) {
  const last = new Map<string, number>()
  for (const { entity, request_no } of yield* (yield* Store).find(id_leases, { replica_id })) last.set(entity, Math.max(request_no, last.get(entity) ?? 0))
  return [...last.values()].reduce((sum, one) => sum + one, 0)
})

/** What of these blocks is the replica's from now on, or was before. Safe to repeat. Runs in the caller's transaction. */
export const claimBlocks = Effect.fnUntraced(function*(replica_id: number, claims: ReadonlyArray<Claim>): Effect.fn.Return<ReadonlyArray<LeaseRange>, Fault, Store | Site> {
  const store = yield* Store
  if (store.dialect === "pg") yield* store.run("select pg_advisory_xact_lock(hashtextextended('id_leases', 0))")
  const known = leasedTables((yield* Site).catalogue)
  const own = yield* store.find(id_leases, { replica_id })
  const granted: Array<LeaseRange> = []
  for (const claim of claims.filter(({ entity }) => known.includes(entity))) {
    const before = own.filter((one) => one.entity === claim.entity && overlap(one, claim) !== undefined)
    granted.push(...before.length > 0 ? before.map((one) => overlap(one, claim)!) : yield* claimOne(replica_id, claim))
  }
  return granted
})

const claimOne = Effect.fnUntraced(function*(replica_id: number, claim: Claim) {
  const store = yield* Store
  const { entity, from, to, request_no } = claim
  if (to < from || to - from >= blockSize(entity)) return []
  yield* passOver(entity, to)
  const taken: Array<LeaseRange> = []
  for (const spare of yield* store.find(id_leases, { replica_id: nobody, entity }, { order: ["from"] })) {
    const range = overlap(spare, claim)
    if (range === undefined) continue
    const last = taken.at(-1)
    if (last !== undefined && last.to + 1 === range.from) taken.splice(-1, 1, { entity, from: last.from, to: range.to })
    else taken.push(range)
    yield* store.apply([{ op: "delete", table: id_leases, key: spare.key }])
    yield* keep(nobody, 0, [{ entity, from: spare.from, to: range.from - 1 }, { entity, from: range.to + 1, to: spare.to }])
  }
  yield* keep(replica_id, request_no, taken)
  return taken
})

/** Draws all ids up to one, so that nobody else is given them. */
const passOver = Effect.fnUntraced(function*(entity: string, to: number) {
  const { catalogue } = yield* Site
  const [[, next]] = (yield* nextIds([catalogue.table(entity)])) as readonly [readonly [string, number]]
  if (to < next || to - next >= blocks_ahead_max * blockSize(entity)) return
  const runs: Array<{ entity: string; from: number; to: number }> = []
  // Writers beside us may draw in between; what they drew is theirs.
  for (const id of yield* drawIds(entity, to - next + 1)) {
    const last = runs.at(-1)
    if (last !== undefined && last.to + 1 === id) last.to = id
    else runs.push({ entity, from: id, to: id })
  }
  yield* keep(nobody, 0, runs)
})

const keep = Effect.fnUntraced(function*(replica_id: number, request_no: number, ranges: ReadonlyArray<LeaseRange>) {
  yield* (yield* Store).apply(ranges.filter(({ from, to }) => from <= to).map((range) => ({
    op: "insert" as const, table: id_leases, row: { ...range, key: `${replica_id}:${range.entity}:${range.from}`, replica_id, request_no }
  })))
})

const overlap = (one: Pick<RowOf<typeof id_leases>, "entity" | "from" | "to">, { from, to }: LeaseRange): LeaseRange | undefined => {
  const range = { entity: one.entity, from: Math.max(one.from, from), to: Math.min(one.to, to) }
  return range.from <= range.to ? range : undefined
}

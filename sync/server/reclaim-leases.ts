/**
 * A server restored from a backup has forgotten id blocks whose ids devices have used. A device presents such a block
 * and receives the parts not taken by others. Ids skipped to reach a block probably belong to other devices' blocks and
 * are reserved for those.
 */
import { firstOf, itemAt } from "../../core/values/text.ts"
import { Effect } from "effect"
import { CommandRuntime, insert, integer, invalidField, object, Store, text } from "../../core/kernel/index.ts"
import type { RowChange } from "../../core/kernel/index.ts"
import { nextIds, sequenceName } from "../../core/kernel/runtime/ids.ts"
import { leasedTables, type LeaseRange } from "../protocol/wire.ts"
import { id_claims, id_leases, lockReplica } from "./tables.ts"

// Blocks of ids for devices, whose rows keep their ids forever. Each request number gets one block.

/** Number of blocks of a table that a device may hold before sending anything; further ones require sent commands. */
const blocks_at_first_max = 20
const blocks_per_command_max = 10

const leaseRows = (
  replica_id: number,
  entity: string,
  request_no: number,
  ranges: ReadonlyArray<{ readonly from: number; readonly to: number }>
): ReadonlyArray<RowChange> =>
  ranges.map(({ from, to }) =>
    insert(id_leases, { key: `${replica_id}:${entity}:${from}`, replica_id, entity, request_no, from, to })
  )

/** Allocates ids as contiguous ranges, in order: concurrent writers may allocate ids in between. */
const allocateIdRanges = Effect.fnUntraced(function* (table: string, count: number) {
  const store = yield* Store
  if (store.dialect === "pg") {
    const rows = yield* store.run<{ from: number; to: number }>(
      `select min(id) as "from", max(id) as "to" from (select id, id - row_number() over (order by id) as run ` +
        `from (select nextval('${sequenceName(table)}') as id from generate_series(1, $1::int)) drawn) numbered ` +
        "group by run order by 1",
      [count]
    )
    return rows.map(({ from, to }) => ({ from: Number(from), to: Number(to) }))
  }
  const rows = yield* store.run<{ next: number }>(
    "update id_sequences set next = next + ? where name = ? returning next",
    [count, table]
  )
  const after = Number(itemAt(rows, 0).next)
  return [{ from: after - count, to: after - 1 }]
})

/**
 * The block of a request number: allocated once and returned on repetition, if the device does not request more than
 * its commands (`last_n`) can have used. Runs in the caller's transaction; a concurrent repetition waits for its
 * commit.
 */
export const lease = Effect.fnUntraced(function* (
  { id: replica_id, last_n }: { readonly id: number; readonly last_n: number },
  entity: string,
  request_no: number
) {
  const store = yield* Store
  yield* lockReplica(replica_id)
  const known = yield* store.find(id_leases, { replica_id, entity, request_no })
  if (known.length > 0) return known.map(({ entity, from, to }): LeaseRange => ({ entity, from, to }))
  const rows = yield* store.sql<{ blocks: number }>`
    select count(distinct request_no) as blocks from id_leases where replica_id = ${replica_id}
    and entity = ${entity}`
  if (Number(firstOf(rows).blocks) >= blocks_at_first_max + blocks_per_command_max * last_n) {
    return yield* invalidField(
      "request_no",
      `This device holds more blocks of ids of ${entity} than the ${last_n} commands it has sent can have used; send what it has recorded first.`
    )
  }
  const runs = yield* allocateIdRanges(entity, (yield* CommandRuntime).catalogue.table(entity).lease_block_size)
  yield* store.apply(leaseRows(replica_id, entity, request_no, runs))
  return runs.map(({ from, to }): LeaseRange => ({ entity, from, to }))
})

/** Replica id of blocks without a device: skipped ids. */
const nobody = 0
/** Maximum number of a table's blocks to skip per replica, in total: more than a server leases between two backups. */
const blocks_ahead_max = 100
/** Maximum number of ids allocated for one request's claims, over all tables. */
const passed_per_request_max = 200_000

export type LeaseReclaim = LeaseRange & { readonly request_no: number }
export const lease_reclaim_fields = object({
  entity: text({ required: true }),
  request_no: integer({ required: true, min: 1 }),
  from: integer({ required: true, min: 1, max: Number.MAX_SAFE_INTEGER }),
  to: integer({ required: true, min: 1, max: Number.MAX_SAFE_INTEGER })
})

/** Number of blocks the server has leased to a replica, including the initial ones. */
export const countLeases = Effect.fnUntraced(function* (replica_id: number) {
  const { sql } = yield* Store
  const rows = yield* sql<{ blocks: number }>`
    select coalesce(sum(last), 0) as blocks from (select max(request_no) as last from id_leases
    where replica_id = ${replica_id} group by entity) leased`
  return Number(firstOf(rows).blocks)
})

/**
 * Parts of these blocks that now belong to the replica, including those it had before. Safe to repeat. Runs in the
 * caller's transaction.
 */
export const reclaimLeases = Effect.fnUntraced(function* (
  replica_id: number,
  claims: ReadonlyArray<LeaseReclaim>
): CommandRuntime.Reads<ReadonlyArray<LeaseRange>> {
  const store = yield* Store
  if (store.dialect === "pg") yield* store.run("select pg_advisory_xact_lock(hashtextextended('id_leases', 0))")
  const granted: Array<LeaseRange> = []
  let left = passed_per_request_max
  const { catalogue } = yield* CommandRuntime
  for (const entity of leasedTables(catalogue)) {
    const { lease_block_size } = catalogue.table(entity)
    const shown = claims.filter(
      (claim) => claim.entity === entity && claim.to >= claim.from && claim.to - claim.from < lease_block_size
    )
    if (shown.length === 0) continue
    const own = overlapsIn(yield* leasedTo(replica_id, entity, shown))
    const forgotten = shown.filter((claim) => own(claim).length === 0)
    granted.push(...shown.flatMap(own))
    const passed = yield* passOver(replica_id, entity, forgotten, left)
    left -= lengthOf(passed)
    granted.push(...(yield* take(replica_id, entity, forgotten, passed)))
  }
  return granted
})

interface Range {
  readonly from: number
  readonly to: number
}
/** Reserved ids; `key` is set if they are stored in the table. */
interface Spare extends Range {
  readonly key?: string
}

/** Blocks of a table leased to a replica that may overlap the claims, in order. */
const leasedTo = Effect.fnUntraced(function* (replica_id: number, entity: string, claims: ReadonlyArray<Range>) {
  const { sql } = yield* Store
  const [first, last] = claims.reduce(
    ([low, high], { from, to }) => [Math.min(low, from), Math.max(high, to)],
    [Infinity, 0]
  )
  const rows = yield* sql<{ key: string; from: number; to: number }>`
    select "key", "from", "to" from id_leases where replica_id = ${replica_id} and entity = ${entity}
    and "to" >= ${first} and "from" <= ${last} order by "from"`
  return rows.map(({ key, from, to }): LeaseRange & { readonly key: string } => ({
    key,
    entity,
    from: Number(from),
    to: Number(to)
  }))
})

/** Indexes of the ranges that overlap a range: first, and last plus one. `ranges` are sorted and disjoint. */
const touching = (ranges: ReadonlyArray<Range>, { from, to }: Range): readonly [begin: number, end: number] => {
  let begin = 0
  for (let high = ranges.length; begin < high;) {
    const middle = (begin + high) >> 1
    if (itemAt(ranges, middle).to < from) begin = middle + 1
    else high = middle
  }
  let end = begin
  while (end < ranges.length && itemAt(ranges, end).from <= to) end++
  return [begin, end]
}
const overlapsIn =
  (ranges: ReadonlyArray<LeaseRange>) =>
  (claim: Range): ReadonlyArray<LeaseRange> =>
    ranges.slice(...touching(ranges, claim)).map((range) => ({ entity: range.entity, ...common(range, claim) }))

/**
 * Allocates all ids up to the furthest acceptable claim, so that others cannot get them; returns the allocated ranges.
 */
const passOver = Effect.fnUntraced(function* (
  replica_id: number,
  entity: string,
  claims: ReadonlyArray<Range>,
  left: number
) {
  const { catalogue } = yield* CommandRuntime
  const key = `${replica_id}:${entity}`
  const [[, next]] = (yield* nextIds([catalogue.table(entity)])) as readonly [readonly [string, number]]
  if (!claims.some(({ to }) => to >= next)) return []
  const before = (yield* Store.get(id_claims, key))?.passed ?? 0
  const ahead = Math.min(left, blocks_ahead_max * catalogue.table(entity).lease_block_size - before)
  const furthest = claims.reduce((far, { to }) => (to < next + ahead ? Math.max(far, to) : far), 0)
  if (furthest < next) return []
  const drawn = yield* allocateIdRanges(entity, furthest - next + 1)
  yield* Store.apply([
    { op: "delete", table: id_claims, key },
    { op: "insert", table: id_claims, row: { key, replica_id, entity, passed: before + lengthOf(drawn) } }
  ])
  return drawn
})

/** Leases the claimed ids, of those reserved or skipped, to the replica; reserves the remaining skipped ones. */
const take = Effect.fnUntraced(function* (
  replica_id: number,
  entity: string,
  claims: ReadonlyArray<LeaseReclaim>,
  passed: ReadonlyArray<Range>
) {
  if (claims.length === 0) return []
  const kept: ReadonlyArray<Spare> = yield* leasedTo(nobody, entity, claims)
  const spares: Array<Spare> = [...kept, ...passed].sort((one, other) => one.from - other.from)
  const changes: Array<RowChange> = []
  const granted: Array<LeaseRange> = []
  for (const claim of claims) {
    const [begin, end] = touching(spares, claim)
    if (begin === end) continue
    const taken: Array<{ from: number; to: number }> = []
    for (const spare of spares.slice(begin, end)) {
      const range = common(spare, claim)
      const last = taken.at(-1)
      if (last !== undefined && last.to + 1 === range.from) last.to = range.to
      else taken.push({ ...range })
    }
    const around = [
      { from: itemAt(spares, begin).from, to: claim.from - 1 },
      { from: claim.to + 1, to: itemAt(spares, end - 1).to }
    ]
    spares.splice(begin, end - begin, ...around.filter(({ from, to }) => from <= to))
    granted.push(...taken.map((range) => ({ entity, ...range })))
    changes.push(...leaseRows(replica_id, entity, claim.request_no, taken))
  }
  const untouched = new Set(spares.flatMap(({ key }) => key ?? []))
  yield* Store.apply([
    ...kept.flatMap(({ key }): ReadonlyArray<RowChange> =>
      key === undefined || untouched.has(key) ? [] : [{ op: "delete", table: id_leases, key }]
    ),
    ...leaseRows(
      nobody,
      entity,
      0,
      spares.filter(({ key }) => key === undefined)
    ),
    ...changes
  ])
  return granted
})

const lengthOf = (ranges: ReadonlyArray<Range>): number => ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
const common = (one: Range, other: Range): Range => ({
  from: Math.max(one.from, other.from),
  to: Math.min(one.to, other.to)
})

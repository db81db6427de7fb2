/** Blocks of ids for devices, whose rows keep their ids for ever. Requests with one number give one block. */
import { Effect } from "effect"
import { insert, type RowChange } from "../../core/kernel/row-change.ts"
import { allocateIdRanges } from "../../core/kernel/ids.ts"
import { invalidField } from "../../core/kernel/rejection.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { LeaseRange } from "../protocol/wire.ts"
import { id_leases, lockReplica } from "./tables.ts"

/**
 * Blocks of a table a device may hold before it has sent anything, and as many more as a command of its own can use up.
 */
const blocks_at_first_max = 20
const blocks_per_command_max = 10

export const leaseRows = (
  replica_id: number,
  entity: string,
  request_no: number,
  ranges: ReadonlyArray<{ readonly from: number; readonly to: number }>
): ReadonlyArray<RowChange> =>
  ranges.map(({ from, to }) =>
    insert(id_leases, { key: `${replica_id}:${entity}:${from}`, replica_id, entity, request_no, from, to })
  )

/**
 * The block of a request number: drawn once, repeated as often as asked, as long as the device does not ask for more
 * than its commands (`last_n` so far) can have used. Runs in the caller's transaction. A request and its repetition may
 * be under way at once, over the network or in bundles: whoever comes second waits for the first to commit.
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
  const { bind, values } = bindings(store.dialect)
  const [row] = yield* store.run<{ blocks: number }>(
    `select count(distinct request_no) as blocks from id_leases where replica_id = ${bind(replica_id)} and entity = ${bind(entity)}`,
    values
  )
  if (Number(row!.blocks) >= blocks_at_first_max + blocks_per_command_max * last_n) {
    return yield* invalidField(
      "request_no",
      `This device holds more blocks of ids of ${entity} than the ${last_n} commands it has sent can have used; send what it has recorded first.`
    )
  }
  const runs = yield* allocateIdRanges(entity, (yield* CommandRuntime).catalogue.table(entity).lease_block_size)
  yield* store.apply(leaseRows(replica_id, entity, request_no, runs))
  return runs.map(({ from, to }): LeaseRange => ({ entity, from, to }))
})

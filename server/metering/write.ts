/** What was metered goes into the database: logs, sums and the months' units of one batch in one transaction. */
import { Effect } from "effect"
import type { Failure } from "../../core/kernel/failure.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { allocateIds } from "../../core/kernel/ids.ts"
import { settingText } from "../../core/kernel/settings.ts"
import { chunked, inPowersOfTwo, quote } from "../../core/kernel/store/statement.ts"
import { Store, type StoreShape } from "../../core/kernel/store/store.ts"
import { Durability } from "../../sync/sqlite/client.ts"
import { address_forms, type AddressForm } from "./address.ts"
import { hourSums, logRows, type Metered, monthSums } from "./metered.ts"
import { request_logs, type RequestLogRow } from "./schema.ts"

/** Adds units to the counters of their tokens in a month (`2026-11`), in the caller's transaction. */
export type AddMonthUnits = (units: ReadonlyMap<number, number>, month: string) => Effect.Effect<void, Failure, Store>

/** What is written together, once. */
export interface Batch {
  readonly metered: ReadonlyArray<Metered>
  /** The id of its first row once it was tried: whether a commit that nothing was heard of took place is seen by it. */
  first_id: number | undefined
}

const log_columns = Object.keys(request_logs.columns)
const insert_logs = `insert into request_logs (${log_columns.map(quote).join(", ")}) `
const insert_recordset =
  `${insert_logs}select ${log_columns.map(quote).join(", ")} ` +
  "from json_populate_recordset(null::request_logs, $1::json)"
const one_row = `(${log_columns.map(() => "?").join(", ")})`
const insert_bound = new Map<number, string>()
const textOf = (rows: number): string => {
  let text = insert_bound.get(rows)
  if (text === undefined)
    insert_bound.set(rows, (text = `${insert_logs}values ${Array.from({ length: rows }, () => one_row).join(", ")}`))
  return text
}
/** In the order of the columns. Written out: going by their names takes longer than SQLite takes to insert them. */
const pushValues = (values: Array<unknown>, row: RequestLogRow): void => {
  values.push(
    row.id,
    row.channel,
    row.webhook_channel,
    row.request_id,
    row.method,
    row.uri,
    row.route_name,
    row.resource,
    row.operation,
    row.personal_access_token_id,
    row.user_id,
    row.ability,
    row.status_code,
    row.duration_ms,
    row.request_bytes,
    row.response_bytes,
    row.price_weight,
    row.weighted_units,
    row.ip_address,
    row.user_agent,
    row.created_at
  )
}
const rows_bound_max = 128
const rows_sent_max = 2_000
/** As the store inserts, but for what it looks up of each value: these rows are ours. */
const insertLogs = Effect.fnUntraced(function* (store: StoreShape, rows: ReadonlyArray<RequestLogRow>) {
  if (store.dialect === "pg") {
    for (const some of chunked(rows, rows_sent_max)) yield* store.run(insert_recordset, [JSON.stringify(some)])
    return
  }
  for (const some of inPowersOfTwo(rows, rows_bound_max)) {
    const values: Array<unknown> = []
    for (const row of some) pushValues(values, row)
    yield* store.run(textOf(some.length), values)
  }
})

const isForm = (text: string): text is AddressForm => Object.hasOwn(address_forms, text)

const sum_columns = [
  ["hour", "bigint"],
  ["channel", "text"],
  ["personal_access_token_id", "bigint"],
  ["route_name", "text"],
  ["resource", "text"],
  ["status_code", "bigint"],
  ["request_count", "bigint"],
  ["weighted_units", "bigint"]
] as const
const named = sum_columns.map(([name]) => name).join(", ")
const adding =
  "on conflict (hour, channel, personal_access_token_id, route_name, resource, status_code) do update set " +
  "request_count = usage_hours.request_count + excluded.request_count, " +
  "weighted_units = usage_hours.weighted_units + excluded.weighted_units"
const add_sums = {
  pg:
    `insert into usage_hours (id, ${named}) select nextval('ids_usage_hours'), ${named} from ` +
    `json_to_recordset($1::json) as given (${sum_columns.map(([name, type]) => `${name} ${type}`).join(", ")}) ` +
    adding,
  sqlite:
    `insert into usage_hours (${named}) select ${sum_columns.map(([name]) => `value ->> '${name}'`).join(", ")} ` +
    `from json_each(?) where true ${adding}`
}

const write = (batch: Batch, addMonthUnits: AddMonthUnits | undefined) =>
  Effect.gen(function* () {
    const store = yield* Store
    const { metered } = batch
    if (batch.first_id !== undefined && (yield* store.exists(request_logs, { id: batch.first_id }))) return
    const form = settingText(yield* (yield* CommandRuntime).settings, "metering", "ip_addresses")
    const ids = yield* allocateIds(request_logs.name, metered.length)
    batch.first_id = ids[0]
    const rows = logRows(metered, ids, isForm(form) ? form : "shortened")
    yield* insertLogs(store, rows)
    const sums = hourSums(metered)
    yield* store.run(add_sums[store.dialect], [JSON.stringify(sums)])
    if (addMonthUnits !== undefined) for (const [month, units] of monthSums(sums)) yield* addMonthUnits(units, month)
  })

/**
 * Writes a batch, whole or not at all. On SQLite a power cut may take the last seconds with it, as no request waits for
 * the disk here; what a killed server committed stays.
 */
export const writeBatch = (
  batch: Batch,
  addMonthUnits: AddMonthUnits | undefined
): Effect.Effect<void, Failure, Store | CommandRuntime> =>
  Effect.flatMap(Store, (store) =>
    Effect.uninterruptible(Effect.provideService(store.transaction(write(batch, addMonthUnits)), Durability, "normal"))
  )

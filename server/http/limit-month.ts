/**
 * Counters of limits that all processes of a server share: requests per minute, and units of tokens per UTC month
 * (rules/conventions 10 and 16).
 */
import { bindings, integer, plainTable, Store, text, type StoreRead } from "../../core/kernel/index.ts"
import type { ServerSlice } from "../ports/server-slice.ts"
import { Context, Effect } from "effect"

const whole = { max: Number.MAX_SAFE_INTEGER } as const

/**
 * Part of a minute's limit that the processes have taken. Postgres only; on SQLite the one process counts in memory.
 */
const rate_windows = plainTable(
  "rate_windows",
  "id",
  {
    /** Minute and client, such as a token or an address. */
    id: text({ max: 400 }),
    /** Minutes since 1970. */
    minute: integer(whole),
    taken: integer(whole),
    /** Number granted by the last statement, which reads it back. */
    granted: integer(whole)
  },
  { entity: "rate_window", indexes: [["minute"]] }
)

/** Weighted units per token and UTC month: those of answered requests, and those reserved by processes. */
const month_units = plainTable(
  "month_units",
  "id",
  {
    /** Month and token id: `2026-11 12`. */
    id: text({ max: 40 }),
    month: text({ max: 7 }),
    personal_access_token_id: integer(whole),
    units: integer(whole),
    /** Number granted by the last statement, which reads it back. */
    granted: integer(whole)
  },
  { entity: "month_unit", indexes: [["month"]] }
)

export const limitsSlice: ServerSlice = { name: "limits", server_tables: [rate_windows, month_units] }

/** End of a month, in milliseconds since 1970. */
export const monthEnd = (month: string): number => Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)))
// Cached, as nearly all requests are of the current month.
let last = { month: "", begin: 0, end: 0 }
/** UTC month of an instant (milliseconds since 1970), such as `2026-11`. */
export const monthOf = (millis: number): string => {
  if (millis >= last.end || millis < last.begin) {
    const month = new Date(millis).toISOString().slice(0, 7)
    last = { month, begin: Date.parse(`${month}-01T00:00:00.000Z`), end: monthEnd(month) }
  }
  return last.month
}

/** Units that a response costs: none for statuses 429 and 5xx (rules/conventions 16). */
export const unitsOf = (weight: number, status: number): number => (status === 429 || status >= 500 ? 0 : weight)

export const monthKey = (month: string, token_id: number): string => `${month} ${token_id}`

/** Changes of the counters to be written, and the callback for their commit. */
export interface Flushing {
  /** Changes of each token's counter: its units, less those the process had reserved. */
  readonly changes: ReadonlyMap<number, number>
  readonly committed: () => void
}
/** Units of monthly quotas that this process has reserved and not yet recorded as used. */
export const MonthHoldings = Context.Reference<
  { readonly flushing: (units: ReadonlyMap<number, number>, month: string) => Flushing } | undefined
>("flightcase/server/MonthHoldings", { defaultValue: () => undefined })

/**
 * Adds units of answered requests to the counters of their tokens, in the caller's transaction and one statement. Rows
 * stay locked until it ends, so it comes last. Each answer is given once; a process has one such transaction at a time.
 */
export const addMonthUnits = Effect.fnUntraced(function* (
  units: ReadonlyMap<number, number>,
  month: string
): Store.Reads<void> {
  const store = yield* Store
  const flushing = (yield* MonthHoldings)?.flushing(units, month)
  // In one order everywhere, so that two processes cannot wait for each other.
  const changes = [...(flushing?.changes ?? units)].filter(([, more]) => more !== 0).sort(([a], [b]) => a - b)
  if (changes.length > 0) {
    const { bind, values } = bindings(store.dialect)
    const prefix = bind(`${month} `)
    const month_given = bind(month)
    const given = bind(JSON.stringify(changes.map(([token_id, more]) => ({ token_id, more }))))
    const rows =
      store.dialect === "pg"
        ? `json_to_recordset(${given}::json) as given (token_id bigint, more bigint)`
        : `(select json_extract(value, '$.token_id') as token_id, json_extract(value, '$.more') as more ` +
          `from json_each(${given}))`
    yield* store.run(
      `insert into month_units (id, month, personal_access_token_id, units, granted) ` +
        `select cast(${prefix} as text) || token_id, cast(${month_given} as text), token_id, more, 0 ` +
        `from ${rows} where true ` +
        `on conflict (id) do update set units = month_units.units + excluded.units`,
      values
    )
  }
  if (flushing !== undefined) yield* store.sql.afterCommit(Effect.sync(flushing.committed))
})

/** Units of these tokens in a month, with those reserved by processes and without those not written yet. */
export const monthUnits = Effect.fnUntraced(function* (
  token_ids: ReadonlyArray<number>,
  month: string
): Store.Reads<ReadonlyMap<number, number>> {
  if (token_ids.length === 0) return new Map()
  const { sql } = yield* Store
  const rows = yield* sql<{ token_id: number; units: number }>`
    select personal_access_token_id as token_id, units from month_units
    where id in ${sql.in(token_ids.map((id) => monthKey(month, id)))}`
  return new Map(rows.map(({ token_id, units }) => [Number(token_id), Number(units)]))
})

/** Deletes the counters of earlier months. */
export const dropMonthsBefore = (month: string): StoreRead<unknown> =>
  Store.use(({ sql }) => sql`delete from month_units where month < ${month}`)

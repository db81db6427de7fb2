/** Limits that all processes of a server share: requests in minutes, and units in months. On the server alone. */
import { integer, text } from "../../core/kernel/field.ts"
import { plainTable, type RowOf } from "../../core/kernel/table.ts"

const whole = { max: Number.MAX_SAFE_INTEGER } as const

/** How much of a minute's limit the processes took (Postgres only; elsewhere one process counts in memory). */
export const rate_windows = plainTable(
  "rate_windows",
  "id",
  {
    /** The minute and whom it is counted for. */
    id: text({ max: 400 }),
    /** Minutes since 1970. */
    minute: integer(whole),
    taken: integer(whole),
    /** How much the last one to ask was given. */
    granted: integer(whole)
  },
  { entity: "rate_window", indexes: [["minute"]] }
)

/** Weighted units of each token in each UTC month: those of answered requests, and those a process holds for more. */
export const month_units = plainTable(
  "month_units",
  "id",
  {
    /** `2026-11 12`: the month and the token. */
    id: text({ max: 40 }),
    month: text({ max: 7 }),
    personal_access_token_id: integer(whole),
    units: integer(whole),
    /** How much the last one to ask was given. */
    granted: integer(whole)
  },
  { entity: "month_unit", indexes: [["month"]] }
)
export type MonthUnitsRow = RowOf<typeof month_units>

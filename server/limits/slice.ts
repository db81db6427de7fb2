/** Limits of requests: a minute's, and a month's in weighted units (rules/conventions 10). */
import type { ServerSlice } from "../server-slice.ts"
import { month_units, rate_windows } from "./schema.ts"

export const limitsSlice: ServerSlice = { name: "limits", server_tables: [rate_windows, month_units] }

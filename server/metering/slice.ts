/** Metering: what was asked, by whom and how much it weighs; its sums, logs and what is kept of them. */
import type { ServerSlice } from "../server-slice.ts"
import { emptyLateLogs, eraseAddresses } from "./erasure.ts"
import { logResource, logsEndpoint } from "./logs-api.ts"
import type { Meter } from "./meter.ts"
import { dropOldDaily } from "./retention.ts"
import { request_logs, usage_hours } from "./schema.ts"
import { exportEndpoint, exportUsage, usageEndpoint } from "./usage-api.ts"

export const meteringSlice = (meter: Meter): ServerSlice => ({
  name: "metering",
  server_tables: [request_logs, usage_hours],
  resources: [logResource],
  endpoints: [usageEndpoint(meter), exportEndpoint(meter), logsEndpoint(meter)],
  answered: meter.answered,
  recorded: (events) => eraseAddresses(events, meter.forget),
  jobs: [exportUsage, emptyLateLogs, dropOldDaily.kind],
  timed: [dropOldDaily],
  measured: meter.measured,
  background: meter.run
})

/**
 * What was asked of the server and sent by it (rules/conventions 16), on the server alone: each call for a while, and
 * sums by hour for longer.
 */
import { choice, id, integer, text, timestamp } from "../../core/kernel/field.ts"
import { plainTable, type RowOf } from "../../core/kernel/table.ts"

export const metering_channels = {
  api: "Calls under /api/v1",
  webhook_sent: "First attempts at webhooks to others",
  webhook_received: "Webhooks from others"
} as const
export type MeteringChannel = keyof typeof metering_channels

const whole = { max: Number.MAX_SAFE_INTEGER } as const

export const request_logs = plainTable(
  "request_logs",
  "id",
  {
    id: id(),
    channel: choice(metering_channels),
    /** The same of what is rare, for an index of its own; null of calls. */
    webhook_channel: choice(metering_channels, { nullable: true, hidden: true }),
    request_id: text({ max: 64, describe: "As X-Request-Id says; of webhooks sent, their event's id" }),
    method: text({ max: 20 }),
    uri: text({
      max: 500,
      describe:
        "The path without its query; where a path holds a key, its pattern; of webhooks sent, the receiver's host"
    }),
    route_name: text({ nullable: true, max: 200, folded: true }),
    resource: text({ nullable: true, max: 100 }),
    operation: text({ nullable: true, max: 100 }),
    personal_access_token_id: integer({ ...whole, nullable: true }),
    user_id: integer({ ...whole, nullable: true }),
    ability: text({ nullable: true, max: 100 }),
    status_code: integer({ nullable: true, describe: "Null for webhooks sent that nobody answered" }),
    duration_ms: integer(whole),
    request_bytes: integer(whole),
    response_bytes: integer(whole),
    price_weight: integer(),
    weighted_units: integer({ describe: "What it counts: its weight, or nothing for 429 and from 500 on" }),
    ip_address: text({ nullable: true, max: 64, describe: "As the setting metering.ip_addresses says" }),
    user_agent: text({ nullable: true, max: 500 }),
    created_at: timestamp({ describe: "When it arrived" })
  },
  {
    entity: "request_log",
    // One for each filter and sort, each with the time behind it: the newest are what people look at. Nearly all are
    // calls: those are counted in the index of times, which is written at its end alone.
    indexes: [
      ["created_at", "id", "channel"],
      ["route_name", "created_at", "id"],
      ["status_code", "created_at", "id"],
      ["personal_access_token_id", "created_at", "id"],
      ["user_id", "created_at", "id"]
    ],
    partial_indexes: [{ columns: ["webhook_channel", "created_at", "id"], where: "webhook_channel is not null" }]
  }
)
export type RequestLogRow = RowOf<typeof request_logs>

/** Sums of logs by hour. What a call has none of is 0 or an empty text, as nothing equals null in an index. */
export const usage_hours = plainTable(
  "usage_hours",
  "id",
  {
    id: id(),
    /** Hours since 1970, UTC. */
    hour: integer(whole),
    channel: text({ max: 20 }),
    personal_access_token_id: integer(whole),
    route_name: text({ max: 200 }),
    resource: text({ max: 100 }),
    status_code: integer(),
    request_count: integer(whole),
    weighted_units: integer(whole)
  },
  {
    entity: "usage_hour",
    uniques: [
      {
        columns: ["hour", "channel", "personal_access_token_id", "route_name", "resource", "status_code"],
        field: "hour",
        message: "Try again."
      }
    ]
  }
)

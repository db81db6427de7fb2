/** Turns metered calls into rows and sums. Pure. */
import { isIPv4, isIPv6 } from "node:net"
import { choice, id, integer, operationOf, plainTable, resourceOf, text } from "../../../core/kernel/index.ts"
import { timestamp, type RowOf } from "../../../core/kernel/index.ts"
import { instantOf } from "../../../core/values/time.ts"
import { monthOf, unitsOf } from "../../http/limit-month.ts"
import { own_agent } from "../../delivery/webhooks/schema.ts"
import type { AnsweredServerCall } from "../../ports/server-slice.ts"
import type { AttemptTold } from "../../delivery/webhooks/sending.ts"

// Recorded form of client addresses (rules/conventions 16).

export const address_forms = {
  shortened: "Without the last part, which identifies a machine",
  full: "Whole",
  none: "None"
} as const
export type AddressForm = keyof typeof address_forms

/**
 * A client address in its recorded form: `192.0.2.7` → `192.0.2.0`, `2001:db8:1:2::7` → `2001:db8:1::`; loopback
 * addresses stay. Null for the form `none`, and for texts that are no address.
 */
export const shownAddress = (address: string, form: AddressForm): string | null => {
  if (form === "none" || address === "") return null
  const plain = address.replace(/%.*$/, "").toLowerCase()
  const inner = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1] ?? plain
  if (!isIPv4(inner) && !isIPv6(inner)) return null
  if (form === "full" || inner === "::1" || inner.startsWith("127.")) return inner
  return isIPv4(inner) ? inner.replace(/\d+$/, "0") : networkOfIPv6(inner)
}
/** The first 48 bits of an IPv6 address, usually the network of a household or an office. */
const networkOfIPv6 = (address: string): string => {
  const [head = "", tail] = address.split("::")
  const groups = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length - (tail.includes(".") ? 1 : 0)
  const first = [...groups, ...Array.from({ length: Math.max(0, missing) }, () => "0"), ...after]
    .slice(0, 3)
    .map((group) => Number.parseInt(group, 16).toString(16))
  while (first.at(-1) === "0") first.pop()
  return `${first.join(":")}::`
}

// Calls and deliveries of the server (rules/conventions 16), stored on the server alone: each for a while, and sums by
// hour for longer.

export const metering_channels = {
  api: "Calls under /api/v1",
  webhook_sent: "First delivery attempts of webhooks",
  webhook_received: "Inbound webhooks"
} as const
export type MeteringChannel = keyof typeof metering_channels

const whole = { max: Number.MAX_SAFE_INTEGER } as const

export const request_logs = plainTable(
  "request_logs",
  "id",
  {
    id: id(),
    channel: choice(metering_channels),
    /** `channel` for channels other than calls, which are rare, for a separate index; null for calls. */
    webhook_channel: choice(metering_channels, { nullable: true, hidden: true }),
    request_id: text({ max: 64, describe: "X-Request-Id of the call; for sent webhooks the event's id" }),
    method: text({ max: 20 }),
    uri: text({
      max: 500,
      describe: "Path without query, or its pattern if it contains a secret; for sent webhooks the receiver's host"
    }),
    route_name: text({ nullable: true, max: 200, folded: true }),
    resource: text({ nullable: true, max: 100 }),
    operation: text({ nullable: true, max: 100 }),
    personal_access_token_id: integer({ ...whole, nullable: true }),
    user_id: integer({ ...whole, nullable: true }),
    ability: text({ nullable: true, max: 100 }),
    status_code: integer({ nullable: true, describe: "HTTP status; null for webhooks without a response" }),
    duration_ms: integer(whole),
    request_bytes: integer(whole),
    response_bytes: integer(whole),
    price_weight: integer(),
    weighted_units: integer({ describe: "Units charged: the weight; 0 for calls answered with 429 or 5xx" }),
    ip_address: text({
      nullable: true,
      max: 64,
      describe: "IP address, as far as the setting metering.ip_addresses allows"
    }),
    user_agent: text({ nullable: true, max: 500 }),
    created_at: timestamp({ describe: "Time the call or delivery began" })
  },
  {
    entity: "request_log",
    // One index for each filter and sort, with the time last: users look at the newest. Nearly all rows are calls:
    // those are counted in the time index, which is only appended to.
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

/** Hourly sums of logs. Absent dimensions are 0 or "", as null never equals null in an index. */
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

/** A call or delivery that is not written yet. */
export interface Metered extends Omit<AnsweredServerCall, "target" | "status"> {
  /** Channel of the record; a call if undefined. */
  readonly channel?: MeteringChannel
  readonly status: number | null
}
const channelOf = ({ channel }: Metered): MeteringChannel => channel ?? "api"

/** Route under which sent webhooks are counted; no endpoint has this name. */
export const sent_route = "webhooks.send"
const receiving_route = "inbound_sources.receive"

/**
 * The record of an answered call. Inbound webhooks count on their own channel; undefined if the signature was invalid,
 * as strangers' requests are not usage.
 */
export const answeredOf = (call: AnsweredServerCall): Metered | undefined => {
  if (call.endpoint !== receiving_route) return call
  if (!signed_statuses.includes(call.status)) return undefined
  // Only the names of existing sources reach this line.
  return { ...call, channel: "webhook_received", metering_weight: 1, uri: call.target.replace(/[?#].*$/s, "") }
}
/** Statuses of inbound webhooks with a valid signature: accepted, or rejected for their content. */
const signed_statuses: ReadonlyArray<number> = [202, 422]

/** The first attempt to deliver an event to a webhook; undefined for other attempts, tests and replays. */
export const sentOf = (told: AttemptTold): Metered | undefined => {
  const { attempt, begun_millis, body_bytes, delivery, duration_ms, host, outcome, user_id } = told
  if (attempt !== 1 || delivery.purpose !== "event") return undefined
  return {
    channel: "webhook_sent",
    request_id: delivery.event_id,
    method: "POST",
    uri: host,
    endpoint: sent_route,
    ability: null,
    metering_weight: 1,
    user_id,
    token_id: null,
    status: outcome.status,
    started_millis: begun_millis,
    duration_ms: Math.round(duration_ms),
    request_bytes: body_bytes,
    response_bytes: outcome.response_bytes ?? 0,
    remote_address: "",
    user_agent: own_agent
  }
}

/**
 * Units of a record: for a sent webhook its weight, whatever the receiver answered; 0 for calls answered with 429 or
 * 5xx.
 */
const unitsOfRow = ({ channel, metering_weight, status }: Metered): number =>
  channel === "webhook_sent" ? metering_weight : unitsOf(metering_weight, status ?? 0)

interface Route {
  readonly resource: string | null
  readonly operation: string | null
}
const routes = new Map<string, Route>()
const nowhere: Route = { resource: null, operation: null }
/** Dimensions of an endpoint, cached by name: there are as many as endpoints. */
const routeOf = (name: string | null): Route => {
  if (name === null) return nowhere
  let route = routes.get(name)
  if (route === undefined)
    routes.set(name, (route = { resource: resourceOf({ name }) || null, operation: operationOf({ name }) || null }))
  return route
}

/** Text shortened and cleaned so that either database accepts it. */
const fitting = (text: string, max: number): string => {
  const short = text.length > max ? text.slice(0, max) : text
  return short.isWellFormed() && !short.includes("\0") ? short : short.replaceAll("\0", "").toWellFormed()
}

/** Log rows of these records, with the given ids. `form`: how client addresses are recorded. */
export const logRows = (
  metered: ReadonlyArray<Metered>,
  ids: ReadonlyArray<number>,
  form: AddressForm
): ReadonlyArray<RequestLogRow> => {
  // Cached, as a batch has few distinct addresses.
  const addresses = new Map<string, string | null>()
  const addressOf = (address: string): string | null => {
    let shown = addresses.get(address)
    if (shown === undefined) addresses.set(address, (shown = shownAddress(address, form)))
    return shown
  }
  return metered.map((one, at) => {
    const { operation, resource } = routeOf(one.endpoint)
    return {
      id: ids[at] ?? 0,
      channel: channelOf(one),
      webhook_channel: one.channel === undefined || one.channel === "api" ? null : one.channel,
      request_id: fitting(one.request_id, 64),
      method: fitting(one.method, 20),
      uri: fitting(one.uri, 500),
      route_name: one.endpoint,
      resource,
      operation,
      personal_access_token_id: one.token_id,
      user_id: one.user_id,
      ability: one.ability,
      status_code: one.status,
      duration_ms: one.duration_ms,
      request_bytes: one.request_bytes,
      response_bytes: one.response_bytes,
      price_weight: one.metering_weight,
      weighted_units: unitsOfRow(one),
      ip_address: addressOf(one.remote_address),
      user_agent: one.user_agent === null ? null : fitting(one.user_agent, 500),
      created_at: instantOf(one.started_millis)
    }
  })
}

export const hour_millis = 3_600_000

interface HourSum {
  readonly hour: number
  readonly channel: MeteringChannel
  readonly personal_access_token_id: number
  readonly route_name: string
  readonly resource: string
  readonly status_code: number
  request_count: number
  weighted_units: number
}
/** Sums of an hour by dimension, in nested maps: faster than building a text key for each call. */
type Sums = Map<number, Map<string, Map<number, HourSum>>>
const inner = <K, A>(map: Map<K, A>, key: K, make: () => A): A => {
  let found = map.get(key)
  if (found === undefined) map.set(key, (found = make()))
  return found
}
/** Hourly sums of these records, in a fixed order, so that servers adding to the same sums cannot deadlock. */
export const hourSums = (metered: ReadonlyArray<Metered>): ReadonlyArray<HourSum> => {
  const by_channel = new Map<MeteringChannel, Map<number, Sums>>()
  const found: Array<HourSum> = []
  for (const one of metered) {
    const { endpoint, started_millis, status, token_id } = one
    const channel = channelOf(one)
    const hour = Math.floor(started_millis / hour_millis)
    const hours = inner(by_channel, channel, () => new Map<number, Sums>())
    const tokens: Sums = inner(hours, hour, () => new Map())
    const routes = inner(tokens, token_id ?? 0, () => new Map<string, Map<number, HourSum>>())
    const statuses = inner(routes, endpoint ?? "", () => new Map<number, HourSum>())
    const sum = inner(statuses, status ?? 0, () => {
      const fresh: HourSum = {
        hour,
        channel,
        personal_access_token_id: token_id ?? 0,
        route_name: endpoint ?? "",
        resource: routeOf(endpoint).resource ?? "",
        status_code: status ?? 0,
        request_count: 0,
        weighted_units: 0
      }
      found.push(fresh)
      return fresh
    })
    sum.request_count++
    sum.weighted_units += unitsOfRow(one)
  }
  return found.sort(inOrder)
}
const inOrder = (a: HourSum, b: HourSum): number =>
  a.hour - b.hour ||
  compare(a.channel, b.channel) ||
  a.personal_access_token_id - b.personal_access_token_id ||
  compare(a.route_name, b.route_name) ||
  a.status_code - b.status_code
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Units of these sums by month (`2026-11`) and token id. */
export const monthSums = (sums: ReadonlyArray<HourSum>): ReadonlyMap<string, ReadonlyMap<number, number>> => {
  const months = new Map<string, Map<number, number>>()
  for (const { hour, personal_access_token_id: token_id, weighted_units } of sums) {
    if (token_id === 0 || weighted_units === 0) continue
    const units = inner(months, monthOf(hour * hour_millis), () => new Map<number, number>())
    units.set(token_id, (units.get(token_id) ?? 0) + weighted_units)
  }
  // In order of time, as sums are ordered by hour.
  return months
}

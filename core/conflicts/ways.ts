/** Ways out of refusals that the trade knows: fewer, other dates, or to wait for goods. */
import type { Request } from "../kernel/endpoint.ts"
import { isJsonObject, type Json, type JsonObject } from "../kernel/json.ts"
import type { About, Refused } from "./about.ts"

/** One thing a person may do about a refusal. */
export interface WayOut {
  readonly way: "reduce" | "dates" | "waitlist" | "amend"
  /** The flag to type, with its value. */
  readonly flag: string
  readonly says: string
  /** `reduce`: how many are free; null where several lines are reduced, each to what is free. */
  readonly quantity?: number | null
  /** `dates`: the window in which all of it is free. */
  readonly starts_at?: string
  readonly ends_at?: string
}
export interface Given {
  readonly status: number
  readonly body?: Json
}
export type AskFacts = (request: Request) => Promise<Given>
interface WaysParts {
  readonly facts: AskFacts
  /** Whether the command would be accepted now with this body. */
  readonly fits: (body: JsonObject) => Promise<boolean>
}

/** What would do instead, by what is free now. */
export const tradeWays = async (parts: WaysParts, command: Refused, about: About): Promise<ReadonlyArray<WayOut>> => [
  ...(await ofSeal(parts, command)),
  ...(await ofExtension(parts, command, about)),
  ...(await ofShortOrder(parts, command, about))
]

/** A unit in a sealed case goes out where somebody says that the seal may be broken. */
const ofSeal = async ({ fits }: WaysParts, { body, errors }: Refused): Promise<ReadonlyArray<WayOut>> =>
  errors["break_seal"] === undefined || !(await fits({ ...body, break_seal: true }))
    ? []
    : [{ way: "amend", flag: "--set break_seal=true", says: "take it out of the case, whose seal that breaks" }]

/** Where a hire cannot be extended so far: the longest that holds, by days. */
const ofExtension = async ({ fits }: WaysParts, command: Refused, { order }: About): Promise<ReadonlyArray<WayOut>> => {
  const { body } = command
  const asked = body["ends_at"]
  if (command.name !== "opportunities.extend" || typeof asked !== "string" || order === null || order.ends_at === null)
    return []
  for (let days = 1; days <= search_days; days++) {
    const end = Date.parse(asked) - days * day_millis
    if (Number.isNaN(end) || end <= Date.parse(order.ends_at)) return []
    const ends_at = new Date(end).toISOString()
    const starts_at = typeof body["starts_at"] === "string" ? body["starts_at"] : (order.starts_at ?? ends_at)
    if (await fits({ ...body, starts_at, ends_at }))
      return [
        {
          way: "dates",
          flag: `--dates ${starts_at}..${ends_at}`,
          says: `until ${ends_at}, the longest that holds`,
          starts_at,
          ends_at
        }
      ]
  }
  return []
}

/** An order that cannot be made or moved because goods are short: fewer of them, other dates, or to wait. */
const ofShortOrder = async (
  { facts }: WaysParts,
  command: Refused,
  { order }: About
): Promise<ReadonlyArray<WayOut>> => {
  if (order === null || command.errors["shortages"] === undefined) return []
  const read = async (path: string, query: Request["query"] = []): Promise<JsonObject> =>
    objectOf(await facts({ method: "GET", path, query, body: undefined }))
  const path = `/api/v1/opportunities/${order.id}`
  const short = objectsIn((await read(`${path}/shortages`))["shortages"]).filter(
    (one) => Number(one["remaining_shortfall"]) > 0
  )
  if (short.length === 0) return []
  const ways: Array<WayOut> = []
  const free = short.map((one) => `${Number(one["available_quantity"])} × ${String(one["product_name"])}`)
  if (short.every((one) => Number(one["available_quantity"]) > 0)) {
    const quantity = short.length === 1 ? Number(short[0]?.["available_quantity"]) : null
    ways.push({
      way: "reduce",
      flag: `--reduce-to ${quantity ?? "free"}`,
      says: `ask for what is free, ${listed(free)}, and record it again`,
      quantity
    })
  }
  const shown = (await read(path, [["include", "items"]]))["opportunity"]
  const window = isJsonObject(shown) ? await nextWindow(facts, shown) : undefined
  if (window !== undefined)
    ways.push({
      way: "dates",
      flag: `--dates ${window.starts_at}..${window.ends_at}`,
      says: `move it to when all of it is free, ${window.starts_at} to ${window.ends_at}`,
      ...window
    })
  ways.push({
    way: "waitlist",
    flag: `--waitlist`,
    says: `leave it as it is, and be told when ${listed(short.map((one) => String(one["product_name"])))} comes free`
  })
  return ways
}

const search_days = 60
const day_millis = 86_400_000
/** The next window of the hire's length in which all its goods are free; undefined where lines have other dates. */
const nextWindow = async (
  facts: AskFacts,
  { ends_at, items, starts_at, store_id }: JsonObject
): Promise<{ readonly starts_at: string; readonly ends_at: string } | undefined> => {
  const lines = objectsIn(items).filter((one) => typeof one["item_id"] === "number" && Number(one["quantity"]) > 0)
  if (typeof starts_at !== "string" || typeof ends_at !== "string" || typeof store_id !== "number") return undefined
  if (lines.some((one) => (one["starts_at"] ?? starts_at) !== starts_at || (one["ends_at"] ?? ends_at) !== ends_at))
    return undefined
  const from = Date.parse(starts_at)
  const answer = await facts({
    method: "POST",
    path: "/api/v1/availability/earliest_fit",
    query: [],
    body: {
      store_id,
      lines: lines.map((one) => ({
        product_id: one["item_id"] ?? null,
        quantity: Math.round(Number(one["quantity"]))
      })),
      from: starts_at,
      until: new Date(from + search_days * day_millis).toISOString(),
      duration_minutes: Math.max(1, Math.round((Date.parse(ends_at) - from) / 60_000)),
      align: "none"
    }
  })
  const fit = objectOf(answer)["earliest_fit"]
  const window = isJsonObject(fit) ? fit["window"] : undefined
  if (!isJsonObject(window)) return undefined
  const [first, last] = [window["starts_at"], window["ends_at"]]
  return typeof first === "string" && typeof last === "string" ? { starts_at: first, ends_at: last } : undefined
}

const objectOf = ({ body, status }: Given): JsonObject => (status < 400 && isJsonObject(body) ? body : {})
const objectsIn = (value: Json | undefined): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isJsonObject) : []
const listed = (names: ReadonlyArray<string>): string =>
  names.length <= 4 ? names.join(", ") : `${names.slice(0, 4).join(", ")} and more`

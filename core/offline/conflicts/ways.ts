/** Resolutions of refusals: reduce, move to other dates, wait, amend, quarantine, or bill what is left. */
import { isJsonObject, type Json, type JsonObject, objectsIn } from "../../kernel/index.ts"
import { instantOfWall, wallOf, zoneOf } from "../../values/time.ts"
import type { About, AskFacts, Refused, ShortLine } from "./short-lines.ts"
import { canBeReduced, damageOf, invoiceOf, isInService, isOverbilled, objectOf, shortLines } from "./short-lines.ts"

export type { AskFacts }

/** A resolution offered for a refusal. */
export interface WayOut {
  readonly way: "reduce" | "dates" | "waitlist" | "amend" | "quarantine" | "left"
  /** The flag to type, with its value. */
  readonly flag: string
  readonly says: string
  /** `reduce`: the available quantity of the one short line; null for several, or if other lines share its stock. */
  readonly quantity?: number | null
  /** `reduce`: the short lines and the quantity available to each; 0 removes the line. */
  readonly lines?: ReadonlyArray<{ readonly opportunity_item_id: number; readonly quantity: number }>
  /** `dates`: the window in which everything is available. */
  readonly starts_at?: string
  readonly ends_at?: string
}
interface WaysParts {
  readonly facts: AskFacts
  /** Whether the command would be accepted now with this body. */
  readonly fits: (body: JsonObject) => Promise<boolean>
}

/** Resolutions to offer for a refusal. */
export const tradeWays = async (parts: WaysParts, command: Refused, about: About): Promise<ReadonlyArray<WayOut>> => [
  ...(await ofSeal(parts, command)),
  ...(await ofOverbilling(parts, command)),
  ...(await ofDamage(parts, command, about)),
  ...(await ofExtension(parts, command, about)),
  ...(await ofShortOrder(parts, command, about))
]

/** A unit in a sealed case goes out if breaking the seal is confirmed. */
const ofSeal = async ({ fits }: WaysParts, { body, errors }: Refused): Promise<ReadonlyArray<WayOut>> =>
  errors["break_seal"] === undefined || !(await fits({ ...body, break_seal: true }))
    ? []
    : [{ way: "amend", flag: "--set break_seal=true", says: "take it out of the case, whose seal that breaks" }]

/** For an opportunity billed by another invoice: bill the remainder, or allow overbilling. */
const ofOverbilling = async ({ facts, fits }: WaysParts, command: Refused): Promise<ReadonlyArray<WayOut>> => {
  if (!isOverbilled(command)) return []
  const { currency_code, left_to_bill_total: left } = await invoiceOf(facts, command)
  const is_left = typeof left === "string" && Number(left) > 0
  return [
    ...(is_left
      ? [
          {
            way: "left" as const,
            flag: "--bill-left",
            says: `bill the ${left} ${String(currency_code)} that is left (without tax) on a new draft`
          }
        ]
      : []),
    ...((await fits({ ...command.body, allow_overbilling: true }))
      ? [
          {
            way: "amend" as const,
            flag: "--set allow_overbilling=true",
            says: "issue it all the same, which bills more than there is"
          }
        ]
      : [])
  ]
}

/** Quarantines a damaged unit whose check-in was refused. */
const ofDamage = async ({ facts }: WaysParts, command: Refused, about: About): Promise<ReadonlyArray<WayOut>> => {
  const damage = damageOf(command, about)
  if (damage === undefined || !(await isInService(facts, damage))) return []
  const { name } = damage.unit
  return [{ way: "quarantine", flag: "--quarantine", says: `record the damage alone: ${name} goes into quarantine` }]
}

/** For a hire that cannot be extended as requested: the longest possible extension, in days. */
const ofExtension = async (
  { facts, fits }: WaysParts,
  command: Refused,
  { order }: About
): Promise<ReadonlyArray<WayOut>> => {
  const { body } = command
  const asked = body["ends_at"]
  if (command.name !== "opportunities.extend" || typeof asked !== "string" || order === null || order.ends_at === null)
    return []
  const zone = await zoneOfStore(facts, order.store_id)
  for (let days = 1; days <= search_days; days++) {
    const end = daysLater(Date.parse(asked), -days, zone)
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

const ofShortOrder = async ({ facts }: WaysParts, command: Refused, { order }: About): Promise<ReadonlyArray<WayOut>> =>
  order === null || command.errors["shortages"] === undefined ? [] : shortageWays(facts, order.id)

/** For an order refused for a shortage: smaller quantities, other dates, or the waiting list. */
export const shortageWays = async (facts: AskFacts, id: number): Promise<ReadonlyArray<WayOut>> => {
  const { alone, lines, shown } = await shortLines(facts, id)
  if (lines.length === 0) return []
  const ways: Array<WayOut> = []
  if (lines.every(canBeReduced)) {
    const [only] = lines
    // One quantity is unambiguous only for a single line, if no other line of the product takes stock.
    const quantity = lines.length === 1 && only?.beside === 0 ? only.quantity : null
    ways.push({
      way: "reduce",
      flag: `--reduce-to ${quantity ?? "free"}`,
      says: `ask for what is free, ${listed(lines.map(freeText))}, and record it again`,
      quantity,
      lines: lines.map((one) => ({ opportunity_item_id: one.opportunity_item_id, quantity: one.quantity }))
    })
  }
  const window = shown === undefined ? undefined : await nextWindow(facts, shown)
  if (window !== undefined)
    ways.push({
      way: "dates",
      flag: `--dates ${window.starts_at}..${window.ends_at}`,
      says: `move it to when all of it is free, ${window.starts_at} to ${window.ends_at}`,
      ...window
    })
  if (alone.length > 0)
    ways.push({
      way: "waitlist",
      flag: `--waitlist`,
      says: `leave it as it is, and be told when ${listed(alone.map(({ product_name }) => product_name))} comes free`
    })
  return ways
}
const freeText = ({ beside, product_name, quantity }: ShortLine): string =>
  quantity === 0
    ? `no more ${product_name} than the ${beside} of the other lines`
    : `${quantity} × ${product_name}${beside === 0 ? "" : ` besides the ${beside} of the other lines`}`

const search_days = 60
const day_millis = 86_400_000
const minute_millis = 60_000
/** The same local time a number of days later, across changes of the clock. */
const daysLater = (instant: number, days: number, zone: string): number =>
  instantOfWall(wallOf(instant, zone) + days * day_millis, zone)
const zoneOfStore = async (facts: AskFacts, id: Json | undefined): Promise<string> => {
  if (typeof id !== "number") return "UTC"
  const store = objectOf(await facts({ method: "GET", path: `/api/v1/stores/${id}`, query: [], body: undefined }))[
    "store"
  ]
  const timezone = isJsonObject(store) ? store["timezone"] : undefined
  return zoneOf(typeof timezone === "string" ? timezone : null)
}

/** The next days, of sixty, on which all goods are available at the same times; undefined if lines have other dates. */
const nextWindow = async (
  facts: AskFacts,
  { ends_at, items, starts_at, store_id }: JsonObject
): Promise<{ readonly starts_at: string; readonly ends_at: string } | undefined> => {
  const lines = objectsIn(items).filter((one) => typeof one["item_id"] === "number" && Number(one["quantity"]) > 0)
  if (typeof starts_at !== "string" || typeof ends_at !== "string" || typeof store_id !== "number") return undefined
  if (lines.some((one) => (one["starts_at"] ?? starts_at) !== starts_at || (one["ends_at"] ?? ends_at) !== ends_at))
    return undefined
  const zone = await zoneOfStore(facts, store_id)
  const moved = (days: number) => ({
    from: daysLater(Date.parse(starts_at), days, zone),
    to: daysLater(Date.parse(ends_at), days, zone)
  })
  const until = new Date(moved(search_days).to + minute_millis).toISOString()
  const wanted = lines.map((one) => ({
    product_id: one["item_id"] ?? null,
    quantity: Math.round(Number(one["quantity"]))
  }))
  /** First instant from which everything is available for the window's length; undefined if the search finds none. */
  const firstFree = async ({ from, to }: ReturnType<typeof moved>): Promise<number | undefined> => {
    const duration_minutes = Math.max(1, Math.ceil((to - from) / minute_millis))
    const body = { store_id, lines: wanted, from: new Date(from).toISOString(), until, duration_minutes, align: "none" }
    const answer = await facts({ method: "POST", path: "/api/v1/availability/earliest_fit", query: [], body })
    const fit = objectOf(answer)["earliest_fit"]
    const window = isJsonObject(fit) ? fit["window"] : undefined
    const first = isJsonObject(window) ? window["starts_at"] : undefined
    return typeof first === "string" ? Date.parse(first) : undefined
  }
  for (let days = 1; days <= search_days; days++) {
    const { from, to } = moved(days)
    const first = await firstFree({ from, to })
    if (first === undefined) return undefined
    if (first <= from) return { starts_at: new Date(from).toISOString(), ends_at: new Date(to).toISOString() }
    while (moved(days + 1).from < first && days < search_days) days++
  }
  return undefined
}

export const listed = (names: ReadonlyArray<string>): string =>
  names.length <= 4 ? names.join(", ") : `${names.slice(0, 4).join(", ")} and more`

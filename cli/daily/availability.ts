/** `availability`: what is free, as numbers, a coloured grid, bars, the reasons behind a number; plans are beside it. */
import type { Command } from "commander"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Desk } from "../desk.ts"
import { missingFlag, misused } from "../exits.ts"
import { idOf, type StoreAt, storeAt } from "../find.ts"
import { barsText, gridText } from "../output/grid.ts"
import { column, recordText, tableText } from "../output/table.ts"
import { acting, type Flags } from "../program.ts"
import { momentIn, shownIn } from "../when.ts"
import { declarePlans } from "./availability-plans.ts"

export const declare = (program: Command): void => {
  const availability = windowed(program.command("availability").description("What is free of a product at a store, over a window or at one moment"))
    .argument("<product>", "id, sku or barcode").option("--date <date>", "one moment instead of a window").option("--as-of <time>", as_of_text)
  acting(availability, ofProduct)
  acting(windowed(availability.command("calendar").description("Every product of a store, day by day")).option("--products <a,b>", "only these").option("--kits", "kits too, by what their parts allow").option("--html <file>", picture_text), calendar)
  acting(windowed(availability.command("gantt").description("Who has a product, when")).argument("<product>", "id, sku or barcode").option("--kits", "of a kit, who has its parts").option("--html <file>", picture_text), gantt)
  acting(
    availability.command("why").description("The stock and the claims behind one number").argument("<product>", "id, sku or barcode")
      .option("--date <date>", "the day or moment").option("--store <store>", "id or name (default: the default store)").option("--as-of <time>", as_of_text),
    why)
  declarePlans(availability)
}
const as_of_text = "what was believed at this earlier time"
/** `--as-of` as the service is asked. */
const pastOf = (flags: Flags, store: StoreAt): ReadonlyArray<readonly [string, string]> =>
  typeof flags["asOf"] === "string" ? [["as_of", plainOr(flags["asOf"], store, "--as-of")]] : []
const kitsOf = (flags: Flags): ReadonlyArray<readonly [string, string]> => flags["kits"] === true ? [["include_kits", "1"]] : []
const picture_text = "a page to look at and to print; - for standard output"
const windowed = (command: Command): Command => command
  .option("--from <time>", "start: a date, or a time on the store's clock").option("--to <time>", "end").option("--store <store>", "id or name (default: the default store)")

const windowOf = (flags: Flags, store: StoreAt): ReadonlyArray<readonly [string, string]> => (["from", "to"] as const).map((name) => {
  const text = flags[name]
  if (typeof text !== "string") throw missingFlag(`--${name}`, name === "from" ? "the start of the window" : "the end of the window")
  return [name, plainOr(text, store, `--${name}`)] as const
})
/** Plain dates go as they are: the service reads them as days of the store. */
const plainOr = (text: string, store: StoreAt, flag: string): string => {
  const moment = momentIn(text, store.zone, flag)
  return /^\d{4}-\d{2}-\d{2}$/.test(text.trim()) ? text.trim() : moment
}

const ofProduct = async (desk: Desk, [product = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  if (flags["date"] !== undefined && (flags["from"] !== undefined || flags["to"] !== undefined)) throw misused("--date is one moment: leave out --from and --to.")
  const store = await storeAt(desk, flags["store"] as string | undefined)
  const when = flags["date"] === undefined ? windowOf(flags, store) : [["date", plainOr(String(flags["date"]), store, "--date")] as const]
  const id = await idOf(desk, "products", product)
  const body = await desk.read(`/api/v1/products/${id}/availability`, [["store_id", String(store.id)], ...when, ...pastOf(flags, store)])
  if (desk.options.json === true) return desk.printJson(body)
  const { slots, ...sums } = body["availability"] as JsonObject & { readonly slots?: ReadonlyArray<JsonObject> }
  if (slots === undefined || desk.terminal.seen) desk.print(recordText({ ...sums, demand_breakdown: breakdown(sums["demand_breakdown"]) }, desk.terminal))
  if (slots?.length === 0) desk.note("The window lies outside the days that are counted.")
  else if (slots !== undefined) {
    if (desk.terminal.seen) desk.print("\n")
    desk.print(tableText(
      [column("slot"), column("total_stock", "STOCK"), column("total_demanded", "DEMANDED"), column("available"), column("by", "BY")],
      slots.map((slot) => ({ ...slot, slot: shownIn(String(slot["slot_start"]), store.zone), by: breakdown(slot["demand_breakdown"]) })), desk.terminal))
  }
}
const breakdown = (value: unknown): string =>
  typeof value === "object" && value !== null ? Object.entries(value).map(([source, quantity]) => `${source} ${String(quantity)}`).join(", ") : ""

const calendar = async (desk: Desk, _args: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const store = await storeAt(desk, flags["store"] as string | undefined)
  const ids: Array<readonly [string, string]> = []
  for (const one of typeof flags["products"] === "string" ? flags["products"].split(",") : []) ids.push(["product_ids[]", String(await idOf(desk, "products", one.trim()))])
  const body = await desk.read("/api/v1/availability/calendar", [["store_id", String(store.id)], ...windowOf(flags, store), ...ids, ...kitsOf(flags)])
  if (typeof flags["html"] === "string") return (await import("../pictures/draw.ts")).drawCalendar(desk, store, body, flags["html"])
  if (desk.options.json === true) return desk.printJson(body)
  desk.print(gridText((body["calendar"] as unknown as { readonly products: Parameters<typeof gridText>[0] }).products, desk.terminal))
}

const gantt = async (desk: Desk, [product = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const store = await storeAt(desk, flags["store"] as string | undefined)
  const id = await idOf(desk, "products", product)
  const body = await desk.read(`/api/v1/availability/${id}/gantt`, [["store_id", String(store.id)], ...windowOf(flags, store), ...kitsOf(flags)])
  if (typeof flags["html"] === "string") return (await import("../pictures/draw.ts")).drawGantt(desk, store, id, body, flags["html"])
  if (desk.options.json === true) return desk.printJson(body)
  const chart = body["gantt"] as unknown as Parameters<typeof barsText>[0] & { readonly parts?: ReadonlyArray<KitPart> }
  desk.print(barsText(chart, store.zone, desk.terminal))
  for (const part of chart.parts ?? []) {
    if (desk.terminal.seen) desk.print(`\n${part.quantity}× ${part.product_name ?? `product ${part.product_id}`}, ${part.total_stock} in stock\n`)
    desk.print(barsText({ ...part, from: chart.from, to: chart.to }, store.zone, desk.terminal))
  }
}
type KitPart = Omit<Parameters<typeof barsText>[0], "from" | "to"> & { readonly product_id: number; readonly product_name: string | null; readonly quantity: number }

const why = async (desk: Desk, [product = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  if (typeof flags["date"] !== "string") throw missingFlag("--date", "the day")
  const store = await storeAt(desk, flags["store"] as string | undefined)
  const id = await idOf(desk, "products", product)
  const body = await desk.read("/api/v1/availability/why", [["product_id", String(id)], ["store_id", String(store.id)], ["date", plainOr(flags["date"], store, "--date")], ...pastOf(flags, store)])
  if (desk.options.json === true) return desk.printJson(body)
  const { cases, claims, parts, demand_breakdown, stock_level_ids: _levels, ...sums } =
    body["reasons"] as JsonObject & { readonly claims: ReadonlyArray<JsonObject>; readonly parts: ReadonlyArray<JsonObject>; readonly cases: ReadonlyArray<JsonObject> }
  if (desk.terminal.seen) desk.print(`${recordText({ ...sums, demand_breakdown: breakdown(demand_breakdown) }, desk.terminal)}\n`)
  desk.print(tableText(
    [column("source_name", "WHO"), column("quantity"), column("phase"), column("from"), column("to"), column("opportunity_id", "ORDER"), column("asset_id", "ASSET")],
    claims.map((one) => ({ ...one, from: shownIn(String(one["from"]), store.zone), to: String(one["to"]).startsWith("2199") ? "no known end" : shownIn(String(one["to"]), store.zone) })), desk.terminal))
  if (parts.length > 0) {
    desk.print(`${desk.terminal.seen ? "\n" : ""}${tableText([column("product_name", "PART"), column("quantity", "EACH"), column("available"), column("kits", "KITS")], parts, desk.terminal)}`)
  }
  if (cases.length > 0) {
    const lacks = (one: JsonObject): string => (one["missing"] as ReadonlyArray<JsonObject>).map((part) => `${String(part["quantity"])}× ${String(part["product_name"])}`).join(", ")
    desk.print(`${desk.terminal.seen ? "\n" : ""}${tableText(
      [column("stock_level_id", "CASE"), column("container_id", "CONTAINER"), column("claimed", "CLAIMED"), column("lacks", "LACKS")],
      cases.map((one) => ({ ...one, claimed: one["is_claimed"] === true ? "yes" : "no", lacks: lacks(one) })), desk.terminal)}`)
  }
}

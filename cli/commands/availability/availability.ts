/** `availability`: what is free, as numbers, a coloured grid, bars, the reasons behind a number; plans are beside it. */
import type { Command } from "commander"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { CommandContext } from "../../context.ts"
import { missingFlagError, usageError } from "../../exit-codes.ts"
import { resolveId, type ResolvedStore, resolveStore } from "../../resolve-id.ts"
import { chartText, gridText } from "../../output/grid.ts"
import { column, recordText, tableText } from "../../output/table.ts"
import { withAction, type Flags } from "../../program.ts"
import { parseMomentIn, formatIn } from "../../parse-time.ts"
import { declarePlans } from "./plans.ts"

export const declare = (program: Command): void => {
  const availability = windowed(
    program.command("availability").description("What is free of a product at a store, over a window or at one moment")
  )
    .argument("<product>", "id, sku or barcode")
    .option("--date <date>", "one moment instead of a window")
    .option("--as-of <time>", as_of_text)
  withAction(availability, ofProduct)
  withAction(
    windowed(availability.command("calendar").description("Every product of a store, day by day"))
      .option("--products <a,b>", "only these")
      .option("--kits", "kits too, by what their parts allow")
      .option("--html <file>", picture_text),
    calendar
  )
  withAction(
    windowed(availability.command("gantt").description("Who has a product, when"))
      .argument("<product>", "id, sku or barcode")
      .option("--kits", "of a kit, who has its parts")
      .option("--html <file>", picture_text),
    gantt
  )
  withAction(
    availability
      .command("why")
      .description("The stock and the claims behind one number")
      .argument("<product>", "id, sku or barcode")
      .option("--date <date>", "the day or moment")
      .option("--store <store>", "id or name (default: the default store)")
      .option("--as-of <time>", as_of_text),
    why
  )
  declarePlans(availability)
}
const as_of_text = "what was believed at this earlier time"
/** `--as-of` as the service is asked. */
const pastOf = (flags: Flags, store: ResolvedStore): ReadonlyArray<readonly [string, string]> =>
  typeof flags["asOf"] === "string" ? [["as_of", plainOr(flags["asOf"], store, "--as-of")]] : []
const kitsOf = (flags: Flags): ReadonlyArray<readonly [string, string]> =>
  flags["kits"] === true ? [["include_kits", "1"]] : []
const picture_text = "a page to look at and to print; - for standard output"
const windowed = (command: Command): Command =>
  command
    .option("--from <time>", "start: a date, or a time on the store's clock")
    .option("--to <time>", "end")
    .option("--store <store>", "id or name (default: the default store)")

const windowOf = (flags: Flags, store: ResolvedStore): ReadonlyArray<readonly [string, string]> =>
  (["from", "to"] as const).map((name) => {
    const text = flags[name]
    if (typeof text !== "string")
      throw missingFlagError(`--${name}`, name === "from" ? "the start of the window" : "the end of the window")
    return [name, plainOr(text, store, `--${name}`)] as const
  })
/** Plain dates go as they are: the service reads them as days of the store. */
const plainOr = (text: string, store: ResolvedStore, flag: string): string => {
  const moment = parseMomentIn(text, store.zone, flag)
  return /^\d{4}-\d{2}-\d{2}$/.test(text.trim()) ? text.trim() : moment
}

const ofProduct = async (
  context: CommandContext,
  [product = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  if (flags["date"] !== undefined && (flags["from"] !== undefined || flags["to"] !== undefined))
    throw usageError("--date is one moment: leave out --from and --to.")
  const store = await resolveStore(context, flags["store"] as string | undefined)
  const when =
    flags["date"] === undefined
      ? windowOf(flags, store)
      : [["date", plainOr(String(flags["date"]), store, "--date")] as const]
  const id = await resolveId(context, "products", product)
  const body = await context.read(`/api/v1/products/${id}/availability`, [
    ["store_id", String(store.id)],
    ...when,
    ...pastOf(flags, store)
  ])
  if (context.options.json === true) return context.printJson(body)
  const { slots, ...sums } = body["availability"] as JsonObject & { readonly slots?: ReadonlyArray<JsonObject> }
  if (slots === undefined || context.terminal.is_tty)
    context.print(recordText({ ...sums, demand_breakdown: breakdown(sums["demand_breakdown"]) }, context.terminal))
  if (slots?.length === 0) context.note("The window lies outside the days that are counted.")
  else if (slots !== undefined) {
    if (context.terminal.is_tty) context.print("\n")
    context.print(
      tableText(
        [
          column("slot"),
          column("total_stock", "STOCK"),
          column("total_demanded", "DEMANDED"),
          column("available"),
          column("by", "BY")
        ],
        slots.map((slot) => ({
          ...slot,
          slot: formatIn(String(slot["slot_start"]), store.zone),
          by: breakdown(slot["demand_breakdown"])
        })),
        context.terminal
      )
    )
  }
}
const breakdown = (value: unknown): string =>
  typeof value === "object" && value !== null
    ? Object.entries(value)
        .map(([source, quantity]) => `${source} ${String(quantity)}`)
        .join(", ")
    : ""

const calendar = async (context: CommandContext, _args: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const store = await resolveStore(context, flags["store"] as string | undefined)
  const ids: Array<readonly [string, string]> = []
  for (const one of typeof flags["products"] === "string" ? flags["products"].split(",") : [])
    ids.push(["product_ids[]", String(await resolveId(context, "products", one.trim()))])
  const body = await context.read("/api/v1/availability/calendar", [
    ["store_id", String(store.id)],
    ...windowOf(flags, store),
    ...ids,
    ...kitsOf(flags)
  ])
  if (typeof flags["html"] === "string")
    return (await import("../../views/draw.ts")).drawCalendar(context, store, body, flags["html"])
  if (context.options.json === true) return context.printJson(body)
  context.print(
    gridText(
      (body["calendar"] as unknown as { readonly products: Parameters<typeof gridText>[0] }).products,
      context.terminal
    )
  )
}

const gantt = async (context: CommandContext, [product = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const store = await resolveStore(context, flags["store"] as string | undefined)
  const id = await resolveId(context, "products", product)
  const body = await context.read(`/api/v1/availability/${id}/gantt`, [
    ["store_id", String(store.id)],
    ...windowOf(flags, store),
    ...kitsOf(flags)
  ])
  if (typeof flags["html"] === "string")
    return (await import("../../views/draw.ts")).drawGantt(context, store, id, body, flags["html"])
  if (context.options.json === true) return context.printJson(body)
  const chart = body["gantt"] as unknown as Parameters<typeof chartText>[0] & {
    readonly parts?: ReadonlyArray<KitPart>
  }
  context.print(chartText(chart, store.zone, context.terminal))
  for (const part of chart.parts ?? []) {
    if (context.terminal.is_tty)
      context.print(
        `\n${part.quantity}× ${part.product_name ?? `product ${part.product_id}`}, ${part.total_stock} in stock\n`
      )
    context.print(chartText({ ...part, from: chart.from, to: chart.to }, store.zone, context.terminal))
  }
}
type KitPart = Omit<Parameters<typeof chartText>[0], "from" | "to"> & {
  readonly product_id: number
  readonly product_name: string | null
  readonly quantity: number
}

const why = async (context: CommandContext, [product = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  if (typeof flags["date"] !== "string") throw missingFlagError("--date", "the day")
  const store = await resolveStore(context, flags["store"] as string | undefined)
  const id = await resolveId(context, "products", product)
  const body = await context.read("/api/v1/availability/why", [
    ["product_id", String(id)],
    ["store_id", String(store.id)],
    ["date", plainOr(flags["date"], store, "--date")],
    ...pastOf(flags, store)
  ])
  if (context.options.json === true) return context.printJson(body)
  const {
    cases,
    claims: demands,
    parts,
    demand_breakdown,
    stock_level_ids: _levels,
    ...sums
  } = body["reasons"] as JsonObject & {
    readonly claims: ReadonlyArray<JsonObject>
    readonly parts: ReadonlyArray<JsonObject>
    readonly cases: ReadonlyArray<JsonObject>
  }
  if (context.terminal.is_tty)
    context.print(`${recordText({ ...sums, demand_breakdown: breakdown(demand_breakdown) }, context.terminal)}\n`)
  context.print(
    tableText(
      [
        column("source_name", "WHO"),
        column("quantity"),
        column("phase"),
        column("from"),
        column("to"),
        column("opportunity_id", "ORDER"),
        column("asset_id", "ASSET")
      ],
      demands.map((one) => ({
        ...one,
        from: formatIn(String(one["from"]), store.zone),
        to: String(one["to"]).startsWith("2199") ? "no known end" : formatIn(String(one["to"]), store.zone)
      })),
      context.terminal
    )
  )
  if (parts.length > 0) {
    context.print(
      `${context.terminal.is_tty ? "\n" : ""}${tableText([column("product_name", "PART"), column("quantity", "EACH"), column("available"), column("kits", "KITS")], parts, context.terminal)}`
    )
  }
  if (cases.length > 0) {
    const lacks = (one: JsonObject): string =>
      (one["missing"] as ReadonlyArray<JsonObject>)
        .map((part) => `${String(part["quantity"])}× ${String(part["product_name"])}`)
        .join(", ")
    context.print(
      `${context.terminal.is_tty ? "\n" : ""}${tableText(
        [
          column("stock_level_id", "CASE"),
          column("container_id", "CONTAINER"),
          column("claimed", "CLAIMED"),
          column("lacks", "LACKS")
        ],
        cases.map((one) => ({ ...one, claimed: one["is_claimed"] === true ? "yes" : "no", lacks: lacks(one) })),
        context.terminal
      )}`
    )
  }
}

/** `availability`: prints a product's availability; its verbs print calendar, chart, reasons and plans. */
import { anyRow, decodeAnswer, decoderOf, objectBody, rowIn, rowsOr } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { chartText, gridText } from "../../../output/grid.ts"
import { type CommandAction, type Flags, oneOf, textFlag, verb } from "../../../context/program.ts"
import { type ResolvedStore, resolveId, resolveStore } from "../../../context/resolve-id.ts"
import { decodeCalendar, decodeGantt } from "../../../views/answers.ts"
import { missingFlagError, usageError } from "../../../base/exit-codes.ts"
import { Schema } from "effect"
import type { Json } from "../../../../core/kernel/index.ts"
import { printTable } from "../../../context/print.ts"
import { type Block, blocksText, columnsNamed, recordText } from "../../../output/table.ts"
import { countedFrom, formatIn, readMoment, typedMoment } from "../../../base/parse-time.ts"
import type { Command } from "commander"
import { withOrderNumbers } from "../../../context/order-numbers.ts"

// Flags for time and store of the `availability` verbs.

const as_of_text = "compute from events recorded by this time"
/** Query parameter of `--as-of`, if given. */
const pastOf = (flags: Flags, store: ResolvedStore): ReadonlyArray<readonly [string, string]> =>
  typeof flags.asOf === "string" ? [["as_of", plainOr(flags.asOf, store, "--as-of")]] : []
const kitsOf = (flags: Flags): ReadonlyArray<readonly [string, string]> =>
  flags.kits === true ? [["include_kits", "1"]] : []
const page_text = "write a page to view or print; - for standard output"
/** Adds flags for a window and a store. */
const window_flags = {
  "--from <time>": "start, on the store's clock: a date, a time, today, fri 9:00",
  "--to <time>": "end; a date or weekday includes the whole day",
  "--store <store>": "store, by id or name (default: the default store)"
}

/** Window as query parameters. Exit 2 without start or end. */
const windowOf = (flags: Flags, store: ResolvedStore): ReadonlyArray<readonly ["from" | "to", string]> =>
  (["from", "to"] as const).map((name) => {
    const text = flags[name]
    if (typeof text !== "string")
      throw missingFlagError(`--${name}`, name === "from" ? "the start of the window" : "the end of the window")
    return [name, plainOr(text, store, `--${name}`, name === "to" ? beginOf(flags, store) : undefined)] as const
  })
/** Start of the window, from which a weekday as its end is counted. */
const beginOf = (flags: Flags, { zone }: ResolvedStore): string | undefined => {
  const from = textFlag(flags, "from")
  return from === undefined ? undefined : typedMoment(from, zone, "--from").at
}
/** Window of a hire as query parameters; unlike `windowOf`, an end without a time is the day's last moment. */
const hireWindowOf = (
  context: CommandContext,
  flags: Flags,
  store: ResolvedStore
): ReadonlyArray<readonly [string, string]> =>
  windowOf(flags, store).map(([name]) => [name, hireMoment(context, flags, store, name)])
const hireMoment = (context: CommandContext, flags: Flags, store: ResolvedStore, name: "from" | "to"): string =>
  name === "to"
    ? readMoment(context, String(flags.to), store.zone, "--to", beginOf(flags, store))
    : plainOr(String(flags.from), store, "--from")
/** A time with the typed offset or the store's; a day without a time is sent as a date. Exit 2 for other texts. */
const plainOr = (text: string, store: ResolvedStore, flag: string, begins?: string): string => {
  const { at, day } = typedMoment(text, store.zone, flag, countedFrom(text, begins))
  return day ?? at
}

const claim_words: { readonly [source: string]: string } = {
  opportunity_item: "booked",
  container: "in cases",
  returned_not_checked: "back and not checked"
}
/** Formats numbers by kind: `{opportunity_item: 3, in_repair: 1}` as `booked 3, in repair 1`. */
const breakdownText = (value: unknown): string =>
  typeof value === "object" && value !== null
    ? Object.entries(value)
        .map(([source, quantity]) => `${claim_words[source] ?? source.replaceAll("_", " ")} ${String(quantity)}`)
        .join(", ")
    : ""

/** Prints stock and demands behind a number; for kits their components, for cases what they lack. */
const showReasons: CommandAction = async (context, [product = ""], flags) => {
  if (typeof flags.date !== "string") throw missingFlagError("--date", "the day")
  const store = await resolveStore(context, textFlag(flags, "store"))
  const id = await resolveId(context, "products", product)
  const body = await context.read("/api/v1/availability/why", [
    ["product_id", String(id)],
    ["store_id", String(store.id)],
    ["date", plainOr(flags.date, store, "--date")],
    ...pastOf(flags, store)
  ])
  if (context.options.json === true) return context.printJson(body)
  const { cases, claims: demands, parts, demand_breakdown, stock_level_ids: _levels, ...sums } = rowIn(body, "reasons")
  const blocks: ReadonlyArray<Block> = [
    { record: { ...sums, demand_breakdown: breakdownText(demand_breakdown) } },
    {
      columns: columnsNamed("source_name=WHO, quantity, phase, from, to, opportunity_id=ORDER, asset_id=ASSET"),
      rows: (await withOrderNumbers(context, demands)).map((one) => ({
        ...one,
        from: formatIn(one.from, store.zone),
        to: one.to.startsWith("2199") ? "no known end" : formatIn(one.to, store.zone)
      }))
    },
    { columns: columnsNamed("product_name=PART, quantity=EACH, available, kits=KITS"), rows: parts },
    {
      columns: columnsNamed("stock_level_id=CASE, container_id=CONTAINER, claimed=CLAIMED, lacks=LACKS"),
      rows: cases.map((one) => ({
        ...one,
        claimed: one.is_claimed ? "yes" : "no",
        lacks: one.missing.map((part) => `${part.quantity}× ${String(part.product_name)}`).join(", ")
      }))
    }
  ]
  context.print(blocksText(blocks, context.terminal))
}

// `availability calendar`.

const showCalendar: CommandAction = async (context, _args, flags) => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  const ids: Array<readonly [string, string]> = []
  for (const one of textFlag(flags, "products")?.split(",") ?? [])
    ids.push(["product_ids[]", String(await resolveId(context, "products", one.trim()))])
  const body = await context.read("/api/v1/availability/calendar", [
    ["store_id", String(store.id)],
    ...windowOf(flags, store),
    ...ids,
    ...kitsOf(flags)
  ])
  if (typeof flags.html === "string")
    return (await import("../../../views/draw.ts")).drawCalendar(context, store, body, flags.html)
  if (context.options.json === true) return context.printJson(body)
  context.print(gridText(decodeAnswer(decodeCalendar, body).calendar.products, context.terminal))
}

// Product lists and times, for `availability what-if` and `availability fit`.

/** Parses products with quantities, such as `AURA*12`. */
const planLines = async (
  context: CommandContext,
  given: ReadonlyArray<string>
): Promise<ReadonlyArray<{ readonly product_id: number; readonly quantity: number }>> => {
  const lines: Array<{ readonly product_id: number; readonly quantity: number }> = []
  for (const text of given) {
    const [, code = "", quantity = "1"] = /^(.*?)(?:\*(\d+))?$/s.exec(text.trim()) ?? []
    if (code === "") throw usageError(`${JSON.stringify(text)} names no product: write SKU or SKU*12.`)
    lines.push({ product_id: await resolveId(context, "products", code), quantity: Number(quantity) })
  }
  return lines
}
/** Time of a flag; a day without a time is sent as a date, or for `to` as its last second. Exit 2 if missing. */
const momentGiven = (
  context: CommandContext,
  flags: Flags,
  name: "from" | "to" | "until",
  what: string,
  store: ResolvedStore
): string => {
  const text = flags[name]
  if (typeof text !== "string") throw missingFlagError(`--${name}`, what)
  return name === "to" ? hireMoment(context, flags, store, name) : plainOr(text, store, `--${name}`)
}

// `availability fit`.

const decodeFit = decoderOf(() =>
  Schema.Struct({
    earliest_fit: Schema.Struct({
      bottleneck: Schema.NullOr(anyRow),
      reason: Schema.NullOr(Schema.String),
      window: Schema.NullOr(Schema.Struct({ starts_at: Schema.String, ends_at: Schema.String }))
    })
  })
)

/** Texts for the reasons there is no window, by key of the API. */
const reasons: { readonly [reason: string]: string } = {
  not_enough: "there are never that many",
  booked: "it is never free for long enough",
  no_common_window: "each fits by itself, all together never",
  window_too_short: "the search leaves no room for so long a hire"
}
/** Prints the first window in which all products are free, or the reason there is none. Writes nothing. */
export const fit: CommandAction = async (context, products, flags) => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  if (flags.days === undefined && flags.minutes === undefined)
    throw missingFlagError("--days", "the length of the hire")
  const number = (name: string): { readonly [key: string]: Json } =>
    flags[name] === undefined
      ? {}
      : { [`duration_${name}`]: /^\d+$/.test(String(flags[name])) ? Number(flags[name]) : String(flags[name]) }
  const { body } = await context.post("/api/v1/availability/earliest_fit", {
    store_id: store.id,
    from: momentGiven(context, flags, "from", "the first day of the search", store),
    until: momentGiven(context, flags, "until", "the last day of the search", store),
    lines: (await planLines(context, products)).map((line) => ({ ...line })),
    ...number("days"),
    ...number("minutes"),
    ...(typeof flags.align === "string" ? { align: flags.align } : {})
  })
  if (context.options.json === true) return context.printJson(objectBody(body))
  const { bottleneck, reason, window } = decodeAnswer(decodeFit, body).earliest_fit
  if (window !== null)
    return context.print(
      recordText(
        { from: formatIn(window.starts_at, store.zone), to: formatIn(window.ends_at, store.zone) },
        context.terminal
      )
    )
  context.note(`No window: ${reasons[reason ?? ""] ?? String(reason)}.`)
  if (bottleneck !== null) {
    printTable(context, "product_id=ID, product_name=PRODUCT, needed_quantity=NEEDED, most_available=MOST FREE", [
      bottleneck
    ])
  }
}

// `availability gantt`.

const showGantt: CommandAction = async (context, [product = ""], flags) => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  const id = await resolveId(context, "products", product)
  const body = await context.read(`/api/v1/availability/${id}/gantt`, [
    ["store_id", String(store.id)],
    ...windowOf(flags, store),
    ...kitsOf(flags)
  ])
  if (typeof flags.html === "string")
    return (await import("../../../views/draw.ts")).drawGantt(context, store, id, body, flags.html)
  if (context.options.json === true) return context.printJson(body)
  const chart = decodeAnswer(decodeGantt, body).gantt
  context.print(chartText(chart, store.zone, context.terminal))
  for (const part of chart.parts ?? []) {
    context.print(
      `\n${part.quantity}× ${part.product_name ?? `product ${part.product_id}`}, ${part.total_stock} in stock\n`
    )
    context.print(chartText({ ...part, from: chart.from, to: chart.to }, store.zone, context.terminal))
  }
}

// `availability what-if`.

/** Prints availability and shortfall per product. Writes nothing. */
const whatIf: CommandAction = async (context, products, flags) => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  const dates = {
    starts_at: momentGiven(context, flags, "from", "the start of the hire", store),
    ends_at: momentGiven(context, flags, "to", "the end of the hire", store)
  }
  const lines = (await planLines(context, products)).map((line) => ({ ...line, ...dates }))
  const { body } = await context.post("/api/v1/availability/what_if", { store_id: store.id, lines })
  if (context.options.json === true) return context.printJson(objectBody(body))
  const answer = rowIn(body, "what_if")
  printTable(
    context,
    `product_id=ID, product_name=PRODUCT, requested_quantity=WANTED, available_for_line=FREE,
          shortage_quantity=SHORT`,
    answer.lines
  )
  if (!answer.has_shortage) context.note("All of it is free.")
}

export const declare = (program: Command): void => {
  const availability = verb(program, "availability", {
    about: "Availability of a product at a store, over a window or at one moment",
    ...window_flags,
    "<product>": "product, by id, SKU or barcode",
    "--date <date>": "a day or a time, instead of a window",
    "--as-of <time>": as_of_text,
    run: showAvailability
  })
  verb(availability, "calendar", {
    about: "Availability of every product of a store by day",
    ...window_flags,
    "--products <a,b>": "only these products, by id, SKU or barcode",
    "--kits": "include kits, limited by their components",
    "--html <file>": page_text,
    run: showCalendar
  })
  verb(availability, "gantt", {
    about: "Bookings of a product over time",
    ...window_flags,
    "<product>": "product, by id, SKU or barcode",
    "--kits": "for a kit: bookings of its components",
    "--html <file>": page_text,
    run: showGantt
  })
  verb(availability, "why", {
    about: "Explain an availability figure: the stock and demands behind it",
    "<product>": "product, by id, SKU or barcode",
    "--date <date>": "day or moment",
    "--store <store>": "store, by id or name (default: the default store)",
    "--as-of <time>": as_of_text,
    run: showReasons
  })
  declarePlans(availability)
}
const declarePlans = (availability: Command): void => {
  const listed = {
    "<product[*n]...>": "products by id, SKU or barcode, with a quantity if not 1: AURA*12",
    "--store <store>": "store, by id or name (default: the default store)"
  }
  verb(availability, "what-if", {
    about: "Check which of a list of products would be short for a hire, without ordering",
    ...listed,
    "--from <time>": "start of the hire: a date, or a time on the store's clock",
    "--to <time>": "end of the hire",
    run: whatIf
  })
  verb(availability, "fit", {
    about: "Find the first window in which a whole list is available",
    ...listed,
    "--from <time>": "earliest start",
    "--until <time>": "latest end; a date includes the whole day",
    "--days <n>": "duration in calendar days of the store's time zone",
    "--minutes <n>": "duration in minutes",
    "--align <where>": oneOf("times at which the window may begin", ["slot", "day", "none"]),
    run: fit
  })
}

/** Prints availability over a window by slot, or at one time. */
const showAvailability: CommandAction = async (context, [product = ""], flags) => {
  if (flags.date !== undefined && (flags.from !== undefined || flags.to !== undefined))
    throw usageError("--date is one moment: leave out --from and --to.")
  const store = await resolveStore(context, textFlag(flags, "store"))
  const when =
    flags.date === undefined
      ? hireWindowOf(context, flags, store)
      : [["date", plainOr(String(flags.date), store, "--date")] as const]
  const id = await resolveId(context, "products", product)
  const body = await context.read(`/api/v1/products/${id}/availability`, [
    ["store_id", String(store.id)],
    ...when,
    ...pastOf(flags, store)
  ])
  if (context.options.json === true) return context.printJson(body)
  const { slots: given_slots, ...sums } = rowIn(body, "availability")
  const slots = given_slots === undefined ? undefined : rowsOr(given_slots)
  if (slots?.length === 0)
    context.note("It was never in stock there, or the window lies outside the days that are counted.")
  const columns = columnsNamed("slot, total_stock=STOCK, total_demanded=DEMANDED, available, by=BY")
  const rows = (slots ?? []).map((slot) => ({
    ...slot,
    slot: formatIn(String(slot.slot_start), store.zone),
    by: breakdownText(slot.demand_breakdown)
  }))
  const record = { ...sums, demand_breakdown: breakdownText(sums.demand_breakdown) }
  context.print(blocksText([{ record }, { columns, rows }], context.terminal))
}

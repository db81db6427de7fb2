/** `availability`: availability of a product, as numbers; its verbs show calendar, bars, reasons and plans. */
import { anyRow, decodeAnswer, decoderOf, objectBody, rowIn, rowsOr } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { chartText, gridText } from "../../../output/grid.ts"
import { type Flags, textFlag, withAction } from "../../../context/program.ts"
import { type ResolvedStore, resolveId, resolveStore } from "../../../context/resolve-id.ts"
import { decodeCalendar, decodeGantt } from "../../../views/answers.ts"
import { missingFlagError, usageError } from "../../../base/exit-codes.ts"
import { Schema } from "effect"
import type { Json } from "../../../../core/kernel/fields/field.ts"
import { type Block, blocksText, columnsNamed, recordText, tableText } from "../../../output/table.ts"
import { countedFrom, formatIn, readMoment, typedMoment } from "../../../base/parse-time.ts"
import { type Command, Option } from "commander"
import { withOrderNumbers } from "../../../context/order-numbers.ts"

// `availability why`.

// Flags that say when and where, shared by the verbs of `availability`.

const as_of_text = "what was believed at this earlier time"
/** `--as-of` as the query string names it. */
const pastOf = (flags: Flags, store: ResolvedStore): ReadonlyArray<readonly [string, string]> =>
  typeof flags.asOf === "string" ? [["as_of", plainOr(flags.asOf, store, "--as-of")]] : []
const kitsOf = (flags: Flags): ReadonlyArray<readonly [string, string]> =>
  flags.kits === true ? [["include_kits", "1"]] : []
const page_text = "a page to look at and to print; - for standard output"
/** Adds the flags of a window at a store. */
const windowed = (command: Command): Command =>
  command
    .option("--from <time>", "start on the store's clock: a date, a time, today, fri 9:00")
    .option("--to <time>", "end; a date or a day means all of it")
    .option("--store <store>", "id or name (default: the default store)")

/** The window as the query string names it. Exit 2 where a bound is missing. */
const windowOf = (flags: Flags, store: ResolvedStore): ReadonlyArray<readonly ["from" | "to", string]> =>
  (["from", "to"] as const).map((name) => {
    const text = flags[name]
    if (typeof text !== "string")
      throw missingFlagError(`--${name}`, name === "from" ? "the start of the window" : "the end of the window")
    return [name, plainOr(text, store, `--${name}`, name === "to" ? beginOf(flags, store) : undefined)] as const
  })
/** When the window begins, from which a weekday that names its end is counted. */
const beginOf = (flags: Flags, { zone }: ResolvedStore): string | undefined => {
  const from = textFlag(flags, "from")
  return from === undefined ? undefined : typedMoment(from, zone, "--from").at
}
/** The window of a hire: as `windowOf`, but of an end that is a day its last moment, as that of a hire would be. */
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
/** A moment with the store's offset. A day without a time is sent as a date: it means that day of the store. */
const plainOr = (text: string, store: ResolvedStore, flag: string, begins?: string): string => {
  const { at, day } = typedMoment(text, store.zone, flag, countedFrom(text, begins))
  return day ?? at
}

const claim_words: { readonly [source: string]: string } = {
  opportunity_item: "booked",
  container: "in cases",
  returned_not_checked: "back and not checked"
}
/** `{opportunity_item: 3, in_repair: 1}` as one line: `booked 3, in repair 1`. */
const breakdownText = (value: unknown): string =>
  typeof value === "object" && value !== null
    ? Object.entries(value)
        .map(([source, quantity]) => `${claim_words[source] ?? source.replaceAll("_", " ")} ${String(quantity)}`)
        .join(", ")
    : ""

/** The stock and the demands that one number is worked out from; of a kit its parts, of a case what it lacks. */
const showReasons = async (
  context: CommandContext,
  [product = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
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

const showCalendar = async (context: CommandContext, _args: ReadonlyArray<string>, flags: Flags): Promise<void> => {
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

// What `availability what-if` and `availability fit` share: the list of products, and moments.

/** `AURA*12` is twelve of a product. */
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
/**
 * The moment a flag names; a day without a time is sent as a date, but as the end of a hire it is the whole of it. Exit
 * 2 where it is missing.
 */
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

/** Why there is no window, by the API's reason. */
const reasons: { readonly [reason: string]: string } = {
  not_enough: "there are never that many",
  booked: "it is never free for long enough",
  no_common_window: "each fits by itself, all together never",
  window_too_short: "the search leaves no room for so long a hire"
}
/** Prints the first window in which the whole list is free, or why there is none. Nothing is written. */
export const fit = async (context: CommandContext, products: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  if (flags.days === undefined && flags.minutes === undefined)
    throw missingFlagError("--days", "the length of the hire")
  const number = (name: string): { readonly [key: string]: Json } =>
    flags[name] === undefined
      ? {}
      : { [`duration_${name}`]: /^\d+$/.test(String(flags[name])) ? Number(flags[name]) : String(flags[name]) }
  const { body } = await context.ask({
    method: "POST",
    path: "/api/v1/availability/earliest_fit",
    body: {
      store_id: store.id,
      from: momentGiven(context, flags, "from", "the first day of the search", store),
      until: momentGiven(context, flags, "until", "the last day of the search", store),
      lines: (await planLines(context, products)).map((line) => ({ ...line })),
      ...number("days"),
      ...number("minutes"),
      ...(typeof flags.align === "string" ? { align: flags.align } : {})
    }
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
    context.print(
      tableText(
        columnsNamed("product_id=ID, product_name=PRODUCT, needed_quantity=NEEDED, most_available=MOST FREE"),
        [bottleneck],
        context.terminal
      )
    )
  }
}

// `availability gantt`.

const showGantt = async (
  context: CommandContext,
  [product = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
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

/** Prints per line what would be free and what short. Nothing is written. */
const whatIf = async (context: CommandContext, products: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  const dates = {
    starts_at: momentGiven(context, flags, "from", "the start of the hire", store),
    ends_at: momentGiven(context, flags, "to", "the end of the hire", store)
  }
  const lines = (await planLines(context, products)).map((line) => ({ ...line, ...dates }))
  const { body } = await context.ask({
    method: "POST",
    path: "/api/v1/availability/what_if",
    body: { store_id: store.id, lines }
  })
  if (context.options.json === true) return context.printJson(objectBody(body))
  const answer = rowIn(body, "what_if")
  context.print(
    tableText(
      columnsNamed(
        `product_id=ID, product_name=PRODUCT, requested_quantity=WANTED, available_for_line=FREE,
          shortage_quantity=SHORT`
      ),
      answer.lines,
      context.terminal
    )
  )
  if (!answer.has_shortage) context.note("All of it is free.")
}

export const declare = (program: Command): void => {
  const availability = windowed(
    program.command("availability").description("What is free of a product at a store, over a window or at one moment")
  )
    .argument("<product>", "id, sku or barcode")
    .option("--date <date>", "one moment instead of a window")
    .option("--as-of <time>", as_of_text)
  withAction(availability, showAvailability)
  withAction(
    windowed(availability.command("calendar").description("Every product of a store, day by day"))
      .option("--products <a,b>", "only these")
      .option("--kits", "kits too, by what their parts allow")
      .option("--html <file>", page_text),
    showCalendar
  )
  withAction(
    windowed(availability.command("gantt").description("Who has a product, when"))
      .argument("<product>", "id, sku or barcode")
      .option("--kits", "of a kit, who has its parts")
      .option("--html <file>", page_text),
    showGantt
  )
  withAction(
    availability
      .command("why")
      .description("The stock and the claims behind one number")
      .argument("<product>", "id, sku or barcode")
      .option("--date <date>", "the day or moment")
      .option("--store <store>", "id or name (default: the default store)")
      .option("--as-of <time>", as_of_text),
    showReasons
  )
  declarePlans(availability)
}
const declarePlans = (availability: Command): void => {
  const listed = (command: Command): Command =>
    command
      .argument("<product[*n]...>", "products by id, sku or barcode, each with a quantity after *")
      .option("--store <store>", "id or name (default: the default store)")
  withAction(
    listed(availability.command("what-if").description("What a list nobody has ordered would do to stock"))
      .option("--from <time>", "start: a date, or a time on the store's clock")
      .option("--to <time>", "end"),
    whatIf
  )
  withAction(
    listed(availability.command("fit").description("The first window in which a whole list is free"))
      .option("--from <time>", "not before")
      .option("--until <time>", "back by then; a date counts whole")
      .option("--days <n>", "how long, in days of the store")
      .option("--minutes <n>", "how long, in minutes")
      .addOption(
        new Option("--align <where>", "where it may begin: with a slot, a day of the store, at any moment").choices([
          "slot",
          "day",
          "none"
        ])
      ),
    fit
  )
}

/** What is free over a window, slot by slot, or at one moment. */
const showAvailability = async (
  context: CommandContext,
  [product = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
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

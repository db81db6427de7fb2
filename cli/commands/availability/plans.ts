/** `availability what-if` and `availability fit`: what a list would do to stock, and when it could first go out. Neither writes anything. */
import { type Command, Option } from "commander"
import type { Json, JsonObject } from "../../../core/kernel/json.ts"
import type { CommandContext } from "../../context.ts"
import { missingFlagError, usageError } from "../../exit-codes.ts"
import { resolveId, type ResolvedStore, resolveStore } from "../../resolve-id.ts"
import { column, recordText, tableText } from "../../output/table.ts"
import { withAction, type Flags } from "../../program.ts"
import { parseMomentIn, formatIn } from "../../parse-time.ts"

export const declarePlans = (availability: Command): void => {
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

/** `AURA*12` → the product and how many. */
const linesOf = async (
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
/** Plain dates go as they are: the service reads them as days of the store. */
const when = (flags: Flags, name: "from" | "to" | "until", what: string, store: ResolvedStore): string => {
  const text = flags[name]
  if (typeof text !== "string") throw missingFlagError(`--${name}`, what)
  const moment = parseMomentIn(text, store.zone, `--${name}`)
  return /^\d{4}-\d{2}-\d{2}$/.test(text.trim()) ? text.trim() : moment
}

const whatIf = async (context: CommandContext, products: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const store = await resolveStore(context, flags["store"] as string | undefined)
  const dates = {
    starts_at: when(flags, "from", "the start of the hire", store),
    ends_at: when(flags, "to", "the end of the hire", store)
  }
  const lines = (await linesOf(context, products)).map((line) => ({ ...line, ...dates }))
  const body = (
    await context.ask({ method: "POST", path: "/api/v1/availability/what_if", body: { store_id: store.id, lines } })
  ).body as JsonObject
  if (context.options.json === true) return context.printJson(body)
  const { has_shortage, lines: judged } = body["what_if"] as {
    readonly has_shortage: boolean
    readonly lines: ReadonlyArray<JsonObject>
  }
  context.print(
    tableText(
      [
        column("product_id", "ID"),
        column("product_name", "PRODUCT"),
        column("requested_quantity", "WANTED"),
        column("available_for_line", "FREE"),
        column("shortage_quantity", "SHORT")
      ],
      judged,
      context.terminal
    )
  )
  if (!has_shortage) context.note("All of it is free.")
}

const reasons: { readonly [reason: string]: string } = {
  not_enough: "there are never that many",
  booked: "it is never free for long enough",
  no_common_window: "each fits by itself, all together never",
  window_too_short: "the search leaves no room for so long a hire"
}
const fit = async (context: CommandContext, products: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const store = await resolveStore(context, flags["store"] as string | undefined)
  if (flags["days"] === undefined && flags["minutes"] === undefined)
    throw missingFlagError("--days", "the length of the hire")
  const number = (name: string): { readonly [key: string]: Json } =>
    flags[name] === undefined
      ? {}
      : { [`duration_${name}`]: /^\d+$/.test(String(flags[name])) ? Number(flags[name]) : String(flags[name]) }
  const body = (
    await context.ask({
      method: "POST",
      path: "/api/v1/availability/earliest_fit",
      body: {
        store_id: store.id,
        from: when(flags, "from", "the first day of the search", store),
        until: when(flags, "until", "the last day of the search", store),
        lines: (await linesOf(context, products)).map((line) => ({ ...line })),
        ...number("days"),
        ...number("minutes"),
        ...(typeof flags["align"] === "string" ? { align: flags["align"] } : {})
      }
    })
  ).body as JsonObject
  if (context.options.json === true) return context.printJson(body)
  const { bottleneck, reason, window } = body["earliest_fit"] as unknown as {
    readonly bottleneck: JsonObject | null
    readonly reason: string | null
    readonly window: { readonly starts_at: string; readonly ends_at: string } | null
  }
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
        [
          column("product_id", "ID"),
          column("product_name", "PRODUCT"),
          column("needed_quantity", "NEEDED"),
          column("most_available", "MOST FREE")
        ],
        [bottleneck],
        context.terminal
      )
    )
  }
}

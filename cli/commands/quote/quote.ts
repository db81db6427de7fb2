/** `quote`: the counter's daily work, from the first question to the order. */
import type { Command } from "commander"
import type { Json, JsonObject } from "../../../core/kernel/json.ts"
import type { CommandContext } from "../../context.ts"
import { missingFlagError, usageError } from "../../exit-codes.ts"
import { resolveId, type ResolvedStore, resolveStore } from "../../resolve-id.ts"
import { printAnswer, notePending } from "../../output/print.ts"
import { withAction, type Flags, repeatable } from "../../program.ts"
import type { ListFlags } from "../../query.ts"
import { parseMomentIn } from "../../parse-time.ts"
import { opportunityPath, showOpportunity } from "../orders/show.ts"
import { opportunityList, listOpportunities } from "../orders/orders.ts"

export const declare = (program: Command): void => {
  const quote = program.command("quote").description("Quotes: new, add, show, convert, list")
  withAction(
    quote
      .command("new")
      .description("A new quote; without flags, on a terminal, it asks")
      .option("--subject <text>", "what it is called")
      .option("--member <member>", "the customer, by id or name")
      .option("--venue <member>", "where, by id or name")
      .option("--store <store>", "id or name (default: the default store)")
      .option("--from <time>", "start: a date, or a time on the store's clock")
      .option("--to <time>", "end")
      .option("--reference <text>", "the customer's own reference")
      .option("--currency <code>", "ISO code")
      .addOption(
        repeatable(
          "--line <product[*n]>",
          "a product by id, sku or barcode, with a quantity after *; may be given again"
        )
      )
      .option("--draft", "leave it a draft"),
    newQuote
  )
  withAction(
    quote
      .command("add")
      .description("Another line")
      .argument("<quote>", "id or number")
      .argument("<product>", "id, sku or barcode")
      .option("--quantity <n>", "how many", "1")
      .option("--price <amount>", "a price by hand instead of the rate's")
      .option("--discount <percent>")
      .option("--from <time>", "start of this line")
      .option("--to <time>", "its end")
      .option("--name <text>", "another name than the product's")
      .option("--optional", "offered, not counted")
      .option("--notes <text>"),
    add
  )
  const show = quote
    .command("show")
    .description("One quote with its lines and sums")
    .argument("<quote>", "id or number")
    .option("--explain", "say in words how each figure came about")
  withAction(show, async (context, [named = ""], flags) => {
    await showOpportunity(context, await opportunityPath(context, named), flags["explain"] === true)
  })
  withAction(
    quote
      .command("convert")
      .description("A draft becomes a quotation, a quotation an order")
      .argument("<quote>", "id or number")
      .option("--to <state>", "quotation or order", "order")
      .option("--notes <text>", "what was said about shortages"),
    convert
  )
  withAction(opportunityList(quote.command("list").description("Drafts and quotations")), (context, _args, flags) =>
    listOpportunities(context, flags as ListFlags & { readonly all?: boolean }, [["q[state_in]", "0,1"]])
  )
}

const newQuote = async (context: CommandContext, _args: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const nothing_said = ["subject", "member", "from", "to", "line"].every((name) => flags[name] === undefined)
  const told: Flags =
    nothing_said && context.interactive
      ? { ...flags, ...(await (await import("./wizard.ts")).askForQuote(context, flags)) }
      : flags
  if (typeof told["subject"] !== "string") throw missingFlagError("--subject", "the subject")
  const store = await resolveStore(context, told["store"] as string | undefined)
  const lines = await readLines(context, (told["line"] ?? []) as ReadonlyArray<string>)
  const text = (name: string): string | undefined => (typeof told[name] === "string" ? told[name] : undefined)
  const when = (name: string): string | undefined =>
    text(name) === undefined ? undefined : parseMomentIn(text(name)!, store.zone, `--${name}`)
  const body = present({
    subject: told["subject"],
    store_id: store.id,
    reference: text("reference"),
    currency: text("currency"),
    starts_at: when("from"),
    ends_at: when("to"),
    member_id: text("member") === undefined ? undefined : await resolveId(context, "members", text("member")!),
    venue_id: text("venue") === undefined ? undefined : await resolveId(context, "members", text("venue")!)
  })
  const made = await context.ask({ method: "POST", path: "/api/v1/opportunities", body })
  if (context.options.plan === true) return printAnswer(context, made)
  const path = `/api/v1/opportunities/${String((made.body as { readonly opportunity: JsonObject }).opportunity["id"])}`
  // One command after another: each is decided on what the one before left.
  for (const { name, item_id, quantity } of lines)
    await context.ask({ method: "POST", path: `${path}/items`, body: { name, item_id, quantity } })
  if (told["draft"] !== true) await context.ask({ method: "POST", path: `${path}/convert_to_quotation`, body: {} })
  await showOpportunity(context, path)
  notePending(context, made)
}

interface Line {
  readonly item_id: number
  readonly name: string
  readonly quantity: string
}
/** `AURA*12` → the product and how many; every one is looked up before anything is written. */
const readLines = async (context: CommandContext, given: ReadonlyArray<string>): Promise<ReadonlyArray<Line>> => {
  const lines: Array<Line> = []
  for (const text of given) {
    const [, code = "", quantity = "1"] = /^(.*?)(?:\*(\d+(?:\.\d+)?))?$/s.exec(text.trim()) ?? []
    if (code === "")
      throw usageError(`--line ${JSON.stringify(text)} names no product: write --line SKU or --line SKU*12.`)
    lines.push({ ...(await findProduct(context, code)), quantity })
  }
  return lines
}
export const findProduct = async (
  context: CommandContext,
  code: string
): Promise<{ readonly item_id: number; readonly name: string }> => {
  const item_id = await resolveId(context, "products", code)
  const { product } = (await context.read(`/api/v1/products/${item_id}`)) as { readonly product: JsonObject }
  return { item_id, name: String(product["name"]) }
}

const add = async (
  context: CommandContext,
  [named = "", code = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  const path = await opportunityPath(context, named)
  const { item_id, name } = await findProduct(context, code)
  const zone = flags["from"] === undefined && flags["to"] === undefined ? "UTC" : (await storeOf(context, path)).zone
  const answer = await context.ask({
    method: "POST",
    path: `${path}/items`,
    body: present({
      item_id,
      name: flags["name"] ?? name,
      quantity: flags["quantity"],
      unit_price: flags["price"],
      discount_percent: flags["discount"],
      notes: flags["notes"],
      is_optional: flags["optional"] === true ? true : undefined,
      starts_at: typeof flags["from"] === "string" ? parseMomentIn(flags["from"], zone, "--from") : undefined,
      ends_at: typeof flags["to"] === "string" ? parseMomentIn(flags["to"], zone, "--to") : undefined
    })
  })
  if (context.options.plan === true) return printAnswer(context, answer)
  await showOpportunity(context, path)
  notePending(context, answer)
}
const storeOf = async (context: CommandContext, path: string): Promise<ResolvedStore> => {
  const { opportunity } = (await context.read(path)) as { readonly opportunity: JsonObject }
  return resolveStore(context, opportunity["store_id"] === null ? undefined : String(opportunity["store_id"]))
}

const convert = async (context: CommandContext, [named = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const to = flags["to"]
  if (to !== "quotation" && to !== "order") throw usageError("--to is quotation or order.")
  const path = await opportunityPath(context, named)
  const { opportunity } = (await context.read(path)) as { readonly opportunity: JsonObject }
  const steps = [
    ...(opportunity["state"] === 0 ? [{ path: `${path}/convert_to_quotation`, body: {} }] : []),
    ...(to === "order"
      ? [{ path: `${path}/convert_to_order`, body: present({ shortage_notes: flags["notes"] }) }]
      : opportunity["state"] === 0
        ? []
        : [{ path: `${path}/convert_to_quotation`, body: {} }])
  ]
  for (const [at, step] of steps.entries()) {
    const answer = await context.ask({ method: "POST", ...step })
    // Only the first step of several can be planned: the next is decided on what it leaves.
    if (context.options.plan === true) return printAnswer(context, answer)
    if (at === steps.length - 1) {
      await showOpportunity(context, path)
      notePending(context, answer)
    }
  }
}

/** A body without what was not said. */
const present = (values: { readonly [name: string]: Json | boolean | undefined }): JsonObject =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, Json] => entry[1] !== undefined))

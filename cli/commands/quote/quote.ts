/** `quote`: drafts and quotations, from the first question to the order. */
import type { Command } from "commander"
import { repeatable, withAction } from "../../program.ts"
import { listOpportunities, withListFlags } from "../orders/list.ts"
import { opportunityPath, showOpportunity } from "../orders/show.ts"
import { addLine } from "./add.ts"
import { convert } from "./convert.ts"
import { newQuote } from "./new.ts"

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
    addLine
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
  withAction(withListFlags(quote.command("list").description("Drafts and quotations")), (context, _args, flags) =>
    listOpportunities(context, flags, [["q[state_in]", "0,1"]])
  )
}

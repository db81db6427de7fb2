/** `quote`: drafts and quotations, from the first question to the order. */
import type { Command } from "commander"
import { repeatable, withAction } from "../../program.ts"
import { listOpportunities, withListFlags } from "../orders/list.ts"
import { declareShow } from "../orders/show.ts"
import { addLine } from "./add.ts"
import { convert } from "./convert.ts"
import { newQuote } from "./new.ts"

export const declare = (program: Command): void => {
  const quote = program.command("quote").description("Quotes: new, add, update, remove, duplicate, show, convert, list")
  withAction(
    quote
      .command("new")
      .description("A new quote; without flags, on a terminal, it asks")
      .option("--subject <text>", "what it is called")
      .option("--member <member>", "the customer, by id or name")
      .option("--new-customer <name>", "a customer who is not known yet; is made along with the quote")
      .option("--email <address>", "of the new customer")
      .option("--phone <number>", "of the new customer")
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
  declareChanges(quote)
  declareShow(quote, "quote")
  withAction(
    quote
      .command("convert")
      .description("A draft becomes a quotation, a quotation an order")
      .argument("<quote>", "id or number")
      .option("--to <state>", "quotation or order", "order")
      .option("--notes <text>", "what was said about shortages")
      .option("--yes", "do not ask where something speaks against it"),
    convert
  )
  withAction(withListFlags(quote.command("list").description("Drafts and quotations")), (context, _args, flags) =>
    listOpportunities(context, flags, [["q[state_in]", "0,1"]])
  )
}

/** Verbs that change what is there, or make another like it. */
const declareChanges = (quote: Command): void => {
  const update = quote
    .command("update")
    .description("Change a line: quantity, price, discount, dates; without a line, the quote's own fields")
    .argument("<quote>", "id or number")
    .argument("[line]", "of which line: its id, its product or its name")
    .option("--quantity <n>", "how many")
    .option("--price <amount>", "a price by hand; rate for the rate's again")
    .option("--discount <percent>", "of this line; none for no discount")
    .option("--from <time>", "start of the line")
    .option("--to <time>", "its end")
    .option("--name <text>", "what the line is called")
    .option("--optional", "offered, not counted")
    .option("--no-optional", "counted")
    .option("--notes <text>")
    .option("--subject <text>", "of the quote: what it is called")
    .option("--reference <text>", "of the quote: the customer's own reference")
    .option("--member <member>", "of the quote: the customer, by id or name")
    .option("--venue <member>", "of the quote: where, by id or name")
  withAction(update, async (context, args, flags) => (await import("./lines.ts")).updateQuote(context, args, flags))
  const remove = quote
    .command("remove")
    .description("Remove lines, each with what belongs to it")
    .argument("<quote>", "id or number")
    .argument("<lines...>", "their ids, products or names")
    .option("--yes", "do not ask")
  withAction(remove, async (context, args, flags) => (await import("./lines.ts")).removeLines(context, args, flags))
  const duplicate = quote
    .command("duplicate")
    .description("The same once more at other dates: lines and phases keep their place, prices are today's")
    .argument("<quote>", "id or number; an order does as well")
    .option("--from <time>", "when the copy begins (default: as the one it is made of)")
    .option("--to <time>", "when it ends (default: after as long as that lasted)")
    .option("--subject <text>", "what it is called (default: as that one, with a suffix)")
    .option("--draft", "leave it a draft")
  withAction(duplicate, async (context, args, flags) =>
    (await import("./duplicate.ts")).duplicateQuote(context, args, flags)
  )
}

/** `invoices`: an invoice with its outstanding amount, and its payments. The verbs of the API's noun are added. */
import type { Command } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const invoices = program.command("invoices").description("Invoices by id or number, and what is paid of them")
  withAction(
    invoices
      .command("show")
      .description("One invoice with its rows, what is left of each to credit, and what was paid")
      .argument("<invoice>", "id or number")
      .option("--include <a,b>", "related things to show too, with --json"),
    async (context, [named = ""], flags) => (await import("./show.ts")).showInvoice(context, named, flags)
  )
  const moved = (verb: string, text: string, amount: string): Command =>
    invoices
      .command(verb)
      .description(text)
      .argument("<invoice>", "id or number")
      .option("--amount <amount>", amount)
      .option("--method <method>", "cash, card, bank_transfer, cheque, direct_debit or other")
      .option("--reference <text>", "what the bank or the receipt calls it")
      .option("--at <time>", "when the money moved: a date, or a time on the store's clock (default: now)")
      .option("--notes <text>")
  withAction(
    moved("pay", "Record a payment", "how much (default: what is outstanding)"),
    async (context, [named = ""], flags) => (await import("./money.ts")).recordMoney(context, "pay", named, flags)
  )
  withAction(
    moved("refund", "Record money given back", "how much (default: what the customer is owed)").option(
      "--reason <text>"
    ),
    async (context, [named = ""], flags) => (await import("./money.ts")).recordMoney(context, "refund", named, flags)
  )
  withAction(
    invoices
      .command("credit")
      .description("Issue a credit note: of rows, of an amount, or of all that is left")
      .argument("<invoice>", "id or number")
      .addOption(
        repeatable(
          "--line <n[=quantity]>",
          "a row by its place, as show numbers them; without a quantity all that is left of it; may be given again"
        )
      )
      .option("--amount <amount>", "an amount with tax, spread over the rows")
      .option("--reason <text>")
      .option("--notes <text>"),
    async (context, [named = ""], flags) => (await import("./money.ts")).creditInvoice(context, named, flags)
  )
}

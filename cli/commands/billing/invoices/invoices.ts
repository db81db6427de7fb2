/** `invoices`: handwritten verbs, such as show and pay; those of the API's noun are added. */
import type { Command } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const invoices = program.command("invoices").description("Invoices and their payments, by id or number")
  withAction(
    invoices
      .command("show")
      .description("Show an invoice with its rows, creditable amounts and payments")
      .argument("<invoice>", "id or number")
      .option("--include <a,b>", "related records to include, with --json"),
    async (context, [named = ""], flags) => (await import("./show.ts")).showInvoice(context, named, flags)
  )
  const moved = (verb: string, text: string, amount: string): Command =>
    invoices
      .command(verb)
      .description(text)
      .argument("<invoice>", "id or number")
      .option("--amount <amount>", amount)
      .option("--method <method>", "cash, card, bank_transfer, cheque, direct_debit or other")
      .option("--reference <text>", "reference of the bank or on the receipt")
      .option("--at <time>", "date paid or refunded, or a time on the store's clock (default: now)")
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
      .description("Issue a credit note for rows, an amount or the whole remainder")
      .argument("<invoice>", "id or number")
      .addOption(
        repeatable(
          "--line <n[=quantity]>",
          "row by its number in show (default quantity: all that is left); repeatable"
        )
      )
      .option("--amount <amount>", "amount including tax, spread over the rows")
      .option("--reason <text>")
      .option("--notes <text>"),
    async (context, [named = ""], flags) => (await import("./money.ts")).creditInvoice(context, named, flags)
  )
}

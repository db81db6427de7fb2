/** `orders`: ordered opportunities, by id or number; the verbs of `opportunities` are added. */
import { type Command, Option } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"
import { declareReprice, listOpportunities, withListFlags } from "../shared/list.ts"
import { declareShow, opportunityPath } from "../shared/show.ts"

export const declare = (program: Command): void => {
  const orders = program.command("orders").description("Orders by id or number, with all verbs of opportunities")
  withAction(
    withListFlags(orders.command("list").description("List orders; for quotes see flightcase quote list")),
    (context, _args, flags) => listOpportunities(context, flags, [["q[state_eq]", "2"]])
  )
  declareShow(orders, "order")
  declareReprice(orders, "order")
  declareInvoice(orders)
  declareMoves(orders)
  const history = orders
    .command("history")
    .description("Show an order's changes, newest first, with who made them and the previous values")
    .argument("<order>", "id or number")
    .option("--page <number>")
    .option("--per-page <number>", "entries per page, at most 100")
    .addOption(new Option("--all", "fetch all pages"))
  withAction(history, async (context, [order = ""], flags) => {
    const { showHistory } = await import("./history.ts")
    await showHistory(context, await opportunityPath(context, order), flags)
  })
  const shortages = orders
    .command("shortages")
    .description("Show an order's shortages by day, and its lines on the waiting list")
    .argument("<order>", "id or number")
  withAction(shortages, async (context, [order = ""]) =>
    (await import("../shortages.ts")).showShortages(context, order)
  )
  const print = orders
    .command("print")
    .description("Print an order's pick list, delivery note, return note or the like, from the replica")
    .argument("<order>", "id or number")
    .addOption(
      new Option("--type <type>", "type of document")
        .choices(["pick_list", "delivery_note", "return_note", "quotation", "order_confirmation"])
        .makeOptionMandatory()
    )
    .addOption(new Option("--format <format>", "PDF, or a single HTML page").choices(["pdf", "html"]))
    .option("-o, --output <file>", "output file; - for standard output (default: a file named after the document)")
    .option("--keep", "file it on the server as a document with a number")
  withAction(print, async (context, [order = ""], flags) => {
    const { printOrder } = await import("./print.ts")
    await printOrder(context, order, flags)
  })
}

/** Declares the verb that creates draft invoices. */
const declareInvoice = (orders: Command): void => {
  const invoice = orders
    .command("invoice")
    .description("Draft an invoice for an order's unbilled rest, or for a part of it")
    .argument("<order>", "id or number")
    .addOption(new Option("--type <type>", "default: standard").choices(["standard", "deposit", "proforma"]))
    .option("--percent <percent>", "percentage of the whole order")
    .option("--amount <amount>", "amount to bill, before tax")
    .addOption(
      repeatable(
        "--line <line[=quantity]>",
        "line by id, product or name (default quantity: all that is left); repeatable"
      )
    )
    .option("--no-deposits", "do not deduct issued deposits")
    .option("--yes", "bill even if it is still a quotation")
  withAction(invoice, async (context, args, flags) => (await import("./invoice.ts")).invoiceOrder(context, args, flags))
}

/** Declares verbs that move an order to other dates or another status. */
const declareMoves = (orders: Command): void => {
  const extend = orders
    .command("extend")
    .description("Extend or shorten the hire, with its lines, prices and reserved stock")
    .argument("<order>", "id or number")
    .option("--to <time>", "new end: a date, or a time on the store's clock")
    .option("--from <time>", "new start")
    .option("--charge-to <time>", "new charge end (default: moves with the end if they were equal)")
    .option("--charge-from <time>", "new charge start")
    .option(
      "--lines <lines>",
      "follow (lines with the old dates), keep (none), or lines by id, product or name, separated by commas",
      "follow"
    )
    .option("--reason <text>", "reason, recorded with the order")
    .option("--yes", "skip the confirmation")
  withAction(extend, async (context, args, flags) => (await import("./extend.ts")).extendOrder(context, args, flags))
  const status = orders
    .command("change-status")
    .description("Change the status: active, complete, cancelled, lost, dead, postponed, order, …")
    .argument("<order>", "id or number")
    .option("--to <status>", "draft, quotation, order, or a status such as complete, cancelled, lost")
    .option("--status <status>", "same as --to; also takes the API's number")
    .option("--reason <text>", "reason, recorded with the order")
  withAction(status, async (context, args, flags) =>
    (await import("./status.ts")).changeOrderStatus(context, args, flags)
  )
  const cancel = orders
    .command("cancel")
    .description("Cancel an order and release its stock")
    .argument("<order>", "id or number")
    .option("--reason <text>", "reason, recorded with the order")
    .option("--yes", "skip the confirmation")
  withAction(cancel, async (context, args, flags) => (await import("./status.ts")).cancelOrder(context, args, flags))
}

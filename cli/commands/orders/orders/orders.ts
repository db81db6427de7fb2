/** `orders`: opportunities that were ordered, by id or number. The verbs of `opportunities` are added to these. */
import { type Command, Option } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"
import { declareReprice, listOpportunities, withListFlags } from "./list.ts"
import { declareShow, opportunityPath } from "../shared/show.ts"

export const declare = (program: Command): void => {
  const orders = program.command("orders").description("Orders by id or number; also every verb of opportunities")
  withAction(
    withListFlags(orders.command("list").description("Orders; quotes are under flightcase quote list")),
    (context, _args, flags) => listOpportunities(context, flags, [["q[state_eq]", "2"]])
  )
  declareShow(orders, "order")
  declareReprice(orders, "order")
  declareInvoice(orders)
  declareMoves(orders)
  const history = orders
    .command("history")
    .description("Who did what to an order, newest first, with what each thing was before")
    .argument("<order>", "id or number")
    .option("--page <number>")
    .option("--per-page <number>", "entries of a page, at most 100")
    .addOption(new Option("--all", "all pages"))
  withAction(history, async (context, [order = ""], flags) => {
    const { showHistory } = await import("./history.ts")
    await showHistory(context, await opportunityPath(context, order), flags)
  })
  const shortages = orders
    .command("shortages")
    .description("What of an order is short, on which days and by how much, and what waits for goods")
    .argument("<order>", "id or number")
  withAction(shortages, async (context, [order = ""]) =>
    (await import("../shortages/of-order.ts")).showShortages(context, order)
  )
  const print = orders
    .command("print")
    .description("A paper of an order, made here from the replica: pick list, delivery note, return note, …")
    .argument("<order>", "id or number")
    .addOption(
      new Option("--type <type>", "which paper")
        .choices(["pick_list", "delivery_note", "return_note", "quotation", "order_confirmation"])
        .makeOptionMandatory()
    )
    .addOption(new Option("--format <format>", "a PDF, or one page that stands alone").choices(["pdf", "html"]))
    .option("-o, --output <file>", "write there, - for standard output (default: a file named after the paper)")
    .option("--keep", "have the office keep it as a document, which gets its number there")
  withAction(print, async (context, [order = ""], flags) => {
    const { printOrder } = await import("./print.ts")
    await printOrder(context, order, flags)
  })
}

/** Drafts of invoices. */
const declareInvoice = (orders: Command): void => {
  const invoice = orders
    .command("invoice")
    .description("Draft an invoice of what is left to bill of an order, or of a part of it")
    .argument("<order>", "id or number")
    .addOption(new Option("--type <type>", "default: standard").choices(["standard", "deposit", "proforma"]))
    .option("--percent <percent>", "a part of the whole order")
    .option("--amount <amount>", "a part of the order as money without tax")
    .addOption(
      repeatable(
        "--line <line[=quantity]>",
        "a line by id, product or name; without a quantity all that is left of it; may be given again"
      )
    )
    .option("--no-deposits", "do not deduct deposits that were issued")
    .option("--yes", "bill a quotation as it is")
  withAction(invoice, async (context, args, flags) => (await import("./invoice.ts")).invoiceOrder(context, args, flags))
}

/** Verbs that move an order: in time, and from status to status. */
const declareMoves = (orders: Command): void => {
  const extend = orders
    .command("extend")
    .description("Extend or shorten the hire: its lines, price and claims on stock go along")
    .argument("<order>", "id or number")
    .option("--to <time>", "the new end: a date, or a time on the store's clock")
    .option("--from <time>", "the new start")
    .option("--charge-to <time>", "charged until then (default: with the end, where both were the same)")
    .option("--charge-from <time>", "charged from then on")
    .option(
      "--lines <lines>",
      "follow (those that had the old dates), keep (none), or lines by id, product or name between commas",
      "follow"
    )
    .option("--reason <text>", "why; kept with the order")
    .option("--yes", "do not ask")
  withAction(extend, async (context, args, flags) => (await import("./extend.ts")).extendOrder(context, args, flags))
  const status = orders
    .command("change-status")
    .description("Another status, by its word: active, complete, cancelled, lost, dead, postponed, order, …")
    .argument("<order>", "id or number")
    .option("--to <status>", "draft, quotation, order, or a status such as complete, cancelled, lost")
    .option("--status <status>", "the same; a number of the API, too")
    .option("--reason <text>", "why; kept with the order")
  withAction(status, async (context, args, flags) =>
    (await import("./status.ts")).changeOrderStatus(context, args, flags)
  )
  const cancel = orders
    .command("cancel")
    .description("Cancel an order; what it held is free")
    .argument("<order>", "id or number")
    .option("--reason <text>", "why; kept with the order")
    .option("--yes", "do not ask")
  withAction(cancel, async (context, args, flags) => (await import("./status.ts")).cancelOrder(context, args, flags))
}

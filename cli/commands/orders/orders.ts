/** `orders`: opportunities that were ordered, by id or number. The verbs of `opportunities` are added to these. */
import { type Command, Option } from "commander"
import { withAction } from "../../program.ts"
import { listOpportunities, withListFlags } from "./list.ts"
import { opportunityPath, showOpportunity } from "./show.ts"

export const declare = (program: Command): void => {
  const orders = program.command("orders").description("Orders by id or number; also every verb of opportunities")
  withAction(
    withListFlags(orders.command("list").description("Orders; quotes are under flightcase quote list")),
    (context, _args, flags) => listOpportunities(context, flags, [["q[state_eq]", "2"]])
  )
  const show = orders
    .command("show")
    .description("One order with its lines and sums")
    .argument("<order>", "id or number")
    .option("--explain", "say in words how each figure came about")
  withAction(show, async (context, [order = ""], flags) => {
    await showOpportunity(context, await opportunityPath(context, order), flags["explain"] === true)
  })
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

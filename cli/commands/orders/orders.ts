/** `orders`: opportunities that were ordered, by id or number. The noun's other verbs stand beside. */
import { type Command, Option } from "commander"
import { printAnswer } from "../../output/print.ts"
import { wholeList } from "../../pages.ts"
import { withAction, repeatable } from "../../program.ts"
import { type ListFlags, listQuery } from "../../query.ts"
import { opportunityPath, showOpportunity } from "./show.ts"

export const declare = (program: Command): void => {
  const orders = program.command("orders").description("Orders by id or number; also every verb of opportunities")
  withAction(
    opportunityList(orders.command("list").description("Orders; quotes are under flightcase quote list")),
    (context, _args, flags) =>
      listOpportunities(context, flags as ListFlags & { readonly all?: boolean }, [["q[state_eq]", "2"]])
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
    await showHistory(context, await opportunityPath(context, order), flags as ListFlags & { readonly all?: boolean })
  })
}

export const opportunityList = (command: Command): Command =>
  command
    .addOption(repeatable("-q, --q <name=value>", "a filter, such as subject_cont=gala; may be given again"))
    .option("--sort <field>", "by this field; -field for the other way round")
    .option("--page <number>")
    .option("--per-page <number>", "rows of a page, at most 100")
    .addOption(new Option("--all", "all pages"))
    .option("--include <a,b>", "related things to show too")
    .option("--view <id>", "a saved view")

export const listOpportunities = async (
  context: Parameters<typeof printAnswer>[0],
  flags: ListFlags & { readonly all?: boolean },
  only: ReadonlyArray<readonly [string, string]>
): Promise<void> => {
  const path = "/api/v1/opportunities"
  const query = [...listQuery(flags), ...only]
  await printAnswer(context, {
    status: 200,
    body: flags.all === true ? await wholeList(context, path, query) : await context.read(path, query)
  })
}

/** `purchase-orders`: one with its lines and what is still to come of each. The verbs of the API's noun are added. */
import type { Command } from "commander"
import { withAction } from "../../program.ts"

export const declare = (program: Command): void => {
  const orders = program
    .command("purchase-orders")
    .description("Orders to suppliers by id or number, and what is still to come of them")
  withAction(
    orders
      .command("show")
      .description("One order with its lines: what was ordered, what has come and what is outstanding")
      .argument("<purchase-order>", "id or number")
      .option("--include <a,b>", "related things to show too, with --json"),
    async (context, [named = ""], flags) => (await import("./show.ts")).showPurchaseOrder(context, named, flags)
  )
}

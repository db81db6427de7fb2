/**
 * `purchase-orders`: an order with its lines and their outstanding quantities. The verbs of the API's noun are added.
 */
import type { Command } from "commander"
import { withAction } from "../../../context/program.ts"

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
    async (context, [named = ""], flags) =>
      (await import("../../../briefs/purchase-orders-shown.ts")).showPurchaseOrder(context, named, flags)
  )
  withAction(
    orders
      .command("add")
      .description("Add a line to a draft: a product, or with --name something that is none")
      .argument("<purchase-order>", "id or number")
      .argument("[product]", "id, sku or barcode")
      .option("--quantity <number>", "how many (default: 1)")
      .option("--cost <amount>", "for one piece over the whole hire (default: what the product costs)")
      .option("--discount <percent>", "what the supplier takes off")
      .option("--name <text>", "what the supplier calls it")
      .option("--description <text>", "a text below the name"),
    async (context, args, flags) => (await import("./add.ts")).addOrderLine(context, args, flags)
  )
}

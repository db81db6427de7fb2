/** `purchase-orders`: showing an order and adding lines; the verbs of the API's noun are added. */
import type { Command } from "commander"
import { withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const orders = program
    .command("purchase-orders")
    .description("Purchase orders by id or number, and what is outstanding")
  withAction(
    orders
      .command("show")
      .description("Show a purchase order with ordered, received and outstanding quantities")
      .argument("<purchase-order>", "id or number")
      .option("--include <a,b>", "related records to include, with --json"),
    async (context, [named = ""], flags) =>
      (await import("../../../briefs/purchase-orders-shown.ts")).showPurchaseOrder(context, named, flags)
  )
  withAction(
    orders
      .command("add")
      .description("Add a line to a draft: a product, or with --name any other item")
      .argument("<purchase-order>", "id or number")
      .argument("[product]", "id, sku or barcode")
      .option("--quantity <number>", "how many (default: 1)")
      .option("--cost <amount>", "cost of one piece over the whole hire (default: the product's)")
      .option("--discount <percent>", "supplier's discount")
      .option("--name <text>", "name of the line (default: the product's)")
      .option("--description <text>", "text below the name"),
    async (context, args, flags) => (await import("./add.ts")).addOrderLine(context, args, flags)
  )
}

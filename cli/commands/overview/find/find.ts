/** `find`: members, orders, products, units and papers by words or code, and where a unit is. */
import type { Command } from "commander"
import { withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const find = program
    .command("find")
    .description("Members, orders, products, units and papers by words, part of a word or code; where a unit is")
    .argument("<words...>", "in any order; a code, a number, a telephone number or an address")
    .option(
      "--only <kinds>",
      "of these kinds only: units, orders, members, products, containers, invoices, purchase_orders"
    )
    .option("--limit <n>", "at most so many of each kind (default: 20)")
  withAction(find, async (context, words, flags) => (await import("./show.ts")).showFound(context, words, flags))
}

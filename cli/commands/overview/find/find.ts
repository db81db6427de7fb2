/** `find`: searches members, orders, products, documents and units by words or code, with their location. */
import type { Command } from "commander"
import { withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const find = program
    .command("find")
    .description("Find members, orders, products, documents and units, with their location, by words or code")
    .argument("<words...>", "words in any order, a code, a number, a telephone number or an address")
    .option(
      "--only <kinds>",
      "only these kinds: units, orders, members, products, containers, invoices, purchase_orders"
    )
    .option("--limit <n>", "results per kind (default: 20)")
  withAction(find, async (context, words, flags) => (await import("./show.ts")).showFound(context, words, flags))
}

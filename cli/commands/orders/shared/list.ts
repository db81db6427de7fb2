/** `list` and `reprice` of orders and quotes; `list` shows opportunities in certain states. */
import type { Command } from "commander"
import { type Flags, listFlag, oneOf, repeatable, verb } from "../../../context/program.ts"
import type { Query } from "../../../../core/kernel/index.ts"
import type { CommandContext } from "../../../context/context.ts"
import { includesOf } from "../../../output/columns.ts"
import { printAnswer } from "../../../context/print.ts"
import { listQuery, queryPart, wholeList } from "../../../context/pages.ts"

// Verb `reprice` of `quote` and `orders`.

export const declareReprice = (parent: Command, noun: "order" | "quote"): void => {
  verb(parent, "reprice", {
    about: "Recalculate with current rates, discount rules, surcharges and taxes; --plan only shows the changes",
    ...(noun === "order" ? { "<order>": "order, by id or number" } : { "<quote>": "quote, by id or number" }),
    "--only <what>": oneOf("tax: update tax rates only, on a locked order too", ["tax"]),
    run: async (...given) => (await import("./renew.ts")).repriceQuote(...given)
  })
}

/** Flags of a list of opportunities. */
export const list_flags = {
  "-q, --q <name=value>": repeatable("filter, such as subject_cont=gala; repeatable"),
  "--sort <field>": "sort by this field; -field to reverse",
  "--page <number>": "page number, from 1",
  "--per-page <number>": "rows per page, at most 100",
  "--all": "fetch all pages",
  "--include <a,b>": "related records to include",
  "--view <id>": "id of a saved view"
}

/** Lists opportunities that match the query `only`. */
export const listOpportunities = async (context: CommandContext, flags: Flags, only: Query): Promise<void> => {
  const path = "/api/v1/opportunities"
  const { refuseUnknownParts } = await import("../../../base/ignored.ts")
  const { readFilterValues } = await import("../../../context/filter-values.ts")
  await refuseUnknownParts(listFlag(flags, "q").map(queryPart), "opportunities", [])
  const needed = includesOf("opportunities")
  // Adds includes that the table's columns need; with --json only requested ones.
  const is_plain = context.options.json !== true && flags.include === undefined && flags.view === undefined
  const set_here = new Set(only.map(([name]) => name))
  const asked = await readFilterValues(context, listQuery(flags), "opportunities")
  const query: Query = [
    ...asked.filter(([name]) => !set_here.has(name)),
    ...only,
    ...(is_plain && needed !== undefined ? ([["include", needed]] as const) : [])
  ]
  await printAnswer(context, {
    status: 200,
    body: flags.all === true ? await wholeList(context, path, query) : await context.read(path, query)
  })
}

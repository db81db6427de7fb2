/** Finds lines of an order or quotation by id, product or name. */
import type { OrderLine, Row } from "../../../base/answers.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import type { CommandContext } from "../../../context/context.ts"
import { findIdByName, looksLikeId } from "../../../context/resolve-id.ts"

const told = ({ id, name, quantity }: OrderLine): string => `${id} (${quantity} × ${name})`

/** The line of `items` that a text names. Exit 3 if none matches, exit 2 if several do. */
export const lineMeant = async (
  context: CommandContext,
  items: ReadonlyArray<OrderLine>,
  text: string
): Promise<OrderLine> => {
  const wanted = text.trim()
  const by_id = looksLikeId(wanted) ? items.filter(({ id }) => String(id) === wanted) : []
  const named = by_id.length > 0 ? by_id : items.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase())
  const product = named.length > 0 ? undefined : await findIdByName(context, "products", wanted)
  const found = product === undefined ? named : items.filter(({ item_id }) => item_id === product)
  const [line, ...others] = found
  if (line !== undefined && others.length === 0) return line
  throw line === undefined
    ? new CliError(exit_codes.not_found, `No line is ${JSON.stringify(wanted)} (by id, product or name).`, {
        way_out: `Its lines: ${items.map(told).join(", ") || "none"}.`
      })
    : new CliError(exit_codes.usage, `${JSON.stringify(wanted)} is several lines: ${found.map(told).join(", ")}.`, {
        way_out: "Give the id of the one that is meant."
      })
}

/** Lines of an opportunity that was read with `include=items`. */
export const itemsOf = (opportunity: Row<"opportunity">): ReadonlyArray<OrderLine> => opportunity.items ?? []

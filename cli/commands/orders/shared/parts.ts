/** Products, lines, prices and bodies, for the verbs of quotes and orders. */
import type { Json } from "../../../../core/kernel/index.ts"
import { fixed_charge } from "../../../../core/orders/opportunities/tables/index.ts"
import { type OrderLine, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { findIdByName, looksLikeId } from "../../../context/resolve-id.ts"

/** Value of the only flag given of exclusive ones; undefined without any. Exit 2 if several are given. */
const oneOf = (flags: Flags, names: { readonly [name: string]: string }): string | undefined => {
  const [given, ...others] = Object.keys(names).filter((name) => flags[name] !== undefined)
  if (others.length > 0) throw usageError(`Give one of ${Object.values(names).join(", ")}, not several.`)
  return given
}
const kind_flags = { rental: "--rental", sale: "--sale", service: "--service" }
const prices = { price: "--price", unitTotal: "--unit-total", lineTotal: "--line-total", free: "--free" }

/** Body fields for type and price. `before`: the existing line; a price per day clears its price for the whole hire. */
export const kindAndPrice = (flags: Flags, before?: OrderLine): { readonly [name: string]: Json | undefined } => {
  const kind = oneOf(flags, kind_flags)
  const price = oneOf(flags, prices)
  const given = price === undefined ? undefined : textFlag(flags, price)
  const was_fixed = before?.charge_period === fixed_charge && before.transaction_type_label !== "Service"
  return {
    transaction_type: kind,
    ...(price === "free"
      ? { unit_price: 0 }
      : price === "lineTotal"
        ? { line_total: given }
        : { unit_price: price === "price" && given === "rate" ? null : given }),
    charge_period:
      price === "unitTotal" ? "fixed" : price === "price" && given !== "rate" && was_fixed ? "day" : undefined
  }
}

/** Prints by how many days a manual price is multiplied, if it is. */
export const notePriceOf = (context: CommandContext, flags: Flags, body: Json | undefined, line_id: number): void => {
  if (textFlag(flags, "price") === undefined || flags.price === "rate") return
  const line = rowIn(body, "opportunity").items?.find(({ id }) => id === line_id)
  const periods = line?.charged_periods
  if (line === undefined || periods == null || periods === "1") return
  const quantity = Number(line.quantity)
  context.note(
    `The price is for one, per day: ${quantity} × ${line.unit_price} × ${periods}. ` +
      "For the whole hire give --unit-total, for the whole line --line-total."
  )
}

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

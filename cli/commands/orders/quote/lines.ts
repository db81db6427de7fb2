/** `quote update` and `quote remove`: change lines, named by id, product or name. */
import type { Json, JsonObject } from "../../../../core/kernel/index.ts"
import { type OrderLine, type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { notePending, noteWarnings, printAnswer } from "../../../context/print.ts"
import { readMoment } from "../../../base/parse-time.ts"
import { type CommandAction, type Flags, textFlag } from "../../../context/program.ts"
import { storeOf } from "../../../context/resolve-id.ts"
import { kindAndPrice, lineMeant, notePriceOf } from "../shared/parts.ts"
import { flagTyped, idFlag, present } from "../../../context/pages.ts"
import { writesOf } from "../../../context/writes.ts"
import { opportunityPath, showOpportunity } from "../shared/show.ts"

const read = async (context: CommandContext, path: string): Promise<Row<"opportunity">> =>
  rowIn(await context.read(path, [["include", "items"]]), "opportunity")

/** Changes one line; without a line, the quote's own fields. */
export const updateQuote: CommandAction = async (context, [named = "", line], flags) => {
  const path = await opportunityPath(context, named)
  const quote = await read(context, path)
  const item = line === undefined ? undefined : await lineMeant(context, quote.items ?? [], line)
  const body = item === undefined ? await headerBody(context, flags) : await lineBody(context, quote, item, flags)
  if (Object.keys(body).length === 0) throw usageError("Nothing to change: give what is to be other than it is.")
  const answer = await context.ask(
    item === undefined ? { method: "PUT", path, body } : { method: "PATCH", path: `${path}/items/${item.id}`, body }
  )
  if (context.options.plan === true) return printAnswer(context, answer)
  await showOpportunity(context, path)
  if (item !== undefined) notePriceOf(context, flags, answer.body, item.id)
  noteWarnings(context, answer.body)
  notePending(context, answer)
}

const of_lines = [
  ...["quantity", "price", "unitTotal", "lineTotal", "free", "sale", "service", "rental"],
  ...["discount", "from", "to", "name", "optional", "notes"]
]
const of_headers = ["subject", "reference", "member", "venue"]
const refuseOthers = (flags: Flags, names: ReadonlyArray<string>, text: string): void => {
  const given = names.find((name) => flags[name] !== undefined)
  if (given !== undefined) throw usageError(`${flagTyped(given)} ${text}`)
}

const headerBody = async (context: CommandContext, flags: Flags): Promise<JsonObject> => {
  if (flags.from !== undefined || flags.to !== undefined)
    throw usageError(
      "--from and --to are of a line: name it after the quote.",
      "orders extend QUOTE --from TIME --to TIME moves the whole hire, with its lines."
    )
  refuseOthers(flags, of_lines, "is of a line: name it after the quote, by id, product or name.")
  return present({
    subject: textFlag(flags, "subject"),
    reference: textFlag(flags, "reference"),
    member_id: await idFlag(context, flags, "member", "members"),
    venue_id: await idFlag(context, flags, "venue", "members")
  })
}

/** Value of a flag that a word such as `none` clears: null for that word. */
const cleared = (text: string | undefined, word: string): Json | undefined => (text === word ? null : text)
const lineBody = async (
  context: CommandContext,
  quote: Row<"opportunity">,
  item: OrderLine,
  flags: Flags
): Promise<JsonObject> => {
  refuseOthers(flags, of_headers, "is of the quote as a whole: leave out the line.")
  const [from, to] = [textFlag(flags, "from"), textFlag(flags, "to")]
  const is_dated = from !== undefined || to !== undefined
  const zone = is_dated ? (await storeOf(context, quote)).zone : "UTC"
  // Sends both times, as an omitted one would be reset to the quote's.
  const moment = (text: string | undefined, flag: string, field: "starts_at" | "ends_at"): Json | undefined =>
    text !== undefined ? readMoment(context, text, zone, flag) : is_dated ? (item[field] ?? undefined) : undefined
  const optional = flags.optional
  return present({
    quantity: textFlag(flags, "quantity"),
    ...kindAndPrice(flags, item),
    discount_percent: cleared(textFlag(flags, "discount"), "none"),
    starts_at: moment(from, "--from", "starts_at"),
    ends_at: moment(to, "--to", "ends_at"),
    name: textFlag(flags, "name"),
    notes: textFlag(flags, "notes"),
    is_optional: typeof optional === "boolean" ? optional : undefined
  })
}

/** Removes lines with those below them. All names are resolved before the first is removed. */
export const removeLines: CommandAction = async (context, [named = "", ...codes], flags) => {
  const path = await opportunityPath(context, named)
  const items = (await read(context, path)).items ?? []
  const lines: Array<OrderLine> = []
  for (const code of codes) {
    const line = await lineMeant(context, items, code)
    if (!lines.some(({ id }) => id === line.id)) lines.push(line)
  }
  const names = lines.map(({ name, quantity }) => `${quantity} × ${name}`).join(", ")
  await context.agree(`Remove ${names}?`, flags)
  const { ask, printPlan } = writesOf(context)
  let last
  for (const { id } of lines) last = await ask({ method: "DELETE", path: `${path}/items/${id}` })
  if (context.options.plan === true) return printPlan(`remove ${names}`)
  await showOpportunity(context, path)
  if (last !== undefined) notePending(context, last)
}

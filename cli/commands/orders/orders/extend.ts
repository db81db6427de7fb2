/** `orders extend`, `orders return-early` and `orders credit`: goods that stay longer or come back early. */
import { isJsonObject, type Json, type JsonObject } from "../../../../core/kernel/index.ts"
import type { QueryResult } from "../../../../sync/device/device.ts"
import { type OrderLine, type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { missingFlagError, usageError } from "../../../base/exit-codes.ts"
import { notePending, noteWarnings, printAnswer, printTable } from "../../../context/print.ts"
import { formatIn, readMoment } from "../../../base/parse-time.ts"
import { type CommandAction, listFlag, textFlag } from "../../../context/program.ts"
import { storeOf } from "../../../context/resolve-id.ts"
import { lineMeant } from "../shared/parts.ts"
import { momentFlag, present } from "../../../context/pages.ts"
import { opportunityPath } from "../shared/show.ts"
import { countedCode, findAsset } from "../../../context/codes.ts"

export const extendOrder: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const order = rowIn(await context.read(path, [["include", "items,items.assets"]]), "opportunity")
  const { zone } = await storeOf(context, order)
  const dates = present({
    starts_at: momentFlag(context, flags, "from", zone),
    ends_at: momentFlag(context, flags, "to", zone),
    charge_starts_at: momentFlag(context, flags, "chargeFrom", zone),
    charge_ends_at: momentFlag(context, flags, "chargeTo", zone)
  })
  const given = Object.keys(dates).length > 0 ? dates : { ends_at: await askForEnd(context, order, zone) }
  const parts = await partsMeant(context, order.items ?? [], listFlag(flags, "part"))
  const body = present({
    ...given,
    lines: await linesMeant(context, order, textFlag(flags, "lines") ?? (parts.length > 0 ? "keep" : undefined)),
    parts: parts.length === 0 ? undefined : parts,
    reason: textFlag(flags, "reason")
  })
  if (context.options.plan === true) {
    const planned = await context.post(`${path}/extend`, body)
    if (context.options.json === true) return printAnswer(context, planned)
    showExtension(context, planned, order, zone)
    return context.note("Planned only; nothing was written.")
  }
  if (context.interactive && flags.yes !== true && !(await agreed(context, path, body, order, zone)))
    throw usageError("Nothing was changed.")
  const answer = await context.post(`${path}/extend`, body)
  if (context.options.json === true) return printAnswer(context, answer)
  showExtension(context, answer, order, zone)
  notePending(context, answer)
}

const askForEnd = async (context: CommandContext, { ends_at }: Row<"opportunity">, zone: string): Promise<string> => {
  if (!context.interactive) throw missingFlagError("--to", "the new end")
  const { promptText } = await import("../../../output/prompt.ts")
  const now = ends_at === null ? "" : ` (now ${formatIn(ends_at, zone)})`
  return readMoment(context, await promptText(`New end${now}`), zone, "--to")
}

/** Lines to move: `follow`, `keep`, or lines by id, product or name, separated by commas. */
const linesMeant = async (
  context: CommandContext,
  order: Row<"opportunity">,
  text: string | undefined
): Promise<Json> => {
  if (text === undefined || text === "follow" || text === "keep") return text ?? "follow"
  const ids: Array<number> = []
  for (const one of text.split(",")) ids.push((await lineMeant(context, order.items ?? [], one)).id)
  return ids
}

/** Prints the preview, and asks for confirmation. */
const agreed = async (
  context: CommandContext,
  path: string,
  body: JsonObject,
  order: Row<"opportunity">,
  zone: string
): Promise<boolean> => {
  showExtension(context, await context.post(`${path}/extend/preview`, body), order, zone)
  const { confirm } = await import("../../../output/prompt.ts")
  return confirm("Extend it so?")
}

type Hire = Row<"extension">["before"]
const rows: ReadonlyArray<readonly [title: string, key: Exclude<keyof Hire, "shortages">]> = [
  ["from", "starts_at"],
  ["to", "ends_at"],
  ["charged from", "charge_starts_at"],
  ["charged to", "charge_ends_at"],
  ["total", "charge_total"],
  ["tax", "tax_total"],
  ["total with tax", "charge_including_tax_total"]
]
/** Shortages of a hire; a part that moves has its own, beside that of the line it is taken from. */
const shortOf = (hire: Hire, names: ReadonlyMap<number, string>): string =>
  hire.shortages
    .map((one) => {
      const part = names.has(one.opportunity_item_id) ? "" : " (the part that moves)"
      return `${one.product_name ?? one.product_id}${part} by ${one.remaining_shortfall}`
    })
    .join(", ") || "nothing"

const showExtension = (context: CommandContext, answer: QueryResult, order: Row<"opportunity">, zone: string): void => {
  const extension = rowIn(answer.body, "extension")
  const { after, before } = extension
  const shown = (value: Json | undefined): string =>
    typeof value === "string" ? formatIn(value, zone) : String(value ?? "")
  const names = new Map((order.items ?? []).map(({ id, name }) => [id, name]))
  const compared = [
    ...rows.map(([title, key]) => ({ what: title, before: shown(before[key]), after: shown(after[key]) })),
    { what: "short of", before: shortOf(before, names), after: shortOf(after, names) }
  ].filter((row) => row.before !== "" || row.after !== "")
  printTable(context, "what=, before, after", compared)
  const told = (ids: ReadonlyArray<number>): string =>
    ids.map((id) => names.get(id) ?? "the new line").join(", ") || "none"
  context.note(
    `Lines that go along: ${told(extension.lines_followed)}. ` +
      `Lines with other dates: ${told(extension.lines_kept)}.`
  )
  const first_end = extension.original_ends_at
  if (first_end !== null) context.note(`Before it was first extended: until ${formatIn(first_end, zone)}.`)
  noteWarnings(context, isJsonObject(answer.body) ? answer.body : {})
}

// Early returns, and credits for amounts billed beyond an order's total.

interface PartMeant {
  readonly line: OrderLine
  readonly quantity: string | undefined
  readonly asset_ids: Array<number>
}

/** The part that a text names: `Lamp=4`, `CABLE*4`, a unit's code, or a line for all of it. */
const partMeant = async (
  context: CommandContext,
  items: ReadonlyArray<OrderLine>,
  text: string
): Promise<PartMeant> => {
  const [, named, after] = /^(.*)=(\d+(?:\.\d+)?)$/s.exec(text) ?? []
  const counted = countedCode(text)
  const quantity = after ?? counted.quantity?.toString()
  if (quantity !== undefined)
    return { line: await lineMeant(context, items, named ?? counted.code), quantity, asset_ids: [] }
  const asset = await findAsset(context, text)
  for (const line of asset === undefined ? [] : items)
    for (const unit of line.assets ?? [])
      if (unit.stock_level_id === asset?.id) return { line, quantity: undefined, asset_ids: [unit.id] }
  if (asset !== undefined) throw usageError(`${asset.label} is not on this order.`)
  return { line: await lineMeant(context, items, text), quantity: undefined, asset_ids: [] }
}

/** Parts of lines as the API takes them; units of one line make one part. */
const partsMeant = async (
  context: CommandContext,
  items: ReadonlyArray<OrderLine>,
  texts: ReadonlyArray<string>
): Promise<ReadonlyArray<JsonObject>> => {
  const parts = new Map<number, PartMeant>()
  for (const text of texts) {
    const part = await partMeant(context, items, text)
    const before = parts.get(part.line.id)
    const asset_ids = [...(before?.asset_ids ?? []), ...part.asset_ids]
    parts.set(part.line.id, { line: part.line, quantity: part.quantity ?? before?.quantity, asset_ids })
  }
  return [...parts.values()].map(({ asset_ids, line, quantity }) =>
    present({ opportunity_item_id: line.id, quantity, asset_ids: asset_ids.length === 0 ? undefined : asset_ids })
  )
}

export const returnEarly: CommandAction = async (context, [named = "", ...goods], flags) => {
  const path = await opportunityPath(context, named)
  const order = rowIn(await context.read(path, [["include", "items,items.assets"]]), "opportunity")
  const { zone } = await storeOf(context, order)
  const answer = await context.post(
    `${path}/return_early`,
    present({
      items: await partsMeant(context, order.items ?? [], goods),
      // Without --at it is the time of the units' check-in, else of the command.
      returned_at: momentFlag(context, flags, "at", zone),
      already_back: flags.bookedIn === true ? true : undefined,
      condition: flags.good === true ? 0 : flags.damaged === true ? 1 : undefined,
      damage_notes: textFlag(flags, "note")
    })
  )
  if (context.options.plan === true || context.options.json === true) return printAnswer(context, answer)
  const names = new Map((order.items ?? []).map(({ id, name }) => [id, name]))
  const { returned } = answer.body as { readonly returned: ReadonlyArray<Row<"returned">> }
  const shown = returned.map((part) => ({
    line: names.get(part.opportunity_item_id) ?? String(part.opportunity_item_id),
    back: String(Number(part.quantity)),
    charged_until: formatIn(part.charged_until, zone),
    total_before: part.total_before,
    total_after: part.total_after
  }))
  printTable(context, "line, back, charged_until, total_before, total_after", shown)
  noteWarnings(context, isJsonObject(answer.body) ? answer.body : {})
  notePending(context, answer)
}

/** Prints the credit draft, and issues it once confirmed. */
export const creditOrder: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const draft = rowIn(await context.read(`${path}/credit_draft`), "credit_draft")
  if (context.options.plan === true) {
    if (context.options.json === true) return context.print(JSON.stringify({ credit_draft: draft }))
    showDraft(context, draft)
    return context.note("Draft only; nothing was issued.")
  }
  if (context.options.json !== true) showDraft(context, draft)
  if (draft.items.length > 0) await context.agree("Issue the credit?", flags)
  const answer = await context.post(`${path}/credit_notes`, present({ reason: textFlag(flags, "reason") }))
  if (context.options.json === true) return printAnswer(context, answer)
  for (const note of (answer.body as { readonly credit_notes: ReadonlyArray<Row<"credit_note">> }).credit_notes)
    context.note(`Credit note ${note.number ?? "(number pending)"}: ${note.total} ${note.currency_code}.`)
  notePending(context, answer)
}

const showDraft = (context: CommandContext, draft: Row<"credit_draft">): void => {
  if (draft.items.length === 0) return context.note("Nothing is billed beyond the order's total.")
  const rows = draft.items.map(({ amount, invoice_id, invoice_number, name, tax_total }) => ({
    invoice: invoice_number ?? `id ${invoice_id}`,
    name,
    amount,
    tax: tax_total
  }))
  printTable(context, "invoice, name, amount, tax", rows)
  context.note(`Credit draft: ${draft.total} ${draft.currency_code} with tax.`)
}

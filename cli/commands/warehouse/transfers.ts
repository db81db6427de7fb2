/** `transfers`: goods from one store to another by scanner, also offline, with the delivery note (rules/transfers). */
import type { Command } from "commander"
import { type Row, rowIn } from "../../base/answers.ts"
import { usageError } from "../../base/exit-codes.ts"
import { linesOf } from "../../base/input.ts"
import { formatIn } from "../../base/parse-time.ts"
import type { CommandContext } from "../../context/context.ts"
import { idFlag, momentFlag, present } from "../../context/pages.ts"
import { notePending, noteWarnings, printAnswer, printTable } from "../../context/print.ts"
import { type CommandAction, type Flags, required, textFlag, verb } from "../../context/program.ts"
import { looksLikeId, resolveStore } from "../../context/resolve-id.ts"
import { columnsNamed } from "../../output/table.ts"
import { oneLine } from "../../output/text.ts"
import { html, pageText, words as typed } from "../../../server/print/markup.ts"
import { checkOutputPath, heading, palette, writeView } from "../../views/frame.ts"

const path = "/api/v1/transfers"
type Transfer = Row<"transfer">

const pathOf = (named: string | undefined): string => {
  if (named === undefined || !looksLikeId(named))
    throw usageError(`${JSON.stringify(named ?? "")} is no id of a transfer.`)
  return `${path}/${named}`
}
const codesOf = async (codes: ReadonlyArray<string>, flags: Flags): Promise<ReadonlyArray<string>> => {
  const file = textFlag(flags, "file")
  const all = [...codes]
  if (file !== undefined) for await (const line of linesOf(file === "-" ? undefined : file)) all.push(line)
  return all
}

const wayText = ({ from_store_name, id, to_store_name }: Transfer): string =>
  `Transfer ${id} from ${from_store_name ?? "a store"} to ${to_store_name ?? "a store"}`
const piecesIn = (items: NonNullable<Transfer["items"]>, of: "quantity" | "received_quantity" = "quantity"): number =>
  items.reduce((sum, item) => sum + item[of], 0)
const stateText = (transfer: Transfer): string => {
  if (transfer.status === "cancelled") return transfer.status
  const items = transfer.items ?? []
  const arrived = piecesIn(items, "received_quantity")
  const all = piecesIn(items)
  const late = transfer.is_late ? ", late" : ""
  return `${transfer.status}${late}: ${all} to move${arrived === 0 ? "" : `, ${arrived} arrived`}`
}

const create = async (context: CommandContext, codes: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const from = await resolveStore(context, textFlag(flags, "from"))
  const to = await resolveStore(context, textFlag(flags, "to"))
  const starts_at = momentFlag(context, flags, "starts", from.zone) ?? new Date().toISOString()
  const arrives_at = momentFlag(context, flags, "arrives", from.zone, starts_at)
  const ends_at = momentFlag(context, flags, "ends", from.zone, starts_at)
  const body = present({
    ...{ from_store_id: from.id, to_store_id: to.id, starts_at, arrives_at, ends_at },
    codes: await codesOf(codes, flags),
    opportunity_id: await idFlag(context, flags, "order", "opportunities"),
    notes: textFlag(flags, "notes")
  })
  const answer = await context.post(path, body)
  if (context.options.json === true || answer.events !== undefined) return printAnswer(context, answer)
  const transfer = rowIn(answer.body, "transfer")
  context.print(`${transfer.id}\n`)
  context.note(
    oneLine(
      `${wayText(transfer)} is planned: ${piecesIn(transfer.items ?? [])} to move. ` +
        `Send: flightcase transfers send ${transfer.id}`
    )
  )
  noteWarnings(context, answer.body)
  notePending(context, answer)
}

const step =
  (verb: "send" | "receive" | "cancel") =>
  async (context: CommandContext, [named, ...codes]: ReadonlyArray<string>, flags: Flags): Promise<void> => {
    const scanned = verb === "cancel" ? [] : await codesOf(codes, flags)
    if (verb === "cancel") await context.agree(`Cancel transfer ${named}: sure?`, flags)
    const answer = await context.post(`${pathOf(named)}/${verb}`, scanned.length === 0 ? {} : { codes: [...scanned] })
    if (context.options.json === true || answer.events !== undefined) return printAnswer(context, answer)
    const transfer = rowIn(answer.body, "transfer")
    context.note(oneLine(`${wayText(transfer)} is ${stateText(transfer)}.`))
    noteWarnings(context, answer.body)
    notePending(context, answer)
  }

/** A weight as people write it: `20.5`. */
const kilos = (weight: string | null): string | null => (weight === null ? null : String(Number(weight)))
const columns = columnsNamed(`code, name=GOODS, quantity, sent_quantity=SENT, received_quantity=ARRIVED, weight`)
const show: CommandAction = async (context, [named], flags) => {
  const transfer = rowIn(await context.read(pathOf(named)), "transfer")
  const file = textFlag(flags, "html")
  if (file !== undefined) return drawNote(context, transfer, file)
  if (context.options.json === true) return context.printJson({ transfer })
  const items = (transfer.items ?? []).map((item) => ({ ...item, weight: kilos(item.weight) }))
  if (items.length > 0) printTable(context, columns, items)
  const { zone } = await resolveStore(context, String(transfer.from_store_id))
  const at = (instant: string | null): string => (instant === null ? "" : formatIn(instant, zone))
  const back = transfer.ends_at === null ? "" : `, back ${at(transfer.ends_at)}`
  context.note(
    oneLine(
      `${wayText(transfer)} is ${stateText(transfer)}. Leaves ${at(transfer.starts_at)}, ` +
        `arrives ${at(transfer.arrives_at)}${back}.`
    )
  )
}

const style = `${palette}main { padding: 8px 20px 28px; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); } .n { text-align: right; }
.sign { margin-top: 40px; }
@media print { @page { size: A4 portrait; margin: 12mm; } tr { break-inside: avoid; } }`
/** Writes the delivery note that travels with the goods: what there is of each, and its weight. */
const drawNote = async (context: CommandContext, transfer: Transfer, file: string): Promise<void> => {
  checkOutputPath(context, file)
  const from = await resolveStore(context, String(transfer.from_store_id))
  const items = transfer.items ?? []
  const weight = items.reduce((sum, item) => sum + Number(item.weight ?? 0), 0)
  const unknown = items.some((item) => item.weight === null) ? "; not all weights are known" : ""
  const title = `Delivery note of transfer ${transfer.id}`
  const scene = { store: from.name, zone: from.zone, now: Date.now(), source: undefined }
  const at = (instant: string | null): string => (instant === null ? "" : formatIn(instant, from.zone))
  const back = transfer.ends_at === null ? "" : ` Goes back ${at(transfer.ends_at)}.`
  const weighs = `${piecesIn(items)} pieces, ${Math.round(weight * 1_000) / 1_000} kg${unknown}.${back}`
  const sums = html`<p>${weighs} ${typed(transfer.notes ?? "")}</p>`
  const body = html`<body>
${heading(typed(title), `to ${transfer.to_store_name ?? ""}, leaves ${at(transfer.starts_at)}`, scene, sums)}
<main><table>
<thead><tr><th>Code</th><th>Goods</th><th class="n">Quantity</th><th class="n">Weight, kg</th></tr></thead>
<tbody>${items.map(
    (item) => html`<tr><td>${typed(item.code ?? "")}</td><td>${typed(item.name ?? "")}</td>
<td class="n">${item.quantity}</td><td class="n">${kilos(item.weight) ?? ""}</td></tr>`
  )}</tbody>
</table>
<p class="sign">Sent by ____________________ Received by ____________________</p></main>
</body>`
  await writeView(context, file, pageText({ title, style, body }))
}

export const declare = (program: Command): void => {
  const transfers = program
    .command("transfers")
    .description("Goods from one store to another: plan, send, receive, cancel")
  const codes = {
    "[code...]": "codes of units, cases and bulk products (CABLE*7)",
    "--file <file>": "read codes from this file, one a line; - for standard input"
  }
  verb(transfers, "create", {
    about: "Plan a transfer of these goods",
    ...codes,
    "--from <store>": "id or name of the store that sends (default: the default store)",
    "--to <store>": required("id or name of the store that receives"),
    "--starts <time>": "time the goods leave (default: now)",
    "--arrives <time>": "time the goods arrive (default: when they leave)",
    "--ends <time>": "time the goods go back (default: they stay)",
    "--order <order>": "order the goods are for, by id or number",
    "--notes <text>": "notes on the transfer",
    run: create
  })
  const one = { "<transfer>": "transfer, by id" }
  verb(transfers, "send", {
    about: "Record that goods leave: all, or these; the rest stays",
    ...one,
    ...codes,
    run: step("send")
  })
  verb(transfers, "receive", {
    about: "Record that goods arrive: all that is left, or these",
    ...one,
    ...codes,
    run: step("receive")
  })
  verb(transfers, "cancel", {
    about: "Cancel a transfer; what was sent goes back to the sending store",
    ...one,
    "-y, --yes": "skip the confirmation",
    run: step("cancel")
  })
  verb(transfers, "show", {
    about: "Show a transfer's goods and state",
    ...one,
    "--html <file>": "write a delivery note, with weights",
    run: show
  })
}

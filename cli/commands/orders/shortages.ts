/** Short lines of one order or of all, overbooked days, and the waiting list: `shortages` and `orders shortages`. */
import type { Command } from "commander"
import { dateAfter } from "../../../core/values/period.ts"
import { numberText } from "../../../core/values/text.ts"
import { unpagedMeta, type Json, type JsonObject, type Query } from "../../../core/kernel/index.ts"
import { rowIn, type RowOfList, rowsIn, totalOf } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { looksLikeId, resolveStore } from "../../context/resolve-id.ts"
import { allRows } from "../../context/pages.ts"
import { printAnswer } from "../../context/print.ts"
import { type CommandAction, type Flags, textFlag, verb } from "../../context/program.ts"
import { parseDay } from "../../base/parse-time.ts"
import { opportunityPath, tellToReplace } from "./shared/show.ts"
import type { QueryResult } from "../../../sync/device/device.ts"
import { CliError, exit_codes } from "../../base/exit-codes.ts"
import { withOrderNumbers } from "../../context/order-numbers.ts"
import { oneLine } from "../../output/text.ts"

const days_ahead = 30

/** Explains an empty `--days` list if only drafts or provisional quotations are short: those claim no stock. */
const tellUnclaimed = async (context: CommandContext, span: Query): Promise<void> => {
  const count = totalOf(await context.read("/api/v1/shortages", [...span, ["per_page", "1"]]))
  if (count === 0) return
  const [lines, are, claim, they_are, them] =
    count === 1
      ? ["line of a draft or a provisional quotation", "is", "claims", "it is", "it"]
      : ["lines of drafts or provisional quotations", "are", "claim", "they are", "them"]
  context.note(
    `${count} ${lines} ${are} short then, and ${claim} nothing until ${they_are} reserved or ordered: ` +
      `shortages without --days lists ${them}.`
  )
}

/** Rows without fully dispatched lines, which are noted in one sentence. */
const withoutOut = (
  context: CommandContext,
  rows: ReadonlyArray<RowOfList<"shortages">>
): ReadonlyArray<RowOfList<"shortages">> => {
  const left = rows.filter(({ is_out }) => !is_out)
  const out = rows.length - left.length
  const are = out === 1 ? "line that is overbooked is" : "lines that are overbooked are"
  if (out > 0) context.note(`${out} ${are} out already and not shown; --json has all.`)
  return left
}

export const declare = (program: Command): void => {
  const command = verb(program, "shortages", {
    about: "List short lines of orders, quotations and drafts, with dates and quantities",
    "--from <date>": "first day (default: today)",
    "--to <date>": `last day (default: ${days_ahead} days on)`,
    "--store <store>": "store, by id or name (default: every store)",
    "--days": "list short products by store and day instead",
    run: async (context, _args, flags) => {
      const { id, zone } = await resolveStore(context, textFlag(flags, "store"))
      const from = parseDay(textFlag(flags, "from") ?? "today", "--from", zone)
      const to =
        textFlag(flags, "to") === undefined ? dateAfter(from, days_ahead) : parseDay(String(flags.to), "--to", zone)
      const store = flags.store === undefined ? [] : [["store_id", String(id)] as const]
      const span = [["from", from], ["to", to], ...store] as const
      if (flags.days === true) {
        const short_days = await allRows(context, "/api/v1/availability/shortages", span)
        await printAnswer(context, { status: 200, body: { short_days, meta: unpagedMeta(short_days.length) } })
        return short_days.length > 0 ? undefined : tellUnclaimed(context, span)
      }
      const rows = await allRows(context, "/api/v1/shortages", span)
      const shortages = context.options.json === true ? rows : withoutOut(context, rows)
      await printAnswer(context, { status: 200, body: { shortages, meta: unpagedMeta(shortages.length) } })
      tellOrdersToReplace(context, rows)
      const query: Query = [
        ["q[status_eq]", "waiting"],
        ["per_page", "1"]
      ]
      const waiting = totalOf(await context.read("/api/v1/shortage_waits", query))
      if (waiting > 0)
        context.note(`${waiting} ${waiting === 1 ? "line waits" : "lines wait"}; shortages waiting lists them.`)
    }
  })
  verb(command, "waiting", {
    about: "List an order's waiting lines with their queue positions, or all waiting lines",
    "[order]": "order, by id or number",
    run: showWaiting
  })
  verb(command, "wait", {
    about: "Put a short line on the waiting list, or all of an order",
    "<order>": "order, by id or number",
    "[line]": "id or name of the line",
    "--note <text>": "note for the waiting list, listed with the line",
    run: waitFor
  })
  verb(command, "leave", {
    about: "Take a line off the waiting list, or all of an order",
    "<order>": "order, by id or number",
    "[line]": "id or name of the line",
    run: async (context, args) => leaveList(context, args)
  })
}

const typed = (text: string): string => (/^[\w:-]+$/.test(text) ? text : `'${text}'`)

export const showShortages = async (context: CommandContext, order: string): Promise<void> => {
  const body = await context.read(`${await opportunityPath(context, order)}/shortages`)
  if (context.options.json === true) return context.printJson(body)
  const [shortages, waiting] = [withoutOut(context, rowsIn(body, "shortages")), rowsIn(body, "waiting")]
  await printAnswer(context, { status: 200, body: { shortages, meta: unpagedMeta(shortages.length) } })
  tellToReplace(context, body)
  for (const { available, needed_on, product_id, ready_on, store_name } of rowsIn(body, "elsewhere")) {
    const name = shortages.find((one) => one.product_id === product_id)?.product_name ?? `product ${product_id}`
    context.note(
      oneLine(
        `${store_name} has ${available} × ${name} from ${ready_on} on, needed on ${needed_on}: ` +
          `flightcase opportunities shortages resolve ${typed(order)} --resolution transfer ` +
          `--from-store-id ${typed(store_name)}`
      )
    )
  }
  if (waiting.length === 0) return
  const quoted = typed(order)
  if (!context.terminal.is_tty)
    return context.note(`${waiting.length} waiting for goods: flightcase shortages waiting ${quoted} lists them.`)
  context.note("Waiting for goods:")
  await printAnswer(context, { status: 200, body: { waiting, meta: unpagedMeta(waiting.length) } })
}

const listed = (body: Json | undefined): QueryResult => {
  const waiting = rowsIn(body, "waiting")
  return { status: 200, body: { waiting, meta: unpagedMeta(waiting.length) } }
}

const showWaiting: CommandAction = async (context, [order]) => {
  if (order !== undefined) {
    const path = `${await opportunityPath(context, order)}/shortages`
    return printAnswer(context, listed(await context.read(path)))
  }
  const rows = await allRows(context, "/api/v1/shortage_waits", [["q[status_eq]", "waiting"]])
  const shown = context.options.json === true ? rows : await withOrderNumbers(context, rows)
  await printAnswer(context, { status: 200, body: { shortage_waits: shown, meta: unpagedMeta(rows.length) } })
}

/** Id of an order's line, given by id, or by name if unique. */
const lineOf = async (context: CommandContext, path: string, text: string): Promise<number> => {
  if (looksLikeId(text)) return Number(text)
  const { items } = rowIn(await context.read(path, [["include", "items"]]), "opportunity")
  const found = (items ?? []).filter(({ name }) => name.toLowerCase() === text.trim().toLowerCase())
  const [line] = found
  if (line !== undefined && found.length === 1) return line.id
  throw new CliError(
    line === undefined ? exit_codes.not_found : exit_codes.usage,
    line === undefined
      ? `The order has no line ${JSON.stringify(text)}.`
      : `${JSON.stringify(text)} is the name of several lines: ids ${found.map(({ id }) => id).join(", ")}.`,
    { way_out: "Give the id of the line; orders show lists them." }
  )
}

const changeWaiting = async (context: CommandContext, path: string, body: JsonObject, done: string): Promise<void> => {
  const answer = await context.post(path, body)
  if (context.options.json === true || context.options.plan === true) return printAnswer(context, answer)
  await printAnswer(context, { ...answer, ...listed(answer.body) })
  context.note(done)
}

const waitFor = async (
  context: CommandContext,
  [order = "", line]: ReadonlyArray<string | undefined>,
  flags: Flags
): Promise<void> => {
  const path = await opportunityPath(context, order)
  const note = textFlag(flags, "note")
  const body: JsonObject = {
    resolution: "waitlist",
    ...(line === undefined ? {} : { lines: [{ opportunity_item_id: await lineOf(context, path, line) }] }),
    ...(note === undefined ? {} : { note })
  }
  await changeWaiting(
    context,
    `${path}/shortages/resolve`,
    body,
    "Whoever waits is told when all they ask for is free; nothing is reserved by that."
  )
}

const leaveList = async (
  context: CommandContext,
  [order = "", line]: ReadonlyArray<string | undefined>
): Promise<void> => {
  const path = await opportunityPath(context, order)
  const body: JsonObject = line === undefined ? {} : { opportunity_item_ids: [await lineOf(context, path, line)] }
  await changeWaiting(context, `${path}/shortages/leave`, body, "Off the waiting list.")
}

/** Notes, for each order in a list of shortages, how many of its allocated units are out of service. */
const tellOrdersToReplace = (context: CommandContext, rows: ReadonlyArray<RowOfList<"shortages">>): void => {
  const orders = new Map(rows.map(({ opportunity }) => [opportunity.id, opportunity]))
  for (const { id, number, to_replace } of orders.values()) {
    const named = `Order ${numberText(number, id)}`
    const are = to_replace === 1 ? "allocated unit is" : "allocated units are"
    if (to_replace > 0)
      context.note(`! ${named}: ${to_replace} ${are} out of service; orders shortages ${id} names them.`)
  }
}

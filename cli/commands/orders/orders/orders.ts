/** `orders`: ordered opportunities, by id or number; the verbs of `opportunities` are added. */
import { type Command, Option } from "commander"
import { listFlag, oneOf, repeatable, textFlag, verb } from "../../../context/program.ts"
import type { CommandAction, Flags } from "../../../context/program.ts"
import { declareReprice, listOpportunities, list_flags } from "../shared/list.ts"
import { declareShow, opportunityPath, showOpportunity } from "../shared/show.ts"
import type { JsonObject } from "../../../../core/kernel/index.ts"
import { draft, isClosed, order, order as order_state } from "../../../../core/orders/opportunities/tables/index.ts"
import { quotation, type StatusName, statuses } from "../../../../core/orders/opportunities/tables/index.ts"
import { type OrderLine, type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, missingFlagError, usageError } from "../../../base/exit-codes.ts"
import { order_parts } from "../../../output/order.ts"
import { notePending, noteWarnings, printAnswer } from "../../../context/print.ts"
import { brief_includes, printBrief } from "../../../briefs/invoices.ts"
import { lineMeant } from "../shared/parts.ts"
import { present } from "../../../context/pages.ts"

export const declare = (program: Command): void => {
  const orders = program.command("orders").description("Orders by id or number, with all verbs of opportunities")
  verb(orders, "list", {
    about: "List orders; for quotes see flightcase quote list",
    ...list_flags,
    run: (context, _args, flags) => listOpportunities(context, flags, [["q[state_eq]", "2"]])
  })
  declareShow(orders, "order")
  declareReprice(orders, "order")
  declareInvoice(orders)
  declareMoves(orders)
  verb(orders, "history", {
    about: "Show an order's changes, newest first, with who made them and the previous values",
    "<order>": "order, by id or number",
    "--page <number>": "page number, from 1",
    "--per-page <number>": "entries per page, at most 100",
    "--all": "fetch all pages",
    run: async (context, [order = ""], flags) => {
      const { showHistory } = await import("./history.ts")
      await showHistory(context, await opportunityPath(context, order), flags)
    }
  })
  verb(orders, "shortages", {
    about: "Show an order's short lines with dates, and those on the waiting list",
    "<order>": "order, by id or number",
    run: async (context, [order = ""]) => (await import("../shortages.ts")).showShortages(context, order)
  })
  verb(orders, "print", {
    about: "Print a pick list, delivery note or other document of an order, also offline",
    "<order>": "order, by id or number",
    "--type <type>": (typed) =>
      new Option(typed, "type of document")
        .choices(["pick_list", "delivery_note", "return_note", "quotation", "order_confirmation"])
        .makeOptionMandatory(),
    "--format <format>": oneOf("PDF, or a single HTML page", ["pdf", "html"]),
    "-o, --output <file>": "output file; - for standard output (default: a file named after the document)",
    "--keep": "file it on the server as a document with a number",
    run: async (context, [order = ""], flags) => {
      const { printOrder } = await import("./print.ts")
      await printOrder(context, order, flags)
    }
  })
}

/** Declares the verb that creates draft invoices. */
const declareInvoice = (orders: Command): void => {
  verb(orders, "invoice", {
    about: "Draft an invoice for an order's unbilled remainder, or for a part of it",
    "<order>": "order, by id or number",
    "--type <type>": oneOf("type of invoice (default: standard)", ["standard", "deposit", "proforma"]),
    "--percent <percent>": "percentage of the whole order",
    "--amount <amount>": "amount to bill, before tax",
    "--line <line[=quantity]>": repeatable(
      "line by id, product or name (default quantity: all that is left); repeatable"
    ),
    "--no-deposits": "do not deduct issued deposits",
    "-y, --yes": "bill even if it is still a quotation",
    run: invoiceOrder
  })
}

/** Declares verbs that move an order to other dates or another status. */
const declareMoves = (orders: Command): void => {
  verb(orders, "extend", {
    about: "Extend or shorten the hire, with its lines, prices and reserved stock",
    "<order>": "order, by id or number",
    "--to <time>": "new end: a date, or a time on the store's clock",
    "--from <time>": "new start",
    "--charge-to <time>": "new charge end (default: moves with the end if they were equal)",
    "--charge-from <time>": "new charge start",
    "--lines <lines>":
      "follow (lines with the old dates; default), keep (none; default with --part), or lines by id, product or name",
    "--part <line=quantity>": repeatable(
      "part of a line to move, as a line of its own: Lamp=4, or a unit's code; repeatable"
    ),
    "--reason <text>": "reason, recorded with the order",
    "-y, --yes": "skip the confirmation",
    run: async (...given) => (await import("./extend.ts")).extendOrder(...given)
  })
  verb(orders, "return-early", {
    about: "Check in goods before the hire ends, and charge them only until their return",
    "<order>": "order, by id or number",
    "<goods...>": "line=quantity, codes of units, or lines for all of them: Lamp=4, LP-001",
    "--at <time>": "time the goods came back (default: now, or when their units were checked in)",
    "--booked-in": "bulk goods are checked in already; only shorten their charge",
    "--good": "check them at once, in good condition",
    "--damaged": (typed) => new Option(typed, "check them as damaged; they go to quarantine").conflicts("good"),
    "--note <text>": "description of the damage, with --damaged",
    run: async (...given) => (await import("./extend.ts")).returnEarly(...given)
  })
  verb(orders, "credit", {
    about: "Credit what invoices bill beyond an order's total; --plan shows the draft",
    "<order>": "order, by id or number",
    "--reason <text>": "reason, on the credit notes",
    "-y, --yes": "skip the confirmation",
    run: async (...given) => (await import("./extend.ts")).creditOrder(...given)
  })
  verb(orders, "change-status", {
    about: "Change the status: active, complete, cancelled, lost, dead, postponed, order, …",
    "<order>": "order, by id or number",
    "--to <status>": "draft, quotation, order, or a status such as complete, cancelled, lost",
    "--status <status>": "same as --to; both also take the API's status number",
    "--reason <text>": "reason, recorded with the order",
    "-y, --yes": "cancel it without confirmation",
    run: changeOrderStatus
  })
  verb(orders, "cancel", {
    about: "Cancel an order and release its stock",
    "<order>": "order, by id or number",
    "--reason <text>": "reason, recorded with the order",
    "-y, --yes": "skip the confirmation",
    run: cancelOrder
  })
}

// `orders change-status` and `orders cancel`: change the status by name.

interface Step {
  readonly operation: string
  readonly body: JsonObject
}
const status_names = Object.keys(statuses) as ReadonlyArray<StatusName>
const shownWord = (name: string): string => name.replaceAll("_", "-")
const state_words = ["draft", "quotation", "order"] as const
/** Values of `--to`, for the error of others. */
const status_words = [...state_words, ...status_names.filter((word) => word !== "open").map(shownWord)]

/** Command that moves to a state, or that reopens or reinstates an opportunity that is in it. */
const toState = (word: (typeof state_words)[number], { state, status }: { state: number; status: number }): Step => {
  const reasoned = (operation: string): Step => ({ operation, body: {} })
  const is_closed = isClosed({ state, status })
  if (word === "draft") return reasoned("revert_to_draft")
  if (word === "quotation")
    return reasoned(
      state === draft ? "convert_to_quotation" : state === order_state ? "revert_to_quotation" : "reinstate"
    )
  if (state !== order_state) return reasoned("convert_to_order")
  return reasoned(is_closed && status === statuses.complete.status ? "reopen" : "reinstate")
}

/** Command that changes the current status to the target. Exit 2 if that is unknown, or of another state. */
const stepTo = (word: string, header: { readonly state: number; readonly status: number }): Step => {
  const { state } = header
  const number = /^\d+$/.test(word) ? Number(word) : undefined
  if (number !== undefined) return { operation: "change_status", body: { status: number } }
  const key = word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_")
  const state_word = state_words.find((one) => one === key)
  if (state_word !== undefined) return toState(state_word, header)
  const name = status_names.find((one) => one === key)
  if (name === undefined)
    throw usageError(`--to: ${JSON.stringify(word)} is no status.`, `One of ${status_words.join(", ")}.`)
  const wanted = statuses[name]
  if (wanted.state !== state) {
    const fitting = status_names.filter((one) => statuses[one].state === state).map(shownWord)
    const kind = state === draft ? "a draft" : state === quotation ? "a quotation" : "an order"
    throw usageError(`${shownWord(name)} is no status of ${kind}.`, `It can be ${fitting.join(", ")}.`)
  }
  // Reopening a closed opportunity is a command of its own, and gives the first status of its state.
  if (isClosed(header) && wanted.status === 0)
    return {
      operation: state === order_state && header.status === statuses.complete.status ? "reopen" : "reinstate",
      body: {}
    }
  return { operation: "change_status", body: { status: wanted.status } }
}

/** Takes the step, on a terminal only once it is confirmed if it cancels an order. */
const move = async (
  context: CommandContext,
  path: string,
  header: Row<"opportunity">,
  step: Step,
  flags: Flags
): Promise<void> => {
  const { writesOf } = await import("../../../context/writes.ts")
  await writesOf(context).agreeToCancel(header, step.body.status, flags)
  const body = present({ ...step.body, reason: textFlag(flags, "reason") })
  const answer = await context.post(`${path}/${step.operation}`, body, [["include", order_parts]])
  if (context.options.plan === true) return printAnswer(context, answer)
  await showOpportunity(context, path)
  noteWarnings(context, answer.body)
  notePending(context, answer)
}

const changeOrderStatus: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const header = rowIn(await context.read(path), "opportunity")
  const word = textFlag(flags, "to") ?? textFlag(flags, "status") ?? (await askForWord(context, header.state))
  await move(context, path, header, stepTo(word, header), flags)
}
const askForWord = async (context: CommandContext, state: number): Promise<string> => {
  if (!context.interactive) throw missingFlagError("--to", "the status")
  const { choose } = await import("../../../output/prompt.ts")
  return choose(
    "Status",
    status_names
      .filter((name) => statuses[name].state === state)
      .map((name) => ({ name: statuses[name].label, value: name }))
  )
}

/** Cancels an order; rejected for drafts and quotations. */
const cancelOrder: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const header = rowIn(await context.read(path), "opportunity")
  if (header.state !== order_state)
    throw new CliError(exit_codes.invalid, `${header.subject} is no order, so that nothing is cancelled.`, {
      way_out: "orders change-status ORDER --to lost (or dead) closes a quotation; opportunities delete drops a draft."
    })
  await move(context, path, header, stepTo("cancelled", header), flags)
  if (header.invoiced)
    context.note(
      `Its bills stay: invoices list -q opportunity_id_eq=${header.id} shows them, invoices credit takes one back.`
    )
}

// `orders invoice`: creates a draft for the unbilled rest of an order, or part of it.

const for_the_rest = "Leave it out to bill the unbilled remainder."
const invoiceOrder: CommandAction = async (context, [named = ""], flags) => {
  const lines = listFlag(flags, "line")
  const [percent, amount] = [textFlag(flags, "percent"), textFlag(flags, "amount")]
  if ([percent, amount, lines[0]].filter((one) => one !== undefined).length > 1)
    throw usageError("--percent, --amount and --line do not go together.", "Make a draft of each.")
  if (percent?.trim() === "" || amount?.trim() === "")
    throw usageError("An empty --percent or --amount bills nothing.", for_the_rest)
  const path = await opportunityPath(context, named)
  const opportunity = rowIn(await context.read(path, [["include", "items"]]), "opportunity")
  const type = textFlag(flags, "type")
  if (type === undefined || type === "standard") await requireOrder(context, opportunity, named, flags)
  const items = opportunity.items ?? []
  const asked: Array<JsonObject> = []
  for (const line of lines) asked.push(await lineAsked(context, items, line))
  const answer = await context.post(
    `${path}/invoices`,
    present({
      type,
      percent,
      amount,
      lines: asked.length === 0 ? undefined : asked,
      deduct_deposits: flags.deposits === false ? false : undefined
    }),
    context.options.json === true ? [] : brief_includes
  )
  if (context.options.plan === true || context.options.json === true) return printAnswer(context, answer)
  printBrief(context, answer)
}
/** Requires an order to bill, or --yes; otherwise asks on a terminal, and exits with 2 elsewhere. */
const requireOrder = async (
  context: CommandContext,
  { state, state_label }: Row<"opportunity">,
  named: string,
  flags: Flags
): Promise<void> => {
  if (state === order || flags.yes === true) return
  const said = `It is a ${state_label.toLowerCase()}, and no order yet.`
  const typed = named.includes("#") ? `'${named}'` : named
  const way_out =
    `flightcase quote convert ${typed} makes it one; --type deposit or proforma bills before, ` +
    "and --yes bills it as it is."
  if (!context.interactive) throw usageError(said, way_out)
  context.note(`! ${said}`)
  const { confirm } = await import("../../../output/prompt.ts")
  if (!(await confirm("Bill it all the same?"))) throw usageError("Nothing was changed.", way_out)
}
/** A line to bill: `Lamp` for its unbilled rest, `12=2` for a quantity. */
const lineAsked = async (
  context: CommandContext,
  items: ReadonlyArray<OrderLine>,
  line: string
): Promise<JsonObject> => {
  const [, named = line, quantity] = /^(.*)=(\d+(?:\.\d+)?)$/.exec(line) ?? []
  const { id } = await lineMeant(context, items, named)
  return present({ opportunity_item_id: id, quantity })
}

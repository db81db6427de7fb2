/** `orders change-status` and `orders cancel`: change the status by name. */
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import {
  draft,
  isClosed,
  order as order_state,
  quotation,
  statuses,
  statusLabelOf,
  type StatusName
} from "../../../../core/orders/opportunities/tables/statuses.ts"
import { rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, missingFlagError, usageError } from "../../../base/exit-codes.ts"
import { order_parts } from "../../../output/order.ts"
import { notePending, printAnswer } from "../../../context/print.ts"
import { type CommandAction, textFlag } from "../../../context/program.ts"
import { opportunityPath, showOpportunity } from "../shared/show.ts"

interface Step {
  readonly operation: string
  readonly body: JsonObject
}
const status_names = Object.keys(statuses) as ReadonlyArray<StatusName>
const shownWord = (name: string): string => name.replaceAll("_", "-")
const state_words = ["draft", "quotation", "order"] as const
/** Values of `--to`, for its help. */
const status_words = [...state_words, ...status_names.filter((word) => word !== "open").map(shownWord)]

const labelOf = (status: { readonly state: number; readonly status: number }): string =>
  statusLabelOf(status)?.toLowerCase() ?? `status ${status.status}`

/** Command that changes the state: from order to quotation or back. */
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

/** Command that changes the current status to the target. Exit 2 if the target belongs to another state. */
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

const move = async (context: CommandContext, path: string, step: Step, reason: string | undefined): Promise<void> => {
  const body = reason === undefined ? step.body : { ...step.body, reason }
  const answer = await context.ask({
    method: "POST",
    path: `${path}/${step.operation}`,
    query: [["include", order_parts]],
    body
  })
  if (context.options.plan === true) return printAnswer(context, answer)
  await showOpportunity(context, path)
  notePending(context, answer)
}

export const changeOrderStatus: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const header = rowIn(await context.read(path), "opportunity")
  const word = textFlag(flags, "to") ?? textFlag(flags, "status") ?? (await askForWord(context, header.state))
  await move(context, path, stepTo(word, header), textFlag(flags, "reason"))
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

/** Cancels an order, or sets a quotation to lost or dead. */
export const cancelOrder: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const header = rowIn(await context.read(path), "opportunity")
  if (header.state !== order_state)
    throw new CliError(exit_codes.invalid, `${header.subject} is no order, so that nothing is cancelled.`, {
      way_out: "orders change-status ORDER --to lost (or dead) closes a quotation; opportunities delete drops a draft."
    })
  if (context.interactive && flags.yes !== true && context.options.plan !== true) {
    const { confirm } = await import("../../../output/prompt.ts")
    const question = `Cancel ${header.number ?? header.id} ${header.subject} (${labelOf(header)})?`
    if (!(await confirm(question))) throw usageError("Nothing was changed.")
  }
  await move(context, path, stepTo("cancelled", header), textFlag(flags, "reason"))
}

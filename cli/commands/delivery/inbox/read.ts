/** `inbox read`, `unread` and `show`; marks are kept on the server, so all of them ask it. */
import { rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { printRecord } from "../../../context/print.ts"
import type { CommandAction } from "../../../context/program.ts"
import { keep, merged, readKept } from "./list.ts"

const notifications_path = "/api/v1/notifications"
const idOf = (given: string): number => {
  const id = Number(given)
  if (!Number.isInteger(id) || id < 1) throw usageError(`${JSON.stringify(given)} is no number of the inbox.`)
  return id
}
const needsServer = (context: CommandContext): void => {
  if (context.offline)
    throw new CliError(exit_codes.network, "Marks are kept on the server, and --offline forbids to ask it.", {
      way_out: "Leave out --offline when there is a network."
    })
}
const asked = async (context: CommandContext, method: string, at: string) => {
  const answer = await context.requestAtServer({ method, path: at, ...(method === "POST" ? { body: {} } : {}) })
  const [, id] = /\/(\d+)(\/|$)/.exec(at) ?? []
  if (answer.status === 404 && id !== undefined)
    throw new CliError(exit_codes.not_found, `There is no ${id} in your inbox.`, {
      way_out: "flightcase inbox --all lists what there is."
    })
  if (answer.status >= 400) throw (await import("../../../base/response-errors.ts")).responseError(answer)
  return answer
}

export const markRead: CommandAction = async (context, given, flags) => {
  const all = flags.all === true
  if (all === given.length > 0) throw usageError("Say which: their numbers, or --all.")
  const ids = [...new Set(given.map(idOf))]
  needsServer(context)
  const folder = context.folder()
  if (all) {
    const { body } = await asked(context, "POST", `${notifications_path}/read_all`)
    const at = new Date().toISOString()
    const kept = readKept(folder)
    if (kept !== undefined)
      keep(folder, {
        ...kept,
        notifications: kept.notifications.map((row) => (row.read_at === null ? { ...row, read_at: at } : row))
      })
    if (context.options.json === true) return context.printJson(body ?? null)
    return context.note("Everything is marked as read.")
  }
  await markEach(context, ids, "read")
}

export const markUnread: CommandAction = async (context, given) => {
  const ids = [...new Set(given.map(idOf))]
  needsServer(context)
  await markEach(context, ids, "unread")
}

const markEach = async (
  context: CommandContext,
  ids: ReadonlyArray<number>,
  mark: "read" | "unread"
): Promise<void> => {
  const folder = context.folder()
  const rows = []
  for (const id of ids) {
    const row = rowIn((await asked(context, "POST", `${notifications_path}/${id}/${mark}`)).body, "notification")
    rows.push(row)
    const kept = readKept(folder)
    if (kept !== undefined) keep(folder, { ...kept, notifications: merged([row], kept.notifications) })
  }
  if (context.options.json === true) return context.printJson({ notifications: rows })
  context.note(ids.length === 1 ? `Marked as ${mark}.` : `Marked ${ids.length} as ${mark}.`)
}

export const showOne = async (context: CommandContext, given: string): Promise<void> => {
  const id = idOf(given)
  needsServer(context)
  const row = rowIn((await asked(context, "GET", `${notifications_path}/${id}`)).body, "notification")
  if (context.options.json === true) return context.printJson({ notification: row })
  printRecord(context, row)
}

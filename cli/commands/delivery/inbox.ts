/** `inbox`: the user's notifications, listed, marked as read, and shown as they arrive. */
import type { Command } from "commander"
import { type CommandAction, type Flags, textFlag, verb } from "../../context/program.ts"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import type { JsonObject } from "../../../core/kernel/index.ts"
import { anyRow, decoderOf, objectBody, plainJson, rowIn, rowsIn, totalOf } from "../../base/answers.ts"
import { notificationType, notificationTypes } from "../../../core/office/notifications/types.ts"
import type { CommandContext } from "../../context/context.ts"
import { queryOf } from "../../context/pages.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { type Column, column, columnsNamed } from "../../output/table.ts"
import { printRecord, printTable } from "../../context/print.ts"
import { isTold, tellNotification } from "../offline/sync/notifications.ts"
import { stopOnSignals } from "../../base/stop-signals.ts"

export const declare = (program: Command): void => {
  const inbox = verb(program, "inbox", {
    about: "Your unread notifications; offline, as last listed",
    "--all": "include read notifications",
    "--type <type>": "only this type, such as invoice.overdue",
    "--limit <n>": "notifications to show, newest first (default: 20)",
    "--watch": "print notifications as they arrive, until stopped",
    run: showInbox
  })
  // `inbox read` has its own --all.
  inbox.enablePositionalOptions()
  verb(inbox, "read", {
    about: "Mark notifications as read",
    "[ids...]": "ids from the list",
    "--all": "all notifications",
    run: markRead
  })
  verb(inbox, "unread", { about: "Mark notifications as unread", "<ids...>": "ids from the list", run: markUnread })
  verb(inbox, "show", { about: "Show a notification in full", "<id>": "id from the list", run: showOne })
}

/** Units for `ageText` in milliseconds, largest first. */
const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000]
] as const

/** Age of an instant: `3d`, `5h`, `12m`; "now" within the last minute, and for future times, as clocks may differ. */
export const ageText = (instant: string, now: number): string => {
  const millis = now - Date.parse(instant)
  const unit = units.find(([, length]) => millis >= length)
  return unit === undefined ? "now" : `${Math.floor(millis / unit[1])}${unit[0]}`
}
/** Age of an instant within a sentence: `5h ago`. */
const agoText = (instant: string, now: number): string => {
  const age = ageText(instant, now)
  return age === "now" ? "just now" : `${age} ago`
}

// Copy of the last list from the server, in the profile's folder, for `inbox` without a network.

interface KeptInbox {
  /** Time the list was received, by this machine's clock. */
  readonly at: string
  /** Notifications, read or not, newest first. */
  readonly notifications: ReadonlyArray<JsonObject>
}
const decode = decoderOf<KeptInbox>(() => Schema.Struct({ at: Schema.String, notifications: Schema.Array(anyRow) }))
const pathIn = (folder: string): string => join(folder, "inbox.json")

/** The kept list; undefined if there is none, or its file is unreadable. */
const readKept = (folder: string): KeptInbox | undefined => {
  try {
    return decode(JSON.parse(readFileSync(pathIn(folder), "utf8")))
  } catch {
    return undefined
  }
}
/** Keeps the list; does nothing without a profile. Losing the file does no harm. */
const keep = (folder: string, kept: KeptInbox): void => {
  if (!existsSync(folder)) return
  try {
    const beside = `${pathIn(folder)}.${process.pid}`
    writeFileSync(beside, JSON.stringify(kept), { mode: 0o600 })
    renameSync(beside, pathIn(folder))
  } catch {
    /** Ignores a full disk or a read-only folder. */
  }
}

const limit_usual = 20
const limit_max = 100

interface Wanted {
  readonly all: boolean
  readonly type: string | undefined
  readonly limit: number
}
const wantedBy = (flags: Flags): Wanted => {
  const given = textFlag(flags, "limit")
  const limit = given === undefined ? limit_usual : Number(given)
  if (!Number.isInteger(limit) || limit < 1 || limit > limit_max)
    throw usageError(`--limit takes a whole number from 1 to ${limit_max}.`)
  return { all: flags.all === true, type: typeOf(flags), limit }
}
const typeOf = (flags: Flags): string | undefined => {
  const type = textFlag(flags, "type")
  if (type !== undefined && notificationType(type) === undefined)
    throw usageError(
      `There is no type ${JSON.stringify(type)}.`,
      `It is one of ${notificationTypes.map(({ key }) => key).join(", ")}.`
    )
  return type
}

const showInbox: CommandAction = async (context, _args, flags) => {
  if (flags.watch === true) return watchInbox(context, typeOf(flags))
  const wanted = wantedBy(flags)
  const answered = await answerOf(context, wanted)
  if (answered === undefined) return showKept(context, wanted)
  const { body, kept_at } = answered
  const rows = rowsIn(body, "notifications")
  const before = readKept(context.folder())?.notifications ?? []
  // Unread rows that are missing from a complete list were read elsewhere, or are no longer visible.
  const is_complete = !wanted.all && wanted.type === undefined && rows.length < wanted.limit
  const still = is_complete ? before.filter(({ read_at }) => read_at !== null) : before
  keep(context.folder(), { at: kept_at, notifications: merged(rows, still) })
  if (context.options.json === true) return context.printJson(body)
  print(context, rows, wanted, Date.now())
  const total = totalOf(body)
  if (total > rows.length && rows.length > 0)
    context.note(
      `The newest ${rows.length} of ${total}${wanted.all ? "" : " unread"}; ` +
        (wanted.limit < limit_max ? "--limit shows more." : "flightcase notifications list --page goes on.")
    )
}

/** Maximum kept rows: those of all lists so far in their latest version, newest first. */
const kept_max = 200
const merged = (
  fresh: ReadonlyArray<JsonObject>,
  before: ReadonlyArray<JsonObject> = []
): ReadonlyArray<JsonObject> => {
  const by_id = new Map([...before, ...fresh].map((row) => [Number(row.id), row]))
  return [...by_id.entries()]
    .sort(([a], [b]) => b - a)
    .slice(0, kept_max)
    .map(([, row]) => row)
}

/** The server's list; undefined if it cannot be reached and a kept list exists. */
const answerOf = async (context: CommandContext, { all, limit, type }: Wanted) => {
  const query = queryOf({ per_page: limit, "q[read_at_null]": all ? undefined : 1, "q[notification_type_eq]": type })
  if (context.offline) {
    if (readKept(context.folder()) !== undefined) return undefined
    throw nothingKept()
  }
  try {
    const answer = await context.askServer({ method: "GET", path: "/api/v1/notifications", query })
    return { body: objectBody(answer.body), kept_at: new Date().toISOString() }
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== exit_codes.network) throw error
    if (readKept(context.folder()) === undefined) throw error
    return undefined
  }
}
const nothingKept = (): CliError =>
  new CliError(exit_codes.network, "The inbox is on the server, and it was not listed here yet.", {
    way_out: "Leave out --offline when there is a network."
  })

/** Prints the kept list; its notifications may have been read elsewhere since. */
const showKept = (context: CommandContext, wanted: Wanted): void => {
  const kept = readKept(context.folder())
  if (kept === undefined) throw nothingKept()
  const rows = kept.notifications
    .filter(
      ({ notification_type, read_at }) =>
        (wanted.all || read_at === null) && (wanted.type === undefined || notification_type === wanted.type)
    )
    .slice(0, wanted.limit)
  const now = Date.now()
  if (context.options.json === true)
    return context.printJson({
      notifications: plainJson(rows),
      meta: { total: rows.length, per_page: rows.length, page: 1, as_of: kept.at }
    })
  print(context, rows, wanted, now)
  context.note(`Without the server: as it was listed ${agoText(kept.at, now)}.`)
}

const columnsAt = (now: number): ReadonlyArray<Column> => [
  column("id"),
  { title: "AGE", of: ({ created_at }) => ageText(String(created_at), now), right: true },
  { title: "", of: ({ read_at }) => (read_at === null ? "new" : "") },
  ...columnsNamed("title=WHAT, body=MORE")
]
const plain_columns = columnsNamed("id, created_at, read_at, notification_type, title, body")

const print = (context: CommandContext, rows: ReadonlyArray<JsonObject>, { all }: Wanted, now: number): void => {
  if (rows.length === 0) return context.note(all ? "Nothing is in the inbox." : "Nothing is unread.")
  printTable(context, context.terminal.is_tty ? columnsAt(now) : plain_columns, rows)
}

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
  if (answer.status >= 400) throw (await import("../../base/response-errors.ts")).responseError(answer)
  return answer
}

const markRead: CommandAction = async (context, given, flags) => {
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

const markUnread: CommandAction = async (context, given) => {
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

const showOne: CommandAction = async (context, [given = ""]) => {
  const id = idOf(given)
  needsServer(context)
  const row = rowIn((await asked(context, "GET", `${notifications_path}/${id}`)).body, "notification")
  if (context.options.json === true) return context.printJson({ notification: row })
  printRecord(context, row)
}

const watchInbox = async (context: CommandContext, type: string | undefined): Promise<number> => {
  const { token, url } = await context.server()
  const { followNotifications } = await import("../../../sync/notification-stream.ts")
  const { code, stop } = stopOnSignals()
  const ended = await followNotifications({
    url,
    token,
    stop: stop.signal,
    told: (notification) => {
      const is_wanted = type === undefined || notification.shown.notification_type === type
      if (is_wanted && isTold(notification)) tellNotification(context, notification)
    }
  })
  if (ended.why === "stopped") return code()
  if (ended.why === "unknown")
    throw new CliError(exit_codes.not_found, "This server does not tell what happens as it comes.", {
      way_out: "Update it; flightcase inbox lists what it told."
    })
  throw new CliError(
    exit_codes.not_allowed,
    ended.message === "" ? "The server refuses it to this token." : ended.message
  )
}

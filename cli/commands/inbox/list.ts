/** `inbox`: the list, from the server or as it was listed last; with --watch what comes. */
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { Query } from "../../../core/kernel/query.ts"
import { objectBody, plainJson, rowsIn } from "../../answers.ts"
import { notificationType, notificationTypes } from "../../../core/notifications/types.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes, usageError } from "../../exit-codes.ts"
import { type Column, column, tableText } from "../../output/table.ts"
import { type Flags, textFlag } from "../../program.ts"
import { ageText, agoText } from "./age.ts"
import { keep, readKept } from "./kept.ts"

const limit_usual = 20
const limit_max = 100

export interface Wanted {
  readonly all: boolean
  readonly type: string | undefined
  readonly limit: number
}
const wantedBy = (flags: Flags): Wanted => {
  const given = textFlag(flags, "limit")
  const limit = given === undefined ? limit_usual : Number(given)
  if (!Number.isInteger(limit) || limit < 1 || limit > limit_max)
    throw usageError(`--limit takes a whole number from 1 to ${limit_max}.`)
  return { all: flags["all"] === true, type: typeOf(flags), limit }
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

export const showInbox = async (context: CommandContext, flags: Flags): Promise<number | void> => {
  if (flags["watch"] === true) return (await import("./watch.ts")).watchInbox(context, typeOf(flags))
  const wanted = wantedBy(flags)
  const answered = await answerOf(context, wanted)
  if (answered === undefined) return showKept(context, wanted)
  const { body, kept_at } = answered
  const rows = rowsIn(body, "notifications")
  const before = readKept(context.folder())?.notifications ?? []
  // What was unread and is not among all that is has been read elsewhere, or is not to be seen any more.
  const is_complete = !wanted.all && wanted.type === undefined && rows.length < wanted.limit
  const still = is_complete ? before.filter(({ read_at }) => read_at !== null) : before
  keep(context.folder(), { at: kept_at, notifications: merged(rows, still) })
  if (context.options.json === true) return context.printJson(body)
  print(context, rows, wanted, Date.now())
  const total = Number(objectBody(body["meta"])["total"] ?? 0)
  if (total > rows.length && rows.length > 0)
    context.note(
      `The newest ${rows.length} of ${total}${wanted.all ? "" : " unread"}; ` +
        (wanted.limit < limit_max ? "--limit shows more." : "flightcase notifications list --page goes on.")
    )
}

/** The rows kept are those of all lists, the newest first, and as each was listed last. */
const kept_max = 200
export const merged = (
  fresh: ReadonlyArray<JsonObject>,
  before: ReadonlyArray<JsonObject> = []
): ReadonlyArray<JsonObject> => {
  const by_id = new Map([...before, ...fresh].map((row) => [Number(row["id"]), row]))
  return [...by_id.entries()]
    .sort(([a], [b]) => b - a)
    .slice(0, kept_max)
    .map(([, row]) => row)
}

/** Undefined where the server cannot be asked, and there is a list to show instead. */
const answerOf = async (context: CommandContext, { all, limit, type }: Wanted) => {
  const query: Query = [
    ["per_page", String(limit)],
    ...(all ? [] : [["q[read_at_null]", "1"] as const]),
    ...(type === undefined ? [] : [["q[notification_type_eq]", type] as const])
  ]
  if (context.offline) {
    if (readKept(context.folder()) !== undefined) return undefined
    throw nothingKept()
  }
  try {
    const answer = await context.requestAtServer({ method: "GET", path: "/api/v1/notifications", query })
    if (answer.status >= 400) throw (await import("../../response-errors.ts")).responseError(answer)
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

/** As it was listed last: somebody may have read it elsewhere since. */
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
  column("title", "WHAT"),
  column("body", "MORE")
]
const plain_columns = ["id", "created_at", "read_at", "notification_type", "title", "body"].map((key) => column(key))

const print = (context: CommandContext, rows: ReadonlyArray<JsonObject>, { all }: Wanted, now: number): void => {
  if (rows.length === 0) return context.note(all ? "Nothing is in the inbox." : "Nothing is unread.")
  context.print(tableText(context.terminal.is_tty ? columnsAt(now) : plain_columns, rows, context.terminal))
}

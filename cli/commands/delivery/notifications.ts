/**
 * `notifications`: types of notifications and their channels, as tables with a row per type and a column per channel.
 * The verbs derived from the API's endpoints are added.
 */
import { Argument, type Command } from "commander"
import { notificationTypes } from "../../../core/office/notifications/types.ts"
import { withValues } from "../../output/program.ts"
import { type CommandAction, type Flags, textFlag, verb } from "../../context/program.ts"
import { isJsonObject, type JsonObject } from "../../../core/kernel/index.ts"
import { rowsIn } from "../../base/answers.ts"
import { usageError } from "../../base/exit-codes.ts"
import { notePending, printAnswer } from "../../context/print.ts"
import type { CommandContext } from "../../context/context.ts"
import { type Column, column, tableText } from "../../output/table.ts"
import { resolveId } from "../../context/resolve-id.ts"

const channels = [
  ["database", "in the inbox"],
  ["email", "by e-mail"],
  ["broadcast", "at once, where sync --watch or inbox --watch runs"]
] as const

export const declare = (program: Command): void => {
  const notifications = program.command("notifications").description("Notification types and their channels")
  verb(notifications, "preferences", {
    about: "Show your notification preferences by type and channel",
    "--member <member>": "another member, by id or name",
    run: showPreferences
  })
  verb(notifications, "settings", {
    about: "Show the company's notification defaults",
    run: async (context) => showSettings(context)
  })
  verb(notifications, "set", {
    about: "Change your notification preferences; other types and channels stay",
    "<types...>": (typed) =>
      withValues(
        new Argument(
          typed,
          "notification types, such as invoice.overdue; flightcase notifications preferences lists them"
        ),
        { words: notificationTypes.map(({ key }) => key) }
      ),
    ...Object.fromEntries(
      channels.flatMap(([channel, words]) => [
        [`--${channel}`, `notify ${words}`],
        [`--no-${channel}`, `do not notify ${words}`]
      ])
    ),
    "--muted": "mute the types, but keep their channels",
    "--no-muted": "unmute the types",
    "--default": "reset channels to the company's defaults, with --house to the type's",
    "--member <member>": "change another member's preferences, by id or name",
    "--house": "change the company's defaults",
    "--enabled": "with --house: enable the types",
    "--no-enabled": "with --house: disable the types for everyone",
    run: setNotifications
  })
}

const setNotifications: CommandAction = async (context, types, flags) => {
  const is_house = flags.house === true
  const change = changeOf(flags, is_house)
  const member = textFlag(flags, "member")
  if (is_house && member !== undefined)
    throw usageError("--house is for everybody, --member for one: give one of them.")
  const list: List = is_house ? "notification_settings" : "notification_preferences"
  const entries = [...new Set(types)].map((notification_type) => ({ notification_type, ...change }))
  const path = is_house ? settings_path : await preferencesPath(context, member)
  const named = (rows: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
    rows.filter((row) => types.includes(String(row.notification_type)))
  const before = named(rowsIn(await context.read(path), list))
  const answer = await context.ask({
    method: "PUT",
    path,
    body: is_house ? { settings: entries } : { preferences: entries }
  })
  if (context.options.plan === true || context.options.json === true) return printAnswer(context, answer)
  const changed = named(rowsIn(answer.body, list))
  context.print(listText(context, list, changed))
  if (JSON.stringify(changed) === JSON.stringify(before)) context.note("Nothing changes: it was so already.")
  notePending(context, answer)
}

/** Changes for the named types. Exit 2 if there are none, or if flags contradict each other or the list. */
const changeOf = (flags: Flags, is_house: boolean): JsonObject => {
  const given = channels.flatMap(([one]) => (typeof flags[one] === "boolean" ? [[one, flags[one]] as const] : []))
  const { enabled, muted } = flags
  if (!is_house && enabled !== undefined)
    throw usageError("--enabled is for the house: add --house.", "For yourself it is --muted or --no-muted.")
  if (is_house && muted !== undefined)
    throw usageError("--muted is a person's own; the house has --enabled and --no-enabled.")
  const is_default = flags.default === true
  if (is_default && given.length > 0) throw usageError("--default drops the choice of channels, and others make one.")
  const [flag, key, forms] = is_house
    ? [enabled, "is_enabled", "--enabled, --no-enabled"]
    : [muted, "is_muted", "--muted, --no-muted"]
  if (given.length === 0 && !is_default && typeof flag !== "boolean")
    throw usageError("Say what is to change.", `Give ${forms}, --default or --email, --no-email …`)
  return {
    ...(is_default ? { channels: null } : given.length === 0 ? {} : { channels: Object.fromEntries(given) }),
    ...(typeof flag === "boolean" ? { [key]: flag } : {})
  }
}

const settings_path = "/api/v1/notification_settings"
/** Path of the user's own preferences, or of the named member's. */
const preferencesPath = async (context: CommandContext, member: string | undefined): Promise<string> =>
  member === undefined
    ? "/api/v1/notification_preferences"
    : `/api/v1/members/${await resolveId(context, "members", member)}/notification_preferences`

const channel = (name: string): Column => ({
  title: name.toUpperCase(),
  of: ({ channels }) => {
    const is_on = isJsonObject(channels) ? channels[name] : undefined
    return is_on === undefined ? "-" : is_on === true ? "on" : "off"
  }
})
const channel_columns = channels.map(([name]) => channel(name))
const type = column("notification_type", "TYPE")
const name = column("name", "TOLD OF")
const flag = (title: string, key: string, words: readonly [yes: string, no: string]): Column => ({
  title,
  of: (row) => (row.is_system === true ? "always sent" : row[key] === true ? words[0] : words[1])
})
/** Minimum width of a terminal for names of types; narrower ones only get the keys, which users copy. */
const columns_with_names = 98
const tables = {
  notification_preferences: [
    type,
    name,
    ...channel_columns,
    flag("MUTED", "is_muted", ["muted", ""]),
    column("source", "BY")
  ],
  notification_settings: [type, name, ...channel_columns, flag("ENABLED", "is_enabled", ["on", "off"])]
}
type List = keyof typeof tables

const listText = (context: CommandContext, list: List, rows: ReadonlyArray<JsonObject>): string => {
  const { terminal } = context
  const is_narrow = terminal.is_tty && terminal.columns < columns_with_names
  return tableText(
    tables[list].filter((one) => !is_narrow || one !== name),
    rows,
    terminal
  )
}

const show = async (context: CommandContext, path: string, list: List): Promise<void> => {
  const body = await context.read(path)
  if (context.options.json === true) context.printJson(body)
  else context.print(listText(context, list, rowsIn(body, list)))
}
const showPreferences: CommandAction = async (context, _args, flags) =>
  show(context, await preferencesPath(context, textFlag(flags, "member")), "notification_preferences")
const showSettings = (context: CommandContext): Promise<void> => show(context, settings_path, "notification_settings")

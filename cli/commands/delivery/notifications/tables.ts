/** Prints preferences and settings as tables, with a row per type and a column per channel. */
import { isJsonObject, type JsonObject } from "../../../../core/kernel/fields/field.ts"
import { rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { type Column, column, tableText } from "../../../output/table.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { resolveId } from "../../../context/resolve-id.ts"

export const settings_path = "/api/v1/notification_settings"
/** Path of the user's own preferences, or of the named member's. */
export const preferencesPath = async (context: CommandContext, member: string | undefined): Promise<string> =>
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
const channels = [channel("database"), channel("email"), channel("broadcast")]
const type = column("notification_type", "TYPE")
const name = column("name", "TOLD OF")
const flag = (title: string, key: string, words: readonly [yes: string, no: string]): Column => ({
  title,
  of: (row) => (row.is_system === true ? "always sent" : row[key] === true ? words[0] : words[1])
})
/** Minimum width of a terminal for names of types; narrower ones only get the keys, which users copy. */
const columns_with_names = 98
const tables = {
  notification_preferences: [type, name, ...channels, flag("MUTED", "is_muted", ["muted", ""]), column("source", "BY")],
  notification_settings: [type, name, ...channels, flag("ENABLED", "is_enabled", ["on", "off"])]
}
export type List = keyof typeof tables

export const listText = (context: CommandContext, list: List, rows: ReadonlyArray<JsonObject>): string => {
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
export const showPreferences = async (context: CommandContext, flags: Flags): Promise<void> =>
  show(context, await preferencesPath(context, textFlag(flags, "member")), "notification_preferences")
export const showSettings = (context: CommandContext): Promise<void> =>
  show(context, settings_path, "notification_settings")

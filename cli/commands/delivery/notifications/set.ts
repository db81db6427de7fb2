/** `notifications set`: several types at once, for oneself, for a member or for the company. */
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { rowsIn } from "../../../base/answers.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { notePending, printAnswer } from "../../../context/print.ts"
import { type CommandAction, type Flags, textFlag } from "../../../context/program.ts"
import { type List, listText, preferencesPath, settings_path } from "./tables.ts"

const channels = ["database", "email", "broadcast"] as const

export const setNotifications: CommandAction = async (context, types, flags) => {
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

/** Changes for the named types. Exit 2 if there are none, or if flags are of the other list. */
const changeOf = (flags: Flags, is_house: boolean): JsonObject => {
  const given = channels.flatMap((one) => (typeof flags[one] === "boolean" ? [[one, flags[one]] as const] : []))
  const { enabled, muted } = flags
  if (!is_house && enabled !== undefined)
    throw usageError("--enabled is for the house: add --house.", "For yourself it is --muted or --no-muted.")
  if (is_house && muted !== undefined)
    throw usageError("--muted is a person's own; the house has --enabled and --no-enabled.")
  const is_default = flags.default === true
  if (is_default && given.length > 0) throw usageError("--default drops the choice of channels, and others make one.")
  const flag = is_house ? enabled : muted
  if (given.length === 0 && !is_default && typeof flag !== "boolean")
    throw usageError(
      "Say what is to change.",
      `Give ${is_house ? "--enabled, --no-enabled" : "--muted, --no-muted"}, --default or --email, --no-email …`
    )
  return {
    ...(is_default ? { channels: null } : given.length === 0 ? {} : { channels: Object.fromEntries(given) }),
    ...(typeof flag === "boolean" ? { [is_house ? "is_enabled" : "is_muted"]: flag } : {})
  }
}

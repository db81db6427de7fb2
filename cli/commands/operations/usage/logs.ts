/** `usage logs`: single calls as the server answered them. */
import type { Query } from "../../../../core/kernel/lists/query.ts"
import type { CommandContext } from "../../../context/context.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { printAnswer } from "../../../context/print.ts"
import { wholeList } from "../../../context/pages.ts"
import { typedMoment } from "../../../base/parse-time.ts"
import { type Flags, listFlag, textFlag } from "../../../context/program.ts"
import { listQuery, queryPart } from "../../../context/query.ts"
import { askServer, atServer, tokenId } from "./asked.ts"

const logs_path = "/api/v1/request_logs"
/** The last second of a day ends with it. */
const last_millis = 999

export const showLogs = async (context: CommandContext, flags: Flags): Promise<void> => {
  atServer(context)
  const { refuseUnknownParts } = await import("../../../base/ignored.ts")
  await refuseUnknownParts(listFlag(flags, "q").map(queryPart), "request_logs", [])
  const filters: ReadonlyArray<readonly [filter: string, value: string | undefined]> = [
    ["route_name_eq", textFlag(flags, "route")],
    ["status_code_eq", statusOf(flags)],
    ["channel_eq", textFlag(flags, "channel")],
    ["personal_access_token_id_eq", await tokenId(context, textFlag(flags, "token"))],
    ["created_at_gteq", timeOf(flags, "from")],
    ["created_at_lteq", timeOf(flags, "to")]
  ]
  const query: Query = [
    ...filters.flatMap(([filter, value]): Query => (value === undefined ? [] : [[`q[${filter}]`, value]])),
    ...listQuery(flags)
  ]
  const body =
    flags.all === true ? await wholeList(context, logs_path, query) : await askServer(context, logs_path, query)
  await printAnswer(context, { status: 200, body: body ?? null })
}
const statusOf = (flags: Flags): string | undefined => {
  const text = textFlag(flags, "status")
  if (text !== undefined && !/^[1-5]\d\d$/.test(text))
    throw usageError(`--status takes one status code, such as 422, not ${JSON.stringify(text)}.`)
  return text
}
/** An instant; a day as an end is all of that day. */
const timeOf = (flags: Flags, name: "from" | "to"): string | undefined => {
  const text = textFlag(flags, name)
  if (text === undefined) return undefined
  const { at, day } = typedMoment(text, "UTC", `--${name}`)
  return new Date(Date.parse(at) + (name === "to" && day !== undefined ? last_millis : 0)).toISOString()
}

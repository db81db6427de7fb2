/** Requests of the `usage` commands: window and token as a query, always to the server. */
import type { Json } from "../../../../core/kernel/fields/field.ts"
import type { Query } from "../../../../core/kernel/lists/query.ts"
import { rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { parseDay } from "../../../base/parse-time.ts"
import { type Flags, textFlag } from "../../../context/program.ts"

/** Body of the server's response. Exit 7 offline, as devices hold no usage. */
export const askServer = async (context: CommandContext, path: string, query: Query): Promise<Json | undefined> => {
  atServer(context)
  const answer = await context.requestAtServer({ method: "GET", path, query })
  // In other commands --token is the caller's token.
  if (answer.status === 401)
    throw new CliError(exit_codes.not_allowed, "The server does not know who asks.", {
      way_out: "Log in again, or set FLIGHTCASE_TOKEN: --token of usage says whose calls are shown."
    })
  if (answer.status >= 400) throw (await import("../../../base/response-errors.ts")).responseError(answer)
  return answer.body
}
export const atServer = ({ offline }: CommandContext): void => {
  if (offline)
    throw new CliError(
      exit_codes.network,
      "What was asked is counted on the server, and --offline forbids to ask it.",
      { way_out: "Leave out --offline when there is a network." }
    )
}

/** Query from the flags; a window with days is "custom" and by default ends on the current day. */
export const usageQuery = async (context: CommandContext, flags: Flags): Promise<Query> => {
  atServer(context)
  const [from, to] = [dayOf(flags, "from"), dayOf(flags, "to")]
  const window = textFlag(flags, "window") ?? (from === undefined && to === undefined ? undefined : "custom")
  if (window !== undefined && window !== "custom" && (from ?? to) !== undefined)
    throw usageError(`--from and --to make a window of their own, and --window ${window} is another.`)
  if (window === "custom" && from === undefined) throw usageError("A custom window begins with a day: give --from.")
  const given: ReadonlyArray<readonly [name: string, value: string | undefined]> = [
    ["window", window],
    ["from", from],
    ["to", window === "custom" ? (to ?? new Date().toISOString().slice(0, 10)) : undefined],
    ["channel", textFlag(flags, "channel")],
    ["dimension", textFlag(flags, "by")],
    ["token_id", await tokenId(context, textFlag(flags, "token"))]
  ]
  return given.flatMap(([name, value]): Query => (value === undefined ? [] : [[name, value]]))
}
const dayOf = (flags: Flags, name: "from" | "to"): string | undefined => {
  const text = textFlag(flags, name)
  return text === undefined ? undefined : parseDay(text, `--${name}`)
}

/** Id of a token given by id or name; undefined if none is given. */
export const tokenId = async (context: CommandContext, text: string | undefined): Promise<string | undefined> => {
  if (text === undefined || /^\d+$/.test(text)) return text
  const found: Array<string> = []
  for (let page = 1, more = true; more; page++) {
    const body = await askServer(context, "/api/v1/tokens", [
      ["per_page", "100"],
      ["page", String(page)]
    ])
    const rows = rowsIn(body, "tokens")
    found.push(...rows.filter(({ name }) => name === text).map(({ id }) => String(id)))
    more = rows.length === 100
  }
  const [id] = found
  if (found.length === 1) return id
  throw found.length === 0
    ? new CliError(exit_codes.not_found, `There is no token named ${JSON.stringify(text)}.`, {
        way_out: "flightcase tokens list shows them."
      })
    : usageError(`${JSON.stringify(text)} is the name of several tokens: ids ${found.join(", ")}.`, "Give the id.")
}

/** The error for a refused request; where goods are short, with the commands that lead out of it. */
import type { AskFacts, WayOut } from "../core/conflicts/ways.ts"
import { isJsonObject } from "../core/kernel/json.ts"
import { numberText } from "../core/values/short-text.ts"
import type { Request } from "../core/kernel/endpoint.ts"
import type { QueryResult } from "../sync/device/device.ts"
import { rowIn } from "./answers.ts"
import { CliError } from "./exit-codes.ts"
import type { Terminal } from "./output/terminal.ts"
import { toType } from "./output/text.ts"
import { responseError } from "./response-errors.ts"

type Asking = Pick<Request, "method" | "path"> & Partial<Pick<Request, "body" | "query">>
interface Asked {
  readonly request: (asking: Asking) => Promise<QueryResult>
  readonly terminal: Terminal
}

export const refusalOf = async (context: Asked, asked: Asking, answer: QueryResult): Promise<CliError> => {
  const error = responseError(answer)
  const [, id] = /^\/api\/v1\/opportunities\/(\d+)\//.exec(asked.path) ?? []
  if (id === undefined || error.errors?.["shortages"] === undefined || asked.method === "GET") return error
  // A refusal is told, also where nobody can say what would do instead.
  const way_out = await waysText(context, Number(id)).catch(() => undefined)
  return way_out === undefined ? error : new CliError(error.code, error.message, { errors: error.errors, way_out })
}

const waysText = async ({ request, terminal }: Asked, id: number): Promise<string | undefined> => {
  const facts: AskFacts = ({ body, method, path, query }) => request({ method, path, query, body })
  const { shortageWays } = await import("../core/conflicts/ways.ts")
  const ways = await shortageWays(facts, id)
  if (ways.length === 0) return undefined
  const { body } = await request({ method: "GET", path: `/api/v1/opportunities/${id}` })
  const order = isJsonObject(body) ? rowIn(body, "opportunity") : {}
  const number = order["number"]
  const named = typeof number === "string" ? `'#${numberText(number, id)}'` : String(id)
  const texts = ways.flatMap((way) => wayText(way, named) ?? [])
  return toType(`${texts.join("; ")}.`, terminal.zoneOf?.(order))
}
const wayText = ({ ends_at, lines = [], starts_at, way }: WayOut, order: string): string | undefined => {
  if (way === "reduce") {
    const updates = lines.map(({ opportunity_item_id, quantity }) =>
      quantity === 0
        ? `flightcase quote remove ${order} ${opportunity_item_id}`
        : `flightcase quote update ${order} ${opportunity_item_id} --quantity ${quantity}`
    )
    return `For what is free: ${updates.join(" && ")}`
  }
  if (way === "dates")
    return `when all of it is free: flightcase orders extend ${order} --from ${starts_at ?? ""} --to ${ends_at ?? ""}`
  return way === "waitlist" ? `to be told when goods come free: flightcase shortages wait ${order}` : undefined
}

/**
 * Undoing is tried out before it is promised: the commands that would follow are decided on the replica and nothing is
 * kept, so that a plan says what the rules refuse, and who changed what meanwhile.
 */
import { Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { CommandEndpoint, Failure, Request } from "../../../core/kernel/endpoint.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import { bodyOf, Rejection, statusOf } from "../../../core/kernel/rejection.ts"
import { itemAt } from "../../../core/values/lists.ts"
import type { UndoRequest } from "../../../core/undo/compensation.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import type { PlannedRequest, QueryResult, Replica } from "../replica/replica.ts"

type Ids = WireCommand["ids"] | undefined

/** A request of a compensation, once the ids are known of what those before it made. */
export const requestOf = (
  catalogue: Catalogue,
  { body = {}, name, params }: UndoRequest,
  made: ReadonlyArray<Ids>
): Request => {
  const valueOf = (value: Json | UndoRequest["params"][string]): Json => {
    if (!isJsonObject(value) || typeof value["made_by"] !== "number") return value as Json
    return made[value["made_by"]]?.[String(value["table"])]?.[0] ?? null
  }
  const { method, path } = catalogue.endpoint(name) as CommandEndpoint
  const values: JsonObject = Object.fromEntries(Object.entries(body).map(([field, one]) => [field, valueOf(one)]))
  return {
    method,
    path: path.replace(/\{(\w+)\}/g, (_, param: string) => encodeURIComponent(String(valueOf(params[param] ?? "")))),
    query: [],
    body: values
  }
}

/**
 * The command before that one is not decided without: what may be left out is left out together, and holds up nothing
 * else.
 */
export const neededBy = <C>(
  { otherwise }: UndoRequest,
  recorded: ReadonlyArray<{ readonly request: UndoRequest; readonly command: C }>
): C | undefined =>
  recorded.findLast(({ request }) => otherwise !== undefined || request.otherwise === undefined)?.command

/** Why one of several compensations, carried out in this order, is refused: the first of them, by its place. */
export interface TriedRefusal {
  readonly place: number
  readonly answer: QueryResult
}
export const firstRefusal = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  replica: Pick<Replica, "plan">,
  compensations: ReadonlyArray<ReadonlyArray<UndoRequest>>
) {
  let count = 0
  const places: Array<number> = []
  const requests = compensations.flatMap((all, place) => {
    // What may be left out does not refuse the rest.
    const needed = all.flatMap((one, at) => (one.otherwise === undefined ? [at] : []))
    const from = count
    count += needed.length
    places.push(...needed.map(() => place))
    return needed.map(
      (at): PlannedRequest =>
        (made) =>
          requestOf(
            catalogue,
            itemAt(all, at),
            all.map((_, n) => (needed.includes(n) ? made[from + needed.indexOf(n)] : undefined))
          )
    )
  })
  if (requests.length === 0) return undefined
  const answers = yield* replica
    .plan(requests)
    .pipe(
      Effect.catch((failure): Effect.Effect<ReadonlyArray<QueryResult>, Failure> =>
        failure instanceof Rejection
          ? Effect.succeed([{ status: statusOf[failure.kind], body: bodyOf(failure) }])
          : Effect.fail(failure)
      )
    )
  const at = answers.findIndex(({ status }) => status >= 400)
  const answer = answers[at]
  return answer === undefined ? undefined : ({ place: places[at] ?? 0, answer } satisfies TriedRefusal)
})

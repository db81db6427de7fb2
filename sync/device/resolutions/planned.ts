/** Describes the effect of a planned write, in the words used for conflicts. */
import { Effect } from "effect"
import { catalogue } from "../../../core/catalogue.ts"
import { wishOfCommand } from "../../../core/offline/conflicts/intent.ts"
import { isJsonObject, match, Rejection, type Failure, type Request, type Store } from "../../../core/kernel/index.ts"
import { referencesOfCommand } from "../outbox/references.ts"

/** Description of a request's effect; undefined if the endpoint does not exist. `now`: an instant. */
export const wishOfRequest = (
  request: Request,
  user_id: number,
  now: string
): Effect.Effect<string | undefined, Failure, Store> => {
  const found = match(catalogue, request.method, request.path)
  if (found instanceof Rejection) return Effect.succeed(undefined)
  const { endpoint, params } = found
  const body = isJsonObject(request.body) ? request.body : {}
  const named = referencesOfCommand(endpoint, { params, body })
  const { name, summary } = endpoint
  return wishOfCommand({ name, summary, params, body, errors: {}, named, remembered: {} }, user_id, now)
}

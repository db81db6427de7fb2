/** Describes the effect of a planned write, in the words used for conflicts. */
import { Effect } from "effect"
import { catalogue } from "../../../core/catalogue.ts"
import { wishOfCommand } from "../../../core/offline/conflicts/intent.ts"
import type { Failure, Request } from "../../../core/kernel/endpoints/endpoint.ts"
import { isJsonObject } from "../../../core/kernel/fields/field.ts"
import { Rejection } from "../../../core/kernel/fields/rejection.ts"
import { match } from "../../../core/kernel/runtime/engine.ts"
import type { Store } from "../../../core/kernel/store/store.ts"
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

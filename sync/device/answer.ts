/** Refusals of the rules as the answers that the server would give. */
import { Effect } from "effect"
import type { Failure } from "../../core/kernel/endpoints/endpoint.ts"
import { bodyOf, Rejection, statusOf } from "../../core/kernel/fields/rejection.ts"
import type { QueryResult } from "./replica/replica.ts"

/** A refusal is an answer like any other; only failures of the machine stay failures. */
export const asAnswer = <R>(effect: Effect.Effect<QueryResult, Failure, R>): Effect.Effect<QueryResult, Failure, R> =>
  Effect.catch(effect, (failure): Effect.Effect<QueryResult, Failure, R> =>
    failure instanceof Rejection ? Effect.succeed(refusalAnswer(failure)) : Effect.fail(failure)
  )
export const refusalAnswer = (failure: Rejection): QueryResult => ({
  status: statusOf[failure.kind],
  body: { ...bodyOf(failure) },
  ...(failure.headers === undefined ? {} : { headers: failure.headers })
})

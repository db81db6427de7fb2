/**
 * Whoever asks for a document and not for a job waits until it is drawn: after the transaction of the request, so that
 * nobody waits for them. The job goes on when they hang up.
 */
import { Clock, Effect, Latch, Option } from "effect"
import { generate, queuedAnswer } from "../../core/documents/lifecycle-api.ts"
import { documentFailed, documentStream } from "../../core/documents/events.ts"
import { draw_kinds, request_waits_millis } from "../../core/documents/jobs.ts"
import { documentResource } from "../../core/documents/resources.ts"
import { type DocumentRow, documents } from "../../core/documents/schema.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Answer, Failure } from "../../core/kernel/endpoint.ts"
import { journal } from "../../core/kernel/journal.ts"
import { isJsonObject } from "../../core/kernel/json.ts"
import { bodyOf, invalidField, Rejection, statusOf } from "../../core/kernel/rejection.ts"
import { renderOne, viewContext } from "../../core/kernel/resource.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { answeredLater } from "../idempotency/slice.ts"
import { serverContext } from "../server-context.ts"
import type { ServerCall, ServerEndpoint } from "../server-slice.ts"

/** Commits of other servers are told, yet not for certain. */
const look_millis = 1_000

/** The row once it is no longer pending; undefined when that takes too long. */
const onceDrawn = Effect.fnUntraced(function* (id: number) {
  const store = yield* Store
  const { onCommit } = yield* serverContext
  const committed = Latch.makeUnsafe(false)
  const stop = onCommit(() => committed.openUnsafe())
  const look = Effect.gen(function* () {
    for (;;) {
      committed.closeUnsafe()
      const row = yield* store.get(documents, id)
      if (row?.status !== "pending") return row
      yield* Effect.raceFirst(Effect.sleep(look_millis), committed.await)
    }
  })
  return yield* Effect.interruptible(Effect.timeoutOption(look, request_waits_millis)).pipe(
    Effect.ensuring(Effect.sync(stop))
  )
})

/** Why it could not be drawn: by itself, or by what may pass. */
const refusalOf = Effect.fnUntraced(function* (row: DocumentRow): Effect.fn.Return<Rejection, Failure, Store> {
  const error = row.error ?? "It could not be drawn."
  const [event] = yield* (yield* Store).find(
    journal,
    { stream: documentStream(row.id), type: documentFailed.type },
    { order: ["-position"], limit: 1 }
  )
  return event?.data["may_work_later"] === true
    ? new Rejection({ kind: "unavailable", message: error, headers: { "retry-after": "30" } })
    : invalidField("document", `It cannot be drawn: ${error}`)
})

/** The document an answer shows as pending still. */
const pendingIn = ({ body, status }: Answer): number | undefined => {
  const shown = isJsonObject(body) ? body["document"] : undefined
  return status === 201 && isJsonObject(shown) && shown["status"] === "pending" ? Number(shown["id"]) : undefined
}

const answerOnceDrawn = Effect.fnUntraced(function* (call: ServerCall, answer: Answer, id: number) {
  const drawn = yield* onceDrawn(id)
  if (Option.isNone(drawn))
    return queuedAnswer(`${draw_kinds.request}:${id}`, "The document takes longer than usual; it is still being made.")
  const row = drawn.value
  if (row === undefined) return answer
  const headers = answer.headers === undefined ? {} : { headers: answer.headers }
  if (row.status === "failed") {
    const refusal = yield* refusalOf(row)
    if (refusal.kind !== "invalid") {
      yield* answeredLater(call, undefined)
      return yield* refusal
    }
    const refused = { status: statusOf[refusal.kind], body: { ...bodyOf(refusal) }, ...headers }
    yield* answeredLater(call, refused)
    return refused
  }
  const { catalogue, settings } = yield* CommandRuntime
  const now = instantOf(yield* Clock.currentTimeMillis)
  const context = viewContext({ viewer: call.viewer, settings: yield* settings, now, composed: catalogue.composed })
  const final = { status: 201, body: yield* renderOne(documentResource, row, call.request.query, context), ...headers }
  yield* answeredLater(call, final)
  return final
})

/**
 * Around the call as a whole, what keeps answers under an Idempotency-Key included: that one is given the final answer
 * once it is known. Until then whoever repeats the request waits as well.
 */
export const waitForDocument = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> =>
  call.endpoint.name !== generate.name
    ? next
    : Effect.flatMap(next, (answer) => {
        const id = pendingIn(answer)
        return id === undefined ? Effect.succeed(answer) : answerOnceDrawn(call, answer, id)
      })

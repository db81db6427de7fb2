/**
 * `Idempotency-Key`: a POST that records something takes effect once, however often it is sent
 * (rules/conventions 9). The key is reserved in a transaction of its own; effect and stored answer are then committed
 * together. After a crash a retry therefore either replays the answer or finds that nothing had happened.
 */
import { createHash } from "node:crypto"
import { Clock, Effect, Schedule } from "effect"
import { bodyOf, canonicalJson, checkPermission, CommandRuntime, invalidField } from "../../../core/kernel/index.ts"
import { isJsonObject, later, Rejection, replayAnswer, statusOf, Store } from "../../../core/kernel/index.ts"
import type { Answer, Endpoint, Failure, Json } from "../../../core/kernel/index.ts"
import { isField, kindOf } from "../../../core/kernel/lists/answer-schema.ts"
import { subjectOf } from "../../../core/kernel/endpoints/ignored.ts"
import { secretBox } from "../../ports/secret-box.ts"
import { serverContext } from "../../ports/server-context.ts"
import type { ServerCall, ServerEndpoint, ServerSlice } from "../../ports/server-slice.ts"
import {
  changeAnswer,
  clearAnswers,
  dropExpired,
  finishKey,
  forgetAnswer,
  idempotency_keys,
  idempotency_results,
  type KeyRow,
  releaseAbandoned,
  releaseKey,
  reserveKey,
  storedAnswer
} from "./keys.ts"

/** Whether the endpoint honours an Idempotency-Key: every POST that records something. Others ignore the header. */
export const keepsAnswers = (endpoint: Endpoint): boolean => endpoint.method === "POST" && endpoint.kind === "command"

const showsSecret = (answer: Endpoint["answer"]): boolean => {
  const kind = answer === undefined ? undefined : kindOf(answer)
  return (
    subjectOf(answer)?.shows["secret"] !== undefined ||
    (kind?.kind === "keys" && Object.values(kind.keys).some((one) => isField(one) && one.secret))
  )
}
/** Encryption of stored answers of endpoints that return a secret only once; undefined for others. */
const sealing = Effect.fnUntraced(function* (endpoint: Endpoint) {
  if (!showsSecret(endpoint.answer)) return undefined
  return secretBox((yield* serverContext).key, "idempotency")
})
const sealed = Effect.fnUntraced(function* (endpoint: Endpoint, body: Json | undefined) {
  const box = yield* sealing(endpoint)
  return box === undefined || body === undefined ? body : { sealed: box.seal(JSON.stringify(body)) }
})
const opened = Effect.fnUntraced(function* (endpoint: Endpoint, body: Json | undefined) {
  const box = yield* sealing(endpoint)
  if (box === undefined || !isJsonObject(body) || typeof body["sealed"] !== "string") return body
  const text = box.open(body["sealed"])
  const shown: Json | undefined = text === undefined ? undefined : JSON.parse(text)
  return shown
})

const around = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> => {
  const given = call.headers["idempotency-key"]
  if (given === undefined || !keepsAnswers(call.endpoint)) return next
  return Effect.flatMap(Effect.result(checkPermission(call.endpoint, call.viewer)), (permitted) => {
    // The usual refusal; nothing is looked up for callers without permission.
    if (permitted._tag === "Failure") return next
    if (typeof given !== "string" || !/^[\x20-\x7e]{1,255}$/.test(given)) {
      return invalidField("idempotency_key", "The Idempotency-Key must be 1 to 255 printable ASCII characters.")
    }
    return once(call, `${call.viewer.user_id} ${given}`, next)
  })
}

const once = (call: ServerCall, id: string, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> =>
  Effect.gen(function* () {
    const fingerprint = fingerprintOf(call)
    const reserved = yield* reserveKey(id, fingerprint, yield* Clock.currentTimeMillis)
    if (!reserved.mine) return yield* replayed(call, reserved.row, fingerprint)
    const { attempt } = reserved
    const answered = Store.transaction(
      Effect.gen(function* () {
        const answer = yield* next
        const { about, content, headers = {}, status } = answer
        if (content !== undefined)
          return yield* Effect.die(new Error("an answer under an Idempotency-Key must be JSON"))
        const body = yield* sealed(call.endpoint, answer.body)
        if (!(yield* finishKey(id, attempt, { status, body, headers, about }))) return yield* takenOver
        return answer
      })
    )
    return yield* answered.pipe(
      Effect.catch((failure) =>
        failure instanceof Rejection && failure.kind === "invalid"
          ? refused(id, attempt, failure)
          : Effect.fail(failure)
      ),
      // A failed request has left only the reservation.
      Effect.onError(() => Effect.ignore(releaseKey(id, attempt)))
    )
  })

/** Stores a rejection by the rules as the answer, so that the same request is refused alike for a day. */
const refused = (id: string, attempt: number, failure: Rejection): Effect.Effect<Answer, Failure, Store> =>
  Effect.gen(function* () {
    const body: Json = { ...bodyOf(failure) }
    const status = statusOf[failure.kind]
    const headers = failure.headers ?? {}
    yield* finishKey(id, attempt, { status, body, headers })
    return { status, body, headers }
  })

/**
 * Replaces the answer stored under the call's key once work after the command has finished. Without an answer the key
 * is released.
 */
export const answeredLater = (
  call: ServerCall,
  answer: Pick<Answer, "status" | "body" | "headers"> | undefined
): Effect.Effect<void, Failure, Store> => {
  const given = call.headers["idempotency-key"]
  if (typeof given !== "string" || !keepsAnswers(call.endpoint)) return Effect.void
  const id = `${call.viewer.user_id} ${given}`
  const fingerprints = [fingerprintOf(call), fingerprintOf(call, false)]
  return answer === undefined ? forgetAnswer(id, fingerprints) : changeAnswer(id, fingerprints, answer)
}

/** The answer under a used key: 409 for a different request, 425 while it is in flight, else the stored answer. */
const replayed = Effect.fnUntraced(function* (
  call: ServerCall,
  row: KeyRow,
  fingerprint: string
): CommandRuntime.Reads<Answer> {
  if (row.fingerprint !== fingerprint && row.fingerprint !== fingerprintOf(call, false)) {
    const text = "This Idempotency-Key was used for another request."
    return yield* new Rejection({ kind: "conflict", message: text, errors: { idempotency_key: [text] } })
  }
  if (row.state === "in_flight") return yield* inFlight
  const answer = storedAnswer(row)
  const body = row.state === "cleared" ? yield* bodyAgain(call, row.id) : yield* opened(call.endpoint, answer.body)
  const erased = row.state === "cleared" ? { "idempotent-erased": "true" } : {}
  return {
    status: answer.status,
    ...(body === undefined ? {} : { body }),
    headers: { ...answer.headers, ...erased, "idempotent-replayed": "true" }
  }
})

/**
 * The body for an answer whose body an erasure removed: rendered from current rows, or from placeholders if they are
 * gone.
 */
const bodyAgain = Effect.fnUntraced(function* (call: ServerCall, id: string): CommandRuntime.Reads<Json | undefined> {
  const result = yield* Effect.map(Store.get(idempotency_results, id), (row) => row?.result)
  const answer =
    result === undefined
      ? undefined
      : yield* replayAnswer(call, result).pipe(
          Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(undefined) : Effect.fail(failure))),
          // Endpoints assume that the row they answer with exists; here it may have been deleted since.
          Effect.catchDefect((defect) =>
            Effect.as(Effect.logDebug("a stored answer cannot be made anew", defect), undefined)
          )
        )
  if (answer?.body !== undefined || call.endpoint.answer === undefined) return answer?.body
  const { placeholdersOf } = yield* placeholders
  return placeholdersOf(call.endpoint.answer, result?.["id"])
})
const placeholders = later(() => import("./placeholders.ts"))
const inFlight = new Rejection({
  kind: "in_flight",
  message: "The request with this Idempotency-Key is still being worked on.",
  headers: { "retry-after": "1" }
})
/** The answer if a retry took the key over because this request took too long; its own changes are rolled back. */
const takenOver = inFlight

/** Marks each text and number with its kind and original spelling: `1`, `1.0` and `"1"` are three values. */
const asWritten = (text: string): Json => {
  const value: Json = JSON.parse(text, (key, value: unknown, context?: { readonly source?: string }) => {
    if (key === "__proto__") return undefined
    if (typeof value === "number") return `n${context?.source ?? String(value)}`
    return typeof value === "string" ? `s${value}` : value
  })
  return value
}

/**
 * SHA-256 over method, path, query in order of name, body with its keys in order, and files. Numbers count as they
 * were written; earlier releases took them as they were read, which `as_written = false` repeats.
 */
const fingerprintOf = ({ request }: ServerCall, as_written = true): string => {
  const { body, body_fault: body_failure, files, method, path, query, raw_text } = request
  const parts = [
    method,
    path,
    JSON.stringify(
      [...query].sort(([one, a], [other, b]) => (one === other ? (a < b ? -1 : 1) : one < other ? -1 : 1))
    ),
    body === undefined ? "" : canonicalJson(raw_text === undefined || !as_written ? body : asWritten(raw_text)),
    body_failure?.message ?? "",
    ...Object.entries(files ?? {})
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([field, file]) => `${field} ${file.name} ${file.sha256}`)
  ]
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex")
}
/** Releases keys left by a killed server, on SQLite only: a file has one server, which has just started. */
const releaseOwn = Effect.gen(function* () {
  if ((yield* Store).dialect === "sqlite") yield* releaseAbandoned(yield* Clock.currentTimeMillis)
})
const sweep_every_millis = 3_600_000

export const idempotencySlice: ServerSlice = {
  name: "idempotency",
  server_tables: [idempotency_keys, idempotency_results],
  around,
  concerns: "erasures",
  recorded: () => clearAnswers,
  background: Effect.andThen(
    releaseOwn,
    Effect.repeat(Effect.flatMap(Clock.currentTimeMillis, dropExpired), Schedule.spaced(sweep_every_millis))
  )
}

/** From a failure to the answer that is given in its place, and what the log says of it. */
import { Cause } from "effect"
import { SqlError } from "effect/sql"
import type { Answer, Endpoint, Failure } from "../core/kernel/endpoint.ts"
import { bodyOf, Rejection, statusOf } from "../core/kernel/rejection.ts"
import type { HttpRequest } from "./http-message.ts"
import type { Log } from "./log.ts"
import { type StorageFailure, storage_retry_seconds, storageText } from "./storage-fault.ts"

interface FailedRequest {
  readonly request_id: string
  readonly asked: Pick<HttpRequest, "method">
  readonly endpoint: Endpoint | undefined
}
interface Reporting {
  readonly log: Log
  readonly storageFault: (error: SqlError.SqlError) => StorageFailure | undefined
}

/** The response to a failure: rejections as they are, temporary database faults as 503, anything else as 500. */
export const answerTo = (
  cause: Cause.Cause<Failure>,
  asked: FailedRequest,
  { log, storageFault: storageFailure }: Reporting
): Answer => {
  const failure = Cause.findErrorOption(cause)
  if (failure._tag === "Some" && failure.value instanceof Rejection) {
    const { kind, headers } = failure.value
    return {
      status: statusOf[kind],
      body: { ...bodyOf(failure.value) },
      ...(headers === undefined && kind !== "unauthenticated"
        ? {}
        : { headers: { ...(kind === "unauthenticated" ? { "www-authenticate": "Bearer" } : {}), ...headers } })
    }
  }
  const details = { request_id: asked.request_id, method: asked.asked.method, endpoint: asked.endpoint?.name ?? null }
  const storage =
    failure._tag === "Some" && failure.value instanceof SqlError.SqlError ? storageFailure(failure.value) : undefined
  if (storage !== undefined) {
    log.at("error", "database cannot record", { ...details, reason: storage })
    return {
      status: 503,
      body: { message: storageText[storage] },
      headers: { "retry-after": String(storage_retry_seconds) }
    }
  }
  if (failure._tag === "Some" && failure.value instanceof SqlError.SqlError && passes(failure.value)) {
    log.at("error", "database unavailable", {
      ...details,
      reason: failure.value.reason._tag,
      message: failure.value.reason.message
    })
    return {
      status: 503,
      body: { message: "The database cannot be reached or is busy; try again." },
      headers: { "retry-after": "1" }
    }
  }
  if (Cause.hasInterruptsOnly(cause)) {
    log.at("debug", "request given up", details)
    return { status: 503, body: { message: "The server is stopping; try again." }, headers: { "retry-after": "1" } }
  }
  log.at("error", "request failed", { ...details, error: Cause.squash(cause) })
  return { status: 500, body: { message: `Something went wrong here. Name ${asked.request_id} when you report it.` } }
}
const passes = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "ConnectionError" ||
  reason._tag === "LockTimeoutError" ||
  reason._tag === "StatementTimeoutError" ||
  reason._tag === "SerializationError" ||
  reason._tag === "DeadlockError"

/**
 * From a request to its response: authentication (401), rate limit (429), endpoint (404, 405), then the engine's checks
 * of rows, permission, body and rule. It uses no socket, so that tests and other programs can call it as well.
 */
import { Cause, Clock, Effect, Exit } from "effect"
import { SqlError } from "effect/sql"
import type { Catalogue } from "../core/kernel/catalogue.ts"
import { dispatch, match } from "../core/kernel/dispatch.ts"
import type { Answer, Endpoint, Failure } from "../core/kernel/endpoint.ts"
import { bodyOf, Rejection, statusOf, unauthenticated } from "../core/kernel/rejection.ts"
import { type Settings, settingNumber } from "../core/kernel/settings.ts"
import type { CommandRuntime } from "../core/kernel/command-runtime.ts"
import type { Store } from "../core/kernel/store/store.ts"
import type { Viewer } from "../core/kernel/viewer.ts"
import { instantOf } from "../core/values/time.ts"
import { revoked_message } from "../sync/server/push.ts"
import { authorizeCall } from "../core/kernel/engine.ts"
import { json_body_bytes_max } from "../core/kernel/body-limits.ts"
import { mediaType, type ReadBody, readBody, tooLarge } from "./body.ts"
import type { BodyBudget } from "./body-budget.ts"
import { partsOf, readForm } from "./form.ts"
import type { HttpRequest, HttpResponse } from "./http-message.ts"
import type { ServerContext } from "./server-context.ts"
import type { Log } from "./log.ts"
import { networkOf } from "./client-address.ts"
import { replyOf, streamedReply } from "./reply.ts"
import { makeRateLimiter, type RateLimitState } from "./rate-limit.ts"
import { RawRequest } from "./raw-request.ts"
import type { AnsweredServerCall, Headers, ServerCall, ServerEndpoint, ServerSlice } from "./server-slice.ts"
import { type StorageFailure, storage_retry_seconds, storageText } from "./storage-fault.ts"
import type { Authentication } from "./tokens/authenticate.ts"

export type { HttpRequest, HttpResponse } from "./http-message.ts"

export interface PipelineOptions {
  readonly catalogue: Catalogue
  readonly slices: ReadonlyArray<ServerSlice>
  readonly authentication: Authentication
  readonly settings: Effect.Effect<Settings, Failure, Store>
  readonly log: Log
  readonly newRequestId: () => string
  readonly bodies: BodyBudget
  /** Runs in the background; the request does not wait for it. */
  readonly runInBackground: (effect: Effect.Effect<void, Failure, Store>) => void
  /** The storage failure that the error shows, if any; health takes note of it. */
  readonly storageFault: (error: SqlError.SqlError) => StorageFailure | undefined
}
type Serving = Effect.Effect<HttpResponse, never, Store | CommandRuntime | ServerContext>

const nobody: Viewer = {
  user_id: 0,
  name: "",
  person_id: null,
  is_owner: false,
  is_active: true,
  role_ids: [],
  permissions: new Set(),
  abilities: new Set(),
  token_id: null
}

/** What is known of a request so far; its log line and its metering record are made of it. */
interface Trace {
  readonly request_id: string
  readonly started_millis: number
  readonly clock_millis: number
  readonly asked: HttpRequest
  readonly path: string
  endpoint: Endpoint | undefined
  viewer: Viewer | undefined
  standing: RateLimitState | undefined
  request_bytes: number
  /** Releases the bytes reserved for its body. */
  giveBack: (() => void) | undefined
}

export const makePipeline = (options: PipelineOptions): ((asked: HttpRequest) => Serving) => {
  const { catalogue, authentication, log } = options
  const limiter = makeRateLimiter()
  const around = options.slices.flatMap((slice) => slice.around ?? [])
  const answered = options.slices.flatMap((slice) => slice.answered ?? [])

  const serve = (trace: Trace): Effect.Effect<Answer, Failure, Store | CommandRuntime | ServerContext> =>
    Effect.gen(function* () {
      const { asked, path } = trace
      const found = match(catalogue, asked.method, path)
      const open = found instanceof Rejection || !found.endpoint.public ? undefined : found.endpoint
      const refusal =
        open === undefined ? yield* admit(trace) : open.unlimited ? undefined : yield* admitNobody(trace, open)
      if (refusal !== undefined) return yield* refusal
      if (found instanceof Rejection) return yield* found
      trace.endpoint = found.endpoint
      const caller = {
        ...found,
        viewer: trace.viewer ?? nobody,
        request: { method: asked.method, path, query: queryOf(asked.target) }
      }
      const call: ServerCall = {
        ...caller,
        headers: asked.headers,
        request_id: trace.request_id,
        remote_address: asked.remote_address,
        request: { ...caller.request, ...(yield* bodyFor(caller, trace, options.bodies)) }
      }
      const { raw_bytes } = call.request
      const run: ServerEndpoint<Answer> =
        raw_bytes === undefined
          ? dispatch(call)
          : Effect.provideService(dispatch(call), RawRequest, { headers: asked.headers, bytes: raw_bytes })
      const whole = around.reduceRight((next, wrap) => wrap(call, next), run)
      // A client that hangs up interrupts a read, never a change.
      return yield* found.endpoint.method === "GET" ? whole : Effect.uninterruptible(whole)
    })

  /** 401, then 429. */
  const admit = Effect.fnUntraced(function* (trace: Trace) {
    const secret = bearerIn(trace.asked.headers)
    const bearer = secret === undefined ? undefined : yield* authentication.bearerOf(secret, trace.clock_millis)
    const settings = yield* options.settings
    if (bearer === undefined) {
      // Only requests without a valid token are counted by address: others behind the same address cannot lock out a
      // valid one.
      trace.standing = limiter.count(
        `address ${clientOf(trace)}`,
        settingNumber(settings, "api", "anonymous_rate_limit"),
        trace.clock_millis
      )
      if (trace.standing.exceeded)
        return tooMany(trace.standing, "Too many requests without a valid token from this address; wait a minute.")
      return unauthenticated(
        secret === undefined ? "This needs a token: Authorization: Bearer …" : "The token is unknown or has expired."
      )
    }
    trace.viewer = bearer.viewer
    const token_id = bearer.viewer.token_id
    trace.standing = limiter.count(
      token_id ?? `user ${bearer.viewer.user_id}`,
      bearer.rate_limit_per_minute ?? settingNumber(settings, "api", "rate_limit"),
      trace.clock_millis
    )
    const noting = token_id === null ? undefined : authentication.used(token_id, trace.clock_millis)
    if (noting !== undefined) options.runInBackground(noting)
    if (trace.standing.exceeded)
      return tooMany(trace.standing, `Too many requests; this token may make ${trace.standing.limit} a minute.`)
    return bearer.device_revoked
      ? new Rejection({ kind: "forbidden", message: revoked_message, errors: { replica: ["revoked"] } })
      : undefined
  })

  /** Public endpoints such as signed links limit failed requests, so that nobody can try many signatures. */
  // Counted per endpoint: an outdated link that calendars of an office keep requesting must not stop its health checks.
  const missesOf = (trace: Trace, { name }: Endpoint): string => `misses ${clientOf(trace)} ${name}`
  const admitNobody = Effect.fnUntraced(function* (trace: Trace, endpoint: Endpoint) {
    trace.standing = limiter.look(
      missesOf(trace, endpoint),
      settingNumber(yield* options.settings, "api", "anonymous_rate_limit"),
      trace.clock_millis
    )
    return trace.standing.exceeded
      ? tooMany(trace.standing, "Too many tries from this address; wait a minute.")
      : undefined
  })

  const finished = (trace: Trace, reply: HttpResponse): void => {
    const { asked, endpoint, viewer } = trace
    const duration_ms = performance.now() - trace.started_millis
    // Secrets stay out of the log: queries hold signatures, paths of public endpoints hold keys.
    const shown = endpoint?.public === true ? endpoint.path : trace.path.slice(0, 500)
    log.at("info", "request", {
      request_id: trace.request_id,
      method: asked.method,
      path: shown,
      status: reply.status,
      duration_ms: Math.round(duration_ms * 10) / 10,
      user_id: viewer?.user_id ?? null,
      token_id: viewer?.token_id ?? null
    })
    if (answered.length === 0 || !trace.path.startsWith("/api/v1")) return
    const agent = asked.headers["user-agent"]
    const ability = endpoint?.ability ?? null
    const record: AnsweredServerCall = {
      request_id: trace.request_id,
      method: asked.method,
      target: asked.target,
      endpoint: endpoint?.name ?? null,
      ability:
        ability === null || typeof ability === "string"
          ? ability
          : (ability.find((one) => viewer?.abilities.has(one)) ?? ability[0] ?? null),
      metering_weight: endpoint?.metering_weight ?? 1,
      user_id: viewer?.user_id ?? null,
      token_id: viewer?.token_id ?? null,
      status: reply.status,
      started_at: instantOf(trace.clock_millis),
      duration_ms: Math.round(duration_ms),
      request_bytes: trace.request_bytes,
      response_bytes:
        reply.body === undefined
          ? 0
          : typeof reply.body === "string"
            ? Buffer.byteLength(reply.body)
            : "stream" in reply.body
              ? reply.body.size_bytes
              : reply.body.length,
      remote_address: asked.remote_address,
      user_agent: typeof agent === "string" ? agent.slice(0, 500) : null
    }
    for (const tell of answered) tell(record)
  }

  return (asked) =>
    Effect.gen(function* () {
      const trace: Trace = {
        asked,
        request_id: requestIdIn(asked.headers) ?? options.newRequestId(),
        path: pathOf(asked.target),
        started_millis: performance.now(),
        clock_millis: yield* Clock.currentTimeMillis,
        endpoint: undefined,
        viewer: undefined,
        standing: undefined,
        request_bytes: 0,
        giveBack: undefined
      }
      const exit = yield* Effect.exit(serve(trace)).pipe(Effect.ensuring(Effect.sync(() => trace.giveBack?.())))
      const answer = Exit.isSuccess(exit) ? exit.value : answerTo(exit.cause, trace, options)
      if (
        trace.endpoint?.public === true &&
        answer.status >= 400 &&
        answer.status < 500 &&
        trace.standing !== undefined
      ) {
        limiter.count(missesOf(trace, trace.endpoint), trace.standing.limit, trace.clock_millis)
      }
      const reply =
        answer.streamed === undefined
          ? replyOf(answer, trace)
          : yield* streamedReply(answer, trace, (cause) => answerTo(cause, trace, options))
      finished(trace, reply)
      return reply
    })
}

/** The client of a request without a token: an IPv4 address, or the /64 of an IPv6 address. */
const clientOf = ({ asked }: Trace): string => networkOf(asked.remote_address)

const tooMany = (standing: RateLimitState, message: string): Rejection =>
  new Rejection({
    kind: "too_many",
    message,
    headers: {
      "retry-after": String(standing.retry_after_seconds),
      "x-ratelimit-reset": String(standing.reset_at_seconds)
    }
  })

/**
 * Reads the body. A long one is read only after the permission check and within the budget for long bodies; files of a
 * form go to their store as they come.
 */
const bodyFor = Effect.fnUntraced(function* (
  caller: Parameters<typeof authorizeCall>[0],
  trace: Trace,
  bodies: BodyBudget
): Effect.fn.Return<ReadBody, Failure, Store | CommandRuntime> {
  const { endpoint } = caller
  const { asked } = trace
  if (endpoint.method === "GET") return { body: undefined }
  const content_type = first(asked.headers["content-type"])
  if (endpoint.uploads && mediaType(content_type) === "multipart/form-data") {
    yield* authorizeCall(caller)
    return yield* readForm(
      partsOf(asked, endpoint.upload_bytes_max, (bytes) => (trace.request_bytes += bytes)),
      content_type ?? "",
      endpoint.upload_bytes_max
    )
  }
  const max = endpoint.body_max ?? json_body_bytes_max
  if (max > json_body_bytes_max) {
    yield* authorizeCall(caller)
    const announced = Number(first(asked.headers["content-length"]) ?? max)
    trace.giveBack = bodies.take(Math.min(max, Number.isNaN(announced) ? max : announced))
    if (trace.giveBack === undefined) return yield* tooBusy
  }
  return yield* Effect.promise(async (): Promise<ReadBody> => {
    const bytes = await asked.body(max)
    if (bytes === "too long") return { body: undefined, body_fault: tooLarge(max) }
    trace.request_bytes = bytes.length
    return readBody(bytes, content_type, endpoint)
  })
})
const tooBusy = new Rejection({
  kind: "unavailable",
  message: "The server is busy with other long requests; try again.",
  headers: { "retry-after": "2" }
})

/** The response to a failure: rejections as they are, temporary database faults as 503, anything else as 500. */
const answerTo = (
  cause: Cause.Cause<Failure>,
  trace: Trace,
  { log, storageFault: storageFailure }: PipelineOptions
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
  const details = { request_id: trace.request_id, method: trace.asked.method, endpoint: trace.endpoint?.name ?? null }
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
  return { status: 500, body: { message: `Something went wrong here. Name ${trace.request_id} when you report it.` } }
}
const passes = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "ConnectionError" ||
  reason._tag === "LockTimeoutError" ||
  reason._tag === "StatementTimeoutError" ||
  reason._tag === "SerializationError" ||
  reason._tag === "DeadlockError"

/** The path of a request line's target, whatever form it takes. */
export const pathOf = (target: string): string => {
  const origin = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target)?.[0] ?? ""
  const end = target.search(/[?#]/)
  return target.slice(origin.length, end < 0 ? target.length : end) || "/"
}
const queryOf = (target: string): ReadonlyArray<readonly [string, string]> => {
  const at = target.indexOf("?")
  return at < 0 ? [] : [...new URLSearchParams(target.slice(at + 1))]
}
const first = (value: Headers[string]): string | undefined =>
  typeof value === "string" || value === undefined ? value : value[0]

const bearerIn = (headers: Headers): string | undefined =>
  /^bearer +(\S+) *$/i.exec(first(headers["authorization"]) ?? "")?.[1]
const requestIdIn = (headers: Headers): string | undefined => {
  const given = first(headers["x-request-id"])
  return given !== undefined && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : undefined
}

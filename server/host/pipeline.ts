/**
 * From a request to its response: authentication (401), rate limit (429), endpoint (404, 405), then the engine's checks
 * of rows, permission, body and rule. Without a socket, so that tests and other programs can call it too.
 */
import { Cause, Clock, Effect, Exit } from "effect"
import type { SqlError } from "effect/sql"
import { dispatch, match, Rejection, settingNumber, traced, unauthenticated } from "../../core/kernel/index.ts"
import type { Answer, Catalogue, CommandRuntime, Endpoint, Failure, Settings, Store } from "../../core/kernel/index.ts"
import { SharedCommit } from "../../sync/sqlite/shared-commits.ts"
import { revoked_message } from "../../sync/server/push.ts"
import type { BodyBudget, ReadBody } from "../http/body.ts"
import { isPreflight, originHeaders, originOf, preflightAnswer } from "../http/answered.ts"
import { answerTo, replyOf, streamedReply, tellingOf, told } from "../http/answered.ts"
import { bodyFor } from "./form.ts"
import { type HttpRequest, type HttpResponse, networkOf } from "../http/http-message.ts"
import { RawRequest, type ServerContext, viewerNamed } from "../ports/server-context.ts"
import type { Log } from "../ports/log.ts"
import { type Limits, quotaUsed, type RateLimitState, tooMany } from "../http/limits.ts"
import { unitsOf } from "../http/limit-month.ts"
import type { QuotaState } from "../http/limit-quota.ts"
import { answerOutside } from "../operations/system/site.ts"
import type { Headers, ServerCall, ServerEndpoint, ServerSlice } from "../ports/server-slice.ts"
import type { StorageFailure } from "../ports/storage-fault.ts"
import type { Authentication } from "../access/tokens/authenticate.ts"

interface PipelineOptions {
  readonly catalogue: Catalogue
  readonly slices: ReadonlyArray<ServerSlice>
  readonly authentication: Authentication
  readonly settings: (now: number) => Effect.Effect<Settings, Failure, Store>
  readonly limits: Pick<Limits, "rate" | "quota">
  readonly log: Log
  readonly newRequestId: () => string
  readonly bodies: BodyBudget
  /** Runs an effect without delaying the response. */
  readonly runInBackground: (effect: Effect.Effect<void, Failure, Store>) => void
  /** Returns the storage failure behind a database error, if any, and reports it to health. */
  readonly storageFault: (error: SqlError.SqlError) => StorageFailure | undefined
}
type Serving = Effect.Effect<HttpResponse, never, Store | CommandRuntime | ServerContext>

const nobody = viewerNamed("", { abilities: new Set() })

/** Facts about a request, for its log line and its metering record. */
interface Trace {
  readonly request_id: string
  readonly started_millis: number
  readonly clock_millis: number
  readonly asked: HttpRequest
  readonly path: string
  endpoint: Endpoint | undefined
  /** The endpoint matched by path and method, even if the caller was rejected. */
  asked_for: Endpoint | undefined
  viewer: ServerCall["viewer"] | undefined
  standing: RateLimitState | undefined
  /** State of the token's monthly quota, if it has one. */
  quota: QuotaState | undefined
  /** Charges the answer's cost to the quota. */
  settle: ((units: number) => void) | undefined
  request_bytes: number
  /** Exit of a finished change until its response is sent: it is counted even if the client disconnects. */
  ended: Exit.Exit<Answer, Failure> | undefined
  /** Releases the bytes reserved for its body. */
  giveBack: (() => void) | undefined
}

interface Pipeline extends PipelineOptions {
  readonly around: ReadonlyArray<NonNullable<ServerSlice["around"]>>
  /** Logs and meters a response. */
  readonly finished: ReturnType<typeof tellingOf>
}

export const makePipeline = (options: PipelineOptions): ((asked: HttpRequest) => Serving) => {
  const pipeline: Pipeline = {
    ...options,
    around: options.slices.flatMap((slice) => slice.around ?? []),
    finished: tellingOf(options.log, options.slices)
  }
  return (asked) =>
    Effect.withFiber((fiber) => {
      const clock = fiber.getRef(Clock.Clock)
      const trace: Trace = {
        asked,
        request_id: requestIdIn(asked.headers) ?? options.newRequestId(),
        path: pathOf(asked.target),
        started_millis: performance.now(),
        clock_millis: clock.currentTimeMillisUnsafe(),
        endpoint: undefined,
        asked_for: undefined,
        viewer: undefined,
        standing: undefined,
        quota: undefined,
        settle: undefined,
        request_bytes: 0,
        ended: undefined,
        giveBack: undefined
      }
      return Effect.onExit(traced(answering(pipeline, trace), spanOf(pipeline, trace)), (exit) =>
        Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)
          ? Effect.sync(() => abandoned(pipeline, trace, clock.currentTimeMillisUnsafe()))
          : Effect.void
      )
    })
}

/** The span of a request, named by its endpoint: paths may hold keys. */
const spanOf =
  ({ catalogue }: Pipeline, { asked: { method }, path, request_id }: Trace) =>
  () => {
    const found = match(catalogue, method, path)
    const route = found instanceof Rejection ? "none" : found.endpoint.path
    const attributes = { "http.request.method": method, "http.route": route, "flightcase.request_id": request_id }
    const after = ({ status }: HttpResponse) => ({ "http.response.status_code": status })
    return { name: `${method} ${route}`, kind: "server" as const, attributes, after }
  }

// Here and below, steps that need not wait run at once (`flatMapEager`): a GET suspends for the database only.

type Answering = Effect.Effect<Answer, Failure, Store | CommandRuntime | ServerContext>
const serve = (pipeline: Pipeline, trace: Trace): Answering => {
  const { asked, path } = trace
  const found = match(pipeline.catalogue, asked.method, path)
  if (!(found instanceof Rejection)) trace.asked_for = found.endpoint
  else if (found.kind === "not_found" && !/^\/api(\/|$)/.test(path))
    return Effect.succeed(answerOutside(asked.method, path, first(asked.headers["accept"])))
  const open = found instanceof Rejection || !found.endpoint.public ? undefined : found.endpoint
  const refused =
    open === undefined
      ? admit(pipeline, trace, found)
      : open.unlimited
        ? Effect.succeed(undefined)
        : admitNobody(pipeline, trace, open)
  return Effect.flatMapEager(refused, (refusal) => {
    if (refusal !== undefined) return Effect.fail(refusal)
    if (found instanceof Rejection) return Effect.fail(found)
    trace.endpoint = found.endpoint
    return serveFound(pipeline, trace, found)
  })
}

const serveFound = (
  pipeline: Pipeline,
  trace: Trace,
  found: Exclude<ReturnType<typeof match>, Rejection>
): Answering => {
  const { asked, path } = trace
  const { endpoint, params } = found
  const viewer = trace.viewer ?? nobody
  const request = { method: asked.method, path, query: queryOf(asked.target), strict: isStrict(asked.headers) }
  const runWith = (whole: ServerCall["request"]): ServerEndpoint<Answer> => {
    const { headers, remote_address } = asked
    const call = { endpoint, params, viewer, headers, request_id: trace.request_id, remote_address, request: whole }
    const { raw_bytes } = whole
    const run: ServerEndpoint<Answer> =
      raw_bytes === undefined
        ? dispatch(call)
        : Effect.provideService(dispatch(call), RawRequest, { headers, bytes: raw_bytes })
    return pipeline.around.reduceRight((next, wrap) => wrap(call, next), run)
  }
  // A client that hangs up interrupts a read, never a change.
  if (endpoint.method === "GET") return runWith({ ...request, body: undefined })
  return Effect.flatMapEager(bodyFor({ ...found, viewer, request }, trace, pipeline.bodies), (read: ReadBody) => {
    const ending = Effect.onExit(runWith({ ...request, ...read }), (exit) =>
      Effect.sync(() => void (trace.ended = exit))
    )
    const { body_max, uploads } = endpoint
    return Effect.provideService(
      Effect.uninterruptible(ending),
      SharedCommit,
      // Commands with long bodies take long, and others in the same commit would wait for them.
      body_max === undefined && uploads !== true
    )
  })
}

/** Authenticates (401, or 403 for a revoked device), and applies rate limit and quota (429); returns the rejection. */
const admit = (
  pipeline: Pipeline,
  trace: Trace,
  found: ReturnType<typeof match>
): Effect.Effect<Rejection | undefined, Failure, Store> => {
  const secret = /^bearer +(\S+) *$/i.exec(first(trace.asked.headers["authorization"]) ?? "")?.[1]
  const bearer =
    secret === undefined ? Effect.succeed(undefined) : pipeline.authentication.bearerOf(secret, trace.clock_millis)
  return Effect.flatMapEager(bearer, (known) =>
    Effect.flatMapEager(pipeline.settings(trace.clock_millis), (settings) =>
      known === undefined
        ? refuseUnknown(pipeline, trace, settings, secret)
        : admitBearer(pipeline, trace, found, known, settings)
    )
  )
}
const refuseUnknown = Effect.fnUntraced(function* (
  { limits: { rate } }: Pipeline,
  trace: Trace,
  settings: Settings,
  secret: string | undefined
) {
  // Only requests without a valid token are counted by address: others behind the same address cannot lock out a
  // valid one.
  const limit = settingNumber(settings, "api", "anonymous_rate_limit")
  trace.standing = yield* known(rate.count(`address ${clientOf(trace)}`, limit, trace.clock_millis))
  if (trace.standing.exceeded)
    return tooMany(trace.standing, "Too many requests without a valid token from this address; wait a minute.")
  return unauthenticated(
    secret === undefined ? "This needs a token: Authorization: Bearer …" : "The token is unknown or has expired."
  )
})
type Bearer = NonNullable<Effect.Success<ReturnType<Authentication["bearerOf"]>>>
const admitBearer = (
  pipeline: Pipeline,
  trace: Trace,
  found: ReturnType<typeof match>,
  bearer: Bearer,
  settings: Settings
): Effect.Effect<Rejection | undefined> => {
  const { authentication, limits } = pipeline
  trace.viewer = bearer.viewer
  const { token_id } = bearer.viewer
  const counted = limits.rate.count(
    token_id ?? `user ${bearer.viewer.user_id}`,
    bearer.rate_limit_per_minute ?? settingNumber(settings, "api", "rate_limit"),
    trace.clock_millis
  )
  const noting = token_id === null ? undefined : authentication.used(token_id, trace.clock_millis)
  if (noting !== undefined) pipeline.runInBackground(noting)
  return Effect.flatMapEager(known(counted), (standing): Effect.Effect<Rejection | undefined> => {
    trace.standing = standing
    if (standing.exceeded)
      return Effect.succeed(tooMany(standing, `Too many requests; this token may make ${standing.limit} a minute.`))
    if (bearer.device_revoked) {
      const errors = { replica: ["revoked"] }
      return Effect.succeed(new Rejection({ kind: "forbidden", message: revoked_message, errors }))
    }
    const limit = bearer.monthly_units ?? settingNumber(settings, "api", "monthly_units")
    return limit === 0 || token_id === null || !trace.path.startsWith("/api/v1")
      ? Effect.succeed(undefined)
      : admitOfMonth(pipeline, trace, found, { token_id, limit, own_limit: bearer.monthly_units !== null })
  })
}
const admitOfMonth = Effect.fnUntraced(function* (
  { limits }: Pipeline,
  trace: Trace,
  found: ReturnType<typeof match>,
  { token_id, limit, own_limit }: { readonly token_id: number; readonly limit: number; readonly own_limit: boolean }
) {
  const endpoint = found instanceof Rejection ? undefined : found.endpoint
  const { settle, state } = yield* known(
    limits.quota.admit({
      token_id,
      limit,
      weight: weightOf(endpoint),
      passes: passes_quota.test(trace.path),
      now: trace.clock_millis
    })
  )
  trace.quota = state
  trace.settle = settle
  return state.exceeded ? quotaUsed(state, own_limit) : undefined
})

/** Public endpoints such as signed links limit failed requests, to prevent guessing of signatures. */
// Counted per endpoint: an outdated link that calendars of an office keep requesting must not stop its health checks.
const missesOf = (trace: Trace, { name }: Endpoint): string => `misses ${clientOf(trace)} ${name}`
const admitNobody = Effect.fnUntraced(function* ({ limits, settings }: Pipeline, trace: Trace, endpoint: Endpoint) {
  trace.standing = limits.rate.look(
    missesOf(trace, endpoint),
    settingNumber(yield* settings(trace.clock_millis), "api", "anonymous_rate_limit"),
    trace.clock_millis
  )
  return trace.standing.exceeded ? tooMany(trace.standing, too_many_tries) : undefined
})

/** Counts a failed request to a public endpoint; responds with 429 if the address used up its tries. */
const counted = Effect.fnUntraced(function* (pipeline: Pipeline, answer: Answer, trace: Trace) {
  const { endpoint, standing } = trace
  if (endpoint === undefined || standing === undefined) return answer
  // Reading a slow body may have taken minutes: the failure counts in the current minute.
  const now = yield* Clock.currentTimeMillis
  trace.standing = yield* known(pipeline.limits.rate.count(missesOf(trace, endpoint), standing.limit, now))
  return trace.standing.exceeded
    ? answerTo(Cause.fail(tooMany(trace.standing, too_many_tries)), trace, pipeline)
    : answer
})

const preflight = ({ settings }: Pipeline, { asked, clock_millis }: Trace) =>
  Effect.map(settings(clock_millis), (values) => preflightAnswer(values, originOf(asked) ?? ""))
const forOrigin = (pipeline: Pipeline, answer: Answer, { asked }: Trace): Effect.Effect<Answer, never, Store> => {
  const origin = originOf(asked)
  if (origin === undefined || isPreflight(asked)) return Effect.succeed(answer)
  // The request may have taken long, and settings are known for less than a second.
  return Effect.match(Effect.flatMap(Clock.currentTimeMillis, pipeline.settings), {
    onFailure: () => answer,
    onSuccess: (settings) => ({ ...answer, headers: { ...answer.headers, ...originHeaders(settings, origin) } })
  })
}

const answering = (pipeline: Pipeline, trace: Trace): Serving => {
  const served = isPreflight(trace.asked) ? preflight(pipeline, trace) : Effect.suspend(() => serve(pipeline, trace))
  return Effect.matchCauseEffect(served, {
    onFailure: (cause) => replied(pipeline, trace, answerTo(cause, trace, pipeline)),
    onSuccess: (answer) => replied(pipeline, trace, answer)
  })
}
const replied = (pipeline: Pipeline, trace: Trace, served: Answer): Effect.Effect<HttpResponse, never, Store> => {
  trace.giveBack?.()
  const answered = isMiss(served, trace) ? counted(pipeline, served, trace) : Effect.succeed(served)
  const reply = Effect.flatMapEager(answered, (answer) =>
    answer.streamed === undefined
      ? Effect.mapEager(forOrigin(pipeline, answer, trace), (shown) => replyOf(shown, trace))
      : streamedReply(answer, trace, (cause) => answerTo(cause, trace, pipeline))
  )
  return Effect.mapEager(reply, (whole) => {
    trace.settle?.(unitsOf(weightOf(trace.asked_for), whole.status))
    trace.ended = undefined
    return told(trace, whole, pipeline.finished)
  })
}
/** Handles a client that disconnected: a finished change is counted and recorded as if answered. */
const abandoned = (pipeline: Pipeline, trace: Trace, now: number): void => {
  const { asked_for, ended, endpoint, standing } = trace
  trace.giveBack?.()
  if (ended === undefined) return trace.settle?.(0)
  trace.ended = undefined
  const answer = Exit.isSuccess(ended) ? ended.value : answerTo(ended.cause, trace, pipeline)
  if (isMiss(answer, trace) && endpoint !== undefined && standing !== undefined)
    void pipeline.limits.rate.count(missesOf(trace, endpoint), standing.limit, now)
  trace.settle?.(unitsOf(weightOf(asked_for), answer.status))
  pipeline.finished(trace, answer.status, 0)
}

/**
 * Paths exempt from the quota: devices must be able to send, and settings and tokens to raise a quota that is too low.
 */
const passes_quota = /^\/api\/v1\/(sync|settings|tokens)(\/|$)/

/** The client of a request without a token: an IPv4 address, or the /64 of an IPv6 address. */
const clientOf = ({ asked }: Trace): string => networkOf(asked.remote_address)

const too_many_tries = "Too many tries from this address; wait a minute."
const isMiss = ({ no_miss, status }: Answer, { endpoint, standing }: Trace): boolean =>
  endpoint?.public === true && standing !== undefined && status >= 400 && status < 500 && no_miss !== true

/** An effect of a value, or of its promise. Most requests need not wait. */
const known = <A>(value: A | Promise<A>): Effect.Effect<A> =>
  value instanceof Promise ? Effect.promise(() => value) : Effect.succeed(value)
const weightOf = (endpoint: Endpoint | undefined): number => endpoint?.metering_weight ?? 1

/** Path of a request line's target, which may also be a full URL. */
export const pathOf = (target: string): string => {
  if (target.startsWith("/") && !target.includes("?") && !target.includes("#")) return target
  const origin = target.startsWith("/") ? "" : (/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target)?.[0] ?? "")
  const end = target.search(/[?#]/)
  return target.slice(origin.length, end < 0 ? target.length : end) || "/"
}
const queryOf = (target: string): ReadonlyArray<readonly [string, string]> => {
  const at = target.indexOf("?")
  return at < 0 ? [] : [...new URLSearchParams(target.slice(at + 1))]
}
const first = (value: Headers[string]): string | undefined =>
  typeof value === "string" || value === undefined ? value : value[0]

/** Whether the request has `Prefer: handling=strict` (RFC 7240). */
const isStrict = (headers: Headers): boolean =>
  headers["prefer"] !== undefined &&
  /(^|[,;])\s*handling\s*=\s*"?strict"?\s*([,;]|$)/i.test([headers["prefer"]].flat().join(","))
const requestIdIn = (headers: Headers): string | undefined => {
  const given = first(headers["x-request-id"])
  return given !== undefined && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : undefined
}

/**
 * From a request to its response: authentication (401), rate limit (429), endpoint (404, 405), then the engine's checks
 * of rows, permission, body and rule. Without a socket, so that tests and other programs can call it too.
 */
import { Cause, Clock, Effect, Exit } from "effect"
import type { SqlError } from "effect/sql"
import { authorizeCall, dispatch, isJsonObject, json_body_bytes_max, match } from "../../core/kernel/index.ts"
import { Rejection, settingNumber, traced, unauthenticated } from "../../core/kernel/index.ts"
import type { Answer, Catalogue, CommandRuntime, Endpoint, Failure, Settings, Store } from "../../core/kernel/index.ts"
import { SharedCommit } from "../../sync/sqlite/shared-commits.ts"
import { revoked_message } from "../../sync/server/push.ts"
import { type BodyBudget, mediaType, type ReadBody, readBody, tooLarge } from "../http/body.ts"
import { isPreflight, originHeaders, originOf, preflightAnswer } from "../http/answered.ts"
import { answerTo, replyOf, streamedReply, tellingOf, told } from "../http/answered.ts"
import { partsOf, readForm } from "./form.ts"
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

export type { HttpRequest, HttpResponse } from "../http/http-message.ts"

interface PipelineOptions {
  readonly catalogue: Catalogue
  readonly slices: ReadonlyArray<ServerSlice>
  readonly authentication: Authentication
  readonly settings: Effect.Effect<Settings, Failure, Store>
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
    Effect.flatMap(Clock.currentTimeMillis, (clock_millis) => {
      const trace: Trace = {
        asked,
        request_id: requestIdIn(asked.headers) ?? options.newRequestId(),
        path: pathOf(asked.target),
        started_millis: performance.now(),
        clock_millis,
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
      return Effect.onInterrupt(traced(answering(pipeline, trace), spanOf(pipeline, trace)), () =>
        Effect.map(Clock.currentTimeMillis, (now) => abandoned(pipeline, trace, now))
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

const serve = (
  pipeline: Pipeline,
  trace: Trace
): Effect.Effect<Answer, Failure, Store | CommandRuntime | ServerContext> =>
  Effect.gen(function* () {
    const { asked, path } = trace
    const found = match(pipeline.catalogue, asked.method, path)
    if (!(found instanceof Rejection)) trace.asked_for = found.endpoint
    else if (found.kind === "not_found" && !/^\/api(\/|$)/.test(path))
      return answerOutside(asked.method, path, first(asked.headers["accept"]))
    const open = found instanceof Rejection || !found.endpoint.public ? undefined : found.endpoint
    const refusal =
      open === undefined
        ? yield* admit(pipeline, trace, found)
        : open.unlimited
          ? undefined
          : yield* admitNobody(pipeline, trace, open)
    if (refusal !== undefined) return yield* refusal
    if (found instanceof Rejection) return yield* found
    trace.endpoint = found.endpoint
    const caller = {
      ...found,
      viewer: trace.viewer ?? nobody,
      request: { method: asked.method, path, query: queryOf(asked.target), strict: isStrict(asked.headers) }
    }
    const call: ServerCall = {
      ...caller,
      headers: asked.headers,
      request_id: trace.request_id,
      remote_address: asked.remote_address,
      request: { ...caller.request, ...(yield* bodyFor(caller, trace, pipeline.bodies)) }
    }
    const { raw_bytes } = call.request
    const run: ServerEndpoint<Answer> =
      raw_bytes === undefined
        ? dispatch(call)
        : Effect.provideService(dispatch(call), RawRequest, { headers: asked.headers, bytes: raw_bytes })
    const whole = pipeline.around.reduceRight((next, wrap) => wrap(call, next), run)
    // A client that hangs up interrupts a read, never a change.
    if (found.endpoint.method === "GET") return yield* whole
    const ending = Effect.onExit(whole, (exit) => Effect.sync(() => void (trace.ended = exit)))
    const { body_max, uploads } = found.endpoint
    return yield* Effect.provideService(
      Effect.uninterruptible(ending),
      SharedCommit,
      // Commands with long bodies take long, and others in the same commit would wait for them.
      body_max === undefined && uploads !== true
    )
  })

/** Authenticates (401, or 403 for a revoked device), and applies rate limit and quota (429); returns the rejection. */
const admit = Effect.fnUntraced(function* (pipeline: Pipeline, trace: Trace, found: ReturnType<typeof match>) {
  const { authentication, limits } = pipeline
  const { rate } = limits
  const secret = /^bearer +(\S+) *$/i.exec(first(trace.asked.headers["authorization"]) ?? "")?.[1]
  const bearer = secret === undefined ? undefined : yield* authentication.bearerOf(secret, trace.clock_millis)
  const settings = yield* pipeline.settings
  if (bearer === undefined) {
    // Only requests without a valid token are counted by address: others behind the same address cannot lock out a
    // valid one.
    const limit = settingNumber(settings, "api", "anonymous_rate_limit")
    trace.standing = yield* known(rate.count(`address ${clientOf(trace)}`, limit, trace.clock_millis))
    if (trace.standing.exceeded)
      return tooMany(trace.standing, "Too many requests without a valid token from this address; wait a minute.")
    return unauthenticated(
      secret === undefined ? "This needs a token: Authorization: Bearer …" : "The token is unknown or has expired."
    )
  }
  trace.viewer = bearer.viewer
  const token_id = bearer.viewer.token_id
  const counted = rate.count(
    token_id ?? `user ${bearer.viewer.user_id}`,
    bearer.rate_limit_per_minute ?? settingNumber(settings, "api", "rate_limit"),
    trace.clock_millis
  )
  const noting = token_id === null ? undefined : authentication.used(token_id, trace.clock_millis)
  if (noting !== undefined) pipeline.runInBackground(noting)
  trace.standing = counted instanceof Promise ? yield* known(counted) : counted
  if (trace.standing.exceeded)
    return tooMany(trace.standing, `Too many requests; this token may make ${trace.standing.limit} a minute.`)
  if (bearer.device_revoked)
    return new Rejection({ kind: "forbidden", message: revoked_message, errors: { replica: ["revoked"] } })
  const limit = bearer.monthly_units ?? settingNumber(settings, "api", "monthly_units")
  return limit === 0 || token_id === null || !trace.path.startsWith("/api/v1")
    ? undefined
    : yield* admitOfMonth(pipeline, trace, found, { token_id, limit, own_limit: bearer.monthly_units !== null })
})
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
    settingNumber(yield* settings, "api", "anonymous_rate_limit"),
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

const preflight = ({ settings }: Pipeline, { asked }: Trace) =>
  Effect.map(settings, (values) => preflightAnswer(values, originOf(asked) ?? ""))
const forOrigin = (pipeline: Pipeline, answer: Answer, { asked }: Trace): Effect.Effect<Answer, never, Store> => {
  const origin = originOf(asked)
  if (origin === undefined || isPreflight(asked)) return Effect.succeed(answer)
  return Effect.match(pipeline.settings, {
    onFailure: () => answer,
    onSuccess: (settings) => ({ ...answer, headers: { ...answer.headers, ...originHeaders(settings, origin) } })
  })
}

const answering = Effect.fnUntraced(function* (pipeline: Pipeline, trace: Trace) {
  const exit = yield* Effect.exit(isPreflight(trace.asked) ? preflight(pipeline, trace) : serve(pipeline, trace)).pipe(
    Effect.ensuring(Effect.sync(() => trace.giveBack?.()))
  )
  const served = Exit.isSuccess(exit) ? exit.value : answerTo(exit.cause, trace, pipeline)
  const answer = isMiss(served, trace) ? yield* counted(pipeline, served, trace) : served
  const reply =
    answer.streamed === undefined
      ? replyOf(withLinks(yield* forOrigin(pipeline, answer, trace), trace), trace)
      : yield* streamedReply(answer, trace, (cause) => answerTo(cause, trace, pipeline))
  trace.settle?.(unitsOf(weightOf(trace.asked_for), reply.status))
  trace.ended = undefined
  return told(trace, reply, pipeline.finished)
})
/** Handles a client that disconnected: a finished change is counted and recorded as if answered. */
const abandoned = (pipeline: Pipeline, trace: Trace, now: number): void => {
  const { asked_for, ended, endpoint, standing } = trace
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

/**
 * Reads the body: where long ones are allowed, only after the permission check and within their budget; files of a form
 * are streamed into the store.
 */
const bodyFor = Effect.fnUntraced(function* (
  caller: Parameters<typeof authorizeCall>[0],
  trace: Trace,
  bodies: BodyBudget
): CommandRuntime.Reads<ReadBody> {
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

/** Path of a request line's target, which may also be a full URL. */
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

/** Adds `Link` headers with the next and the last page to a list of several pages (RFC 8288). */
const withLinks = (answer: Answer, { asked, endpoint }: Pick<Trace, "asked" | "endpoint">): Answer => {
  const { body, status } = answer
  if (status !== 200 || endpoint?.method !== "GET" || !isJsonObject(body) || !isJsonObject(body["meta"])) return answer
  const { page, per_page, total } = body["meta"]
  if (typeof page !== "number" || typeof per_page !== "number" || typeof total !== "number") return answer
  const last = Math.ceil(total / Math.max(1, per_page))
  if (last < 2) return answer
  const linkTo = (rel: string, to: number): string => {
    const query = new URLSearchParams(
      queryOf(asked.target).filter(([name]) => name !== "page") as Array<[string, string]>
    )
    query.set("page", String(to))
    return `<${pathOf(asked.target)}?${query.toString()}>; rel="${rel}"`
  }
  const links = [...(page < last ? [linkTo("next", page + 1)] : []), linkTo("last", last)]
  return { ...answer, headers: { ...answer.headers, link: links.join(", ") } }
}
/** Whether the request has `Prefer: handling=strict` (RFC 7240). */
const isStrict = (headers: Headers): boolean =>
  /(^|[,;])\s*handling\s*=\s*"?strict"?\s*([,;]|$)/i.test([headers["prefer"] ?? []].flat().join(","))
const requestIdIn = (headers: Headers): string | undefined => {
  const given = first(headers["x-request-id"])
  return given !== undefined && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : undefined
}

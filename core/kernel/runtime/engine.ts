/**
 * The engine: one write, from a request to recorded events, inside one transaction. Rows of the path → permission →
 * body → facts → rule → reactions → events projected into the tables and appended → response. A refusal changes
 * nothing.
 */
import { Clock, Effect, References, Schema, type Tracer } from "effect"
import { instantOf } from "../../values/time.ts"
import { type Catalogue, CommandRuntime, type Endpoint, type Request } from "../endpoints/endpoint.ts"
import { decideWithIds, makeIdAllocator, withAutoNumbers } from "./decide.ts"
import type { Answer, CommandEndpoint, Input } from "../endpoints/endpoint-types.ts"
import { changesOf, type StoredEvent, streamOf } from "../events/event-type.ts"
import { readFields } from "../fields/input.ts"
import { isJsonObject, type JsonObject } from "../fields/field.ts"
import { lockFirst, LocksWanted } from "./locks.ts"
import { type EndpointCall, pathRows, prepare } from "./prepare.ts"
import { cascadeDeletions, lockReferencedRows } from "./reference-checks.ts"
import { sayingIgnored } from "../endpoints/ignored.ts"
import { invalidField, notFound, Rejection, type Viewer } from "../fields/rejection.ts"
import { constraintRejection, isRetryable } from "../store/database-errors.ts"
import { isDocument } from "../store/statement.ts"
import { type Failure, rememberingRows, Store, unremembered } from "../store/store.ts"
import { itemAt } from "../../values/text.ts"
import { noSuchView } from "../lists/custom-view.ts"
import { valueOf } from "../lists/query.ts"

export { authorizeCall, checkPermission, deactivated_message, type EndpointCall } from "./prepare.ts"

/** Origin of a command. `ids`: those allocated when it was first decided, which it gets again. */
export interface CommandMetadata {
  readonly command_id?: string
  readonly replica_id?: number | null
  readonly ids?: { readonly [table: string]: ReadonlyArray<number> }
  /** When a device recorded it, by the device's clock. */
  readonly issued_at?: string | undefined
}
export interface Outcome {
  readonly answer: Answer
  /** The result of deciding, from which the response is made. */
  readonly result: JsonObject
  readonly events: ReadonlyArray<StoredEvent>
  readonly command_id: string
  /** Ids by table, in the order of allocation. */
  readonly ids: { readonly [table: string]: ReadonlyArray<number> }
}

const attempts_max = 8
/** The last attempts wait for locks at any time; earlier ones restart instead. */
const attempts_waiting = 3

/** Decides and records one command. After errors that the database calls transient it is tried again from the start. */
export const runCommand = (
  call: EndpointCall,
  command_metadata: CommandMetadata = {}
): Effect.Effect<Outcome, Failure, Store | CommandRuntime> =>
  Store.transaction(decideCommand(call, command_metadata, true)).pipe(retryOnConflict)

interface Span<A> extends Tracer.SpanOptions {
  readonly name: string
  /** Attributes known from the result. */
  readonly after?: (result: A) => { readonly [name: string]: unknown }
}
/** The endpoint of a call that decides: reads are answered before. */
const commandOf = ({ endpoint }: EndpointCall) => endpoint as CommandEndpoint
/** Runs an effect in a span, where spans are collected; `span` is called only there. */
export const traced = <A, E, R>(effect: Effect.Effect<A, E, R>, span: () => Span<A>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber): Effect.Effect<A, E, R> => {
    if (!fiber.getRef(References.TracerEnabled)) return effect
    const { after, name, ...options } = span()
    const noted =
      after === undefined ? effect : Effect.tap(effect, (result) => Effect.annotateCurrentSpan(after(result)))
    return Effect.withSpan(noted, name, options)
  })

/** Tries a transaction again after conflicts with other writers; an overlap that stays becomes a 422. */
export const retryOnConflict = <A, R>(
  effect: Effect.Effect<A, Failure, R>
): Effect.Effect<A, Failure, R | CommandRuntime> =>
  Effect.suspend(() => {
    const wanted = { names: new Set<string>(), waits: false }
    const tried = Effect.provideService(effect, LocksWanted, wanted)
    const attempt = (left: number): Effect.Effect<A, Failure, R | CommandRuntime> =>
      Effect.catch(tried, (failure): Effect.Effect<A, Failure, R | CommandRuntime> =>
        failure instanceof Rejection
          ? Effect.fail(failure)
          : Effect.gen(function* () {
              const refusal = constraintRejection(failure, (yield* CommandRuntime).catalogue.tables)
              if (refusal instanceof Rejection) return yield* refusal
              if ((refusal === "overlap" || isRetryable(failure)) && left > 1) {
                wanted.waits ||= left <= attempts_waiting + 1
                yield* Effect.sleep((attempts_max - left + 1) * 5)
                return yield* attempt(left - 1)
              }
              if (refusal === "overlap") return yield* overlapRejection
              return yield* failure
            })
      )
    return attempt(attempts_max)
  })

/**
 * Decides and records in a savepoint of the caller's transaction: a refused command changes nothing. A constraint
 * violation becomes a 422 on the field to blame; if another writer took a period first, the command is decided again,
 * so that the rule can name the holder. Neither savepoint nor second attempt if a refusal ends the transaction anyway.
 */
export const decideInSavepoint = (
  call: EndpointCall,
  command_metadata: CommandMetadata,
  refusal_ends = false
): Effect.Effect<Outcome, Failure, Store | CommandRuntime> => {
  const decided = decideCommand(call, command_metadata, false)
  const attempt = (left: number): Effect.Effect<Outcome, Failure, Store | CommandRuntime> =>
    (refusal_ends ? decided : Store.transaction(decided)).pipe(
      Effect.catch((failure) =>
        Effect.gen(function* () {
          const refusal =
            failure instanceof Rejection
              ? failure
              : constraintRejection(failure, (yield* CommandRuntime).catalogue.tables)
          if (refusal === "overlap") return left > 0 ? yield* attempt(left - 1) : yield* overlapRejection
          return yield* refusal ?? failure
        })
      )
    )
  return attempt(refusal_ends ? 0 : 1)
}
const overlapRejection = invalidField("base", "Something it claims is held by somebody else in that window.")

/** Decides and records inside the caller's transaction (or savepoint). */
const decideCommand = (call: EndpointCall, command_metadata: CommandMetadata, is_last: boolean) =>
  rememberingRows(decideAndRecord(call, command_metadata, is_last))
const decideAndRecord = Effect.fnUntraced(function* (
  call: EndpointCall,
  command_metadata: CommandMetadata,
  is_last: boolean
): CommandRuntime.Reads<Outcome> {
  const runtime = yield* CommandRuntime
  const endpoint = commandOf(call)
  const now = instantOf(yield* Clock.currentTimeMillis)
  yield* lockCommandStreams(endpoint, call)
  const { issued_at = now } = command_metadata
  const input = yield* prepare(call, runtime, now, issued_at < now ? issued_at : now)
  const facts = yield* endpoint.facts(input)
  const ids = yield* makeIdAllocator(command_metadata.ids ?? {}, endpoint.creates)
  const decision = yield* decideWithIds(endpoint, facts, input, ids)
  const command_id = command_metadata.command_id ?? (yield* runtime.commandId)
  const decided = yield* withAutoNumbers(decision.events)
  const { projection } = runtime.catalogue
  const changes = changesOf(projection, decided, now)
  const cleared = yield* cascadeDeletions(runtime.catalogue, changes, call.viewer)
  if (runtime.filesNamed !== undefined) yield* runtime.filesNamed(changes)
  const happened = [...decided, ...cleared]
  const metadata = {
    command_id,
    actor_id: call.viewer.user_id === 0 ? null : call.viewer.user_id,
    replica_id: command_metadata.replica_id ?? null,
    recorded_at: now,
    newStreams: ids.newStreams
  }
  const all_changes = [...changes, ...changesOf(projection, cleared, now)]
  const isAsExpected = yield* projected(call, input, all_changes, is_last)
  yield* lockReferencedRows(runtime.catalogue, all_changes, now)
  const answering = Effect.flatMap(endpoint.respond(decision.result, input), (answer) =>
    sayingIgnored(endpoint, call.request, answer)
  )
  const answer = yield* answering
  const events = yield* unremembered(runtime.append(happened, metadata, is_last))
  return {
    // After the commit nothing may fail.
    answer: isAsExpected() ? answer : yield* Effect.orElseSucceed(answering, () => answer),
    result: decision.result,
    events,
    command_id,
    ids: ids.used()
  }
})
/**
 * Projects the changes. On Postgres, a single update of a row of the path travels with the next statement, which may be
 * the last one. Returns whether the row became what the response took it for.
 */
const projected = Effect.fnUntraced(function* (
  { endpoint: { params } }: EndpointCall,
  { rows }: Input,
  changes: Parameters<typeof lockReferencedRows>[1],
  is_last: boolean
) {
  const [change, ...others] = changes
  const store = yield* Store
  const { project, role } = yield* CommandRuntime
  if (store.dialect === "pg" && role === "server" && is_last && others.length === 0 && change?.op === "update") {
    const { key, set, table } = change
    const [name] =
      Object.entries(params).find(([param, one]) => one.table === table && rows[param]?.[table.key] === key) ?? []
    const before = name === undefined ? undefined : rows[name]
    // Postgres returns the keys of a document in an order of its own.
    const are_plain = Object.keys(set).every((one) => table.columns[one] && !isDocument(table.columns[one]))
    if (before !== undefined && !table.reference && are_plain && Object.keys(set).length > 0)
      return yield* store.updateAhead(change, before)
  }
  yield* project(changes)
  return () => true
})

/**
 * The response of an earlier command, with its rows' current values. Changes nothing; dies if the endpoint cannot
 * decode the stored result.
 */
export const replayAnswer = Effect.fnUntraced(function* (
  call: EndpointCall,
  result: unknown
): CommandRuntime.Reads<Answer> {
  const input = yield* prepare(call, yield* CommandRuntime, instantOf(yield* Clock.currentTimeMillis))
  const endpoint = commandOf(call)
  return yield* endpoint.respond(yield* Effect.orDie(Schema.decodeUnknownEffect(endpoint.result)(result)), input)
})

/** Makes writers of one stream wait for each other. SQLite has a single writer anyway. */
const lockCommandStreams = (endpoint: CommandEndpoint, call: EndpointCall) =>
  Effect.flatMap(Store, (store) =>
    store.dialect === "pg" ? lockFirst(streamsOfCommand(endpoint, call.params, call.request.body)) : Effect.void
  )
/** Streams that a command locks at its start. */
export const streamsOfCommand = (
  endpoint: CommandEndpoint,
  params: EndpointCall["params"],
  sent: EndpointCall["request"]["body"]
): ReadonlyArray<string> => {
  const first = Object.entries(endpoint.params)[0]
  // Parsed values, so that 7 and "7" name one stream; invalid ones name none, and are refused later.
  const body =
    endpoint.streams === undefined || !isJsonObject(sent)
      ? {}
      : readFields(endpoint.fields, sent, { mode: endpoint.mode, base_currency: "GBP" }).values
  return (
    endpoint.streams?.(params, body) ??
    (first === undefined ? [] : [streamOf(first[1].table.entity, params[first[0]] ?? "")])
  )
}
// Handles a request by method and path, whatever its transport: on servers and on devices.

interface Matched {
  readonly endpoint: Endpoint
  readonly params: { readonly [name: string]: string }
}
interface Branch {
  readonly literal: Map<string, Branch>
  param: Branch | undefined
  readonly endpoints: Map<string, { readonly endpoint: Endpoint; readonly names: ReadonlyArray<string> }>
}
const branch = (): Branch => ({ literal: new Map(), param: undefined, endpoints: new Map() })
/** The tree of paths, and its leaves by path where that has no parameters. */
interface Paths {
  readonly root: Branch
  readonly plain: Map<string, Branch>
}
const roots = new WeakMap<Catalogue, Paths>()

const pathsIn = (catalogue: Catalogue): Paths => {
  const known = roots.get(catalogue)
  if (known !== undefined) return known
  const root = branch()
  const plain: Paths["plain"] = new Map()
  for (const [endpoint, path] of catalogue.endpoints.flatMap((one) =>
    catalogue.pathsOf(one).map((path) => [one, path] as const)
  )) {
    const names: Array<string> = []
    let at = root
    for (const segment of segmentsOf(path)) {
      const name = /^\{(\w+)\}(\.ics)?$/.exec(segment)?.[1]
      if (name === undefined) {
        const next: Branch = at.literal.get(segment) ?? branch()
        at.literal.set(segment, next)
        at = next
      } else {
        names.push(name)
        at = at.param ??= branch()
      }
    }
    at.endpoints.set(endpoint.method, { endpoint, names })
    if (names.length === 0) plain.set(path, at)
  }
  const paths = { root, plain }
  roots.set(catalogue, paths)
  return paths
}
const segmentsOf = (path: string): ReadonlyArray<string> => path.split("/").filter((segment) => segment !== "")

/** Undefined if a segment cannot be decoded. No name contains a NUL, and Postgres refuses one with an error. */
const decodedSegments = (path: string): ReadonlyArray<string> | undefined => {
  if (!path.includes("%") && !path.includes("\u0000")) return segmentsOf(path)
  try {
    const names = segmentsOf(path).map((name) => (name.includes("%") ? decodeURIComponent(name) : name))
    return names.some((name) => name.includes("\u0000")) ? undefined : names
  } catch {
    return undefined
  }
}

/**
 * The endpoint for a method and path; literal segments take precedence over parameters. 404 if no path matches, 405
 * with Allow if the method does not. Reads of the loaded slices load no others; commands do, as any slice may react.
 */
export const match = (catalogue: Catalogue, method: string, path: string): Matched | Rejection => {
  const { loaded } = catalogue
  const found = matchIn(loaded, method, path)
  const is_read = !(found instanceof Rejection) && found.endpoint.kind === "query"
  return is_read || catalogue.whole === loaded ? found : matchIn(catalogue.whole, method, path)
}
const matchIn = (catalogue: Catalogue, method: string, path: string): Matched | Rejection => {
  const { plain, root } = pathsIn(catalogue)
  const wanted = method === "HEAD" ? "GET" : method
  const known = plain.get(path)?.endpoints.get(wanted)
  if (known !== undefined) return { endpoint: known.endpoint, params: {} }
  const segments = decodedSegments(path)
  if (segments === undefined) return notFound()
  const leaves: Array<{ readonly at: Branch; readonly values: ReadonlyArray<string> }> = []
  const walk = (at: Branch, depth: number, values: ReadonlyArray<string>): void => {
    if (depth === segments.length) {
      if (at.endpoints.size > 0) leaves.push({ at, values })
      return
    }
    const segment = itemAt(segments, depth)
    const literal = at.literal.get(segment)
    if (literal !== undefined) walk(literal, depth + 1, values)
    if (at.param !== undefined) walk(at.param, depth + 1, [...values, segment])
  }
  walk(root, 0, [])
  if (leaves.length === 0) return notFound()
  for (const { at, values } of leaves) {
    const found =
      at.endpoints.get(wanted) ??
      // PUT and PATCH are interchangeable if only one is declared (rules/conventions 8).
      (wanted === "PATCH" ? at.endpoints.get("PUT") : wanted === "PUT" ? at.endpoints.get("PATCH") : undefined)
    if (found !== undefined)
      return {
        endpoint: found.endpoint,
        params: Object.fromEntries(found.names.map((name, index) => [name, itemAt(values, index)]))
      }
  }
  const allowed = [...new Set(leaves.flatMap(({ at }) => [...at.endpoints.keys()]))].sort().join(", ")
  return new Rejection({
    kind: "method_not_allowed",
    message: `This path answers to ${allowed}.`,
    headers: { allow: allowed }
  })
}

/** Answers a read, or decides and records a write. */
export const dispatch = (call: EndpointCall): Effect.Effect<Answer, Failure, Store | CommandRuntime> =>
  call.endpoint.kind === "query"
    ? answerQuery(call)
    : Effect.map(runCommand(call), ({ answer, result }: Outcome): Answer => ({ ...answer, about: result }))

/** Answers a read. A missing row of the path is reported before any other refusal, even if `run` finds it. */
const answerQuery = (call: EndpointCall): ReturnType<typeof runQuery> => {
  const { endpoint, params } = call
  return Object.values(endpoint.params).every(({ found_by_run }) => found_by_run !== true)
    ? runQuery(call)
    : Effect.catch(runQuery(call), (failure) =>
        failure instanceof Rejection
          ? Effect.andThen(pathRows(endpoint, params, true), Effect.fail(failure))
          : Effect.fail(failure)
      )
}
const runQuery = (call: EndpointCall) =>
  CommandRuntime.use((runtime) => Effect.clockWith((clock) => queried(call, runtime, clock.currentTimeMillisUnsafe())))
const queried = Effect.fnUntraced(function* (
  call: EndpointCall,
  runtime: CommandRuntime["Service"],
  now: number
): CommandRuntime.Reads<Answer> {
  const input = yield* prepare(call, runtime, instantOf(now))
  const { endpoint, request } = call
  const answered = endpoint.kind === "query" ? yield* endpoint.run(input) : yield* notFound()
  // A list that ignores `view_id` supports no views.
  if (
    request.method !== "POST" &&
    (valueOf(request.query, "view_id")?.trim() ?? "") !== "" &&
    isPlainList(answered.body)
  )
    return yield* noSuchView()
  return yield* sayingIgnored(endpoint, request, answered)
})
const isPlainList = (body: Answer["body"]): boolean =>
  isJsonObject(body) && Array.isArray(Object.values(body)[0]) && !(isJsonObject(body["meta"]) && "view" in body["meta"])

/** Matches and dispatches a request for an authenticated viewer. */
export const answer = (
  catalogue: Catalogue,
  request: Request,
  viewer: Viewer
): Effect.Effect<Answer, Failure, Store | CommandRuntime> => {
  const found = match(catalogue, request.method, request.path)
  return found instanceof Rejection ? Effect.fail(found) : dispatch({ ...found, request, viewer })
}

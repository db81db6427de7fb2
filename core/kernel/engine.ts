/**
 * The engine: one write, from a request to recorded events, inside one transaction. Rows of the path → may this person →
 * body → facts → the rule → reactions → events folded into the tables and appended → the answer. Anything refused changes nothing.
 */
import { Clock, Effect, Result, Schema } from "effect"
import { instantOf } from "../values/time.ts"
import { withAutoNumbers } from "./auto-number.ts"
import type {
  Answer,
  CommandEndpoint,
  DecideContext,
  Decided,
  Decision,
  Endpoint,
  Failure,
  Input,
  Request
} from "./endpoint.ts"
import { type StoredEvent, streamOf } from "./event.ts"
import type { Fields } from "./field.ts"
import { missingReferenceText, readFields, type Reference } from "./input.ts"
import { isJsonObject, type JsonObject } from "./json.ts"
import { factsOf, react, reactionsTo, rounds_max } from "./react.ts"
import { changesOf, cascadeDeletions, lockReferencedRows } from "./reference-checks.ts"
import { isDeletable } from "./references.ts"
import { forbidden, invalid, invalidField, notFound, Rejection } from "./rejection.ts"
import { baseCurrency, type Settings } from "./settings.ts"
import { CommandRuntime } from "./command-runtime.ts"
import { isRetryable, constraintRejection, Store } from "./store/store.ts"
import type { AnyRow, Table } from "./table.ts"
import { hasAbility, hasOnePermission, type Viewer } from "./viewer.ts"

/** What was matched and by whom it is asked. */
export interface EndpointCall {
  readonly endpoint: Endpoint
  readonly params: { readonly [name: string]: string }
  readonly request: Request
  readonly viewer: Viewer
}
/** Where a command comes from: ids it drew when it was first decided are drawn again. */
export interface CommandMetadata {
  readonly command_id?: string
  readonly replica_id?: number | null
  readonly ids?: { readonly [table: string]: ReadonlyArray<number> }
}
export interface Outcome {
  readonly answer: Answer
  /** What the rule gave the answer to be about. */
  readonly result: JsonObject
  readonly events: ReadonlyArray<StoredEvent>
  readonly command_id: string
  /** Ids by table, in the order they were drawn. */
  readonly ids: { readonly [table: string]: ReadonlyArray<number> }
}

const attempts_max = 8

/** Decides and records one command. Faults the database calls transient are tried again from the start. */
export const runCommand = (
  call: EndpointCall,
  command_metadata: CommandMetadata = {}
): Effect.Effect<Outcome, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const store = yield* Store
    return yield* store.transaction(decideCommand(call, command_metadata))
  }).pipe(retryOnConflict)

/** Tries a transaction again after conflicts with other writers; a lasting overlap is told as what it is. */
export const retryOnConflict = <A, R>(
  effect: Effect.Effect<A, Failure, R>
): Effect.Effect<A, Failure, R | CommandRuntime> => {
  const attempt = (left: number): Effect.Effect<A, Failure, R | CommandRuntime> =>
    Effect.catch(effect, (failure): Effect.Effect<A, Failure, R | CommandRuntime> =>
      failure instanceof Rejection
        ? Effect.fail(failure)
        : Effect.gen(function* () {
            const refusal = constraintRejection(failure, (yield* CommandRuntime).catalogue.tables)
            if (refusal instanceof Rejection) return yield* refusal
            if ((refusal === "overlap" || isRetryable(failure)) && left > 1) {
              yield* Effect.sleep((attempts_max - left + 1) * 5)
              return yield* attempt(left - 1)
            }
            if (refusal === "overlap") return yield* overlapRejection
            return yield* failure
          })
    )
  return attempt(attempts_max)
}

/**
 * Decides and records in a savepoint of the caller's transaction: refused, it leaves nothing. What the database refuses is
 * told as the field to blame; a claim that lost a race is decided once more, so that the rule can name the holder.
 */
export const decideInSavepoint = (
  call: EndpointCall,
  command_metadata: CommandMetadata
): Effect.Effect<Outcome, Failure, Store | CommandRuntime> => {
  const attempt = (left: number): Effect.Effect<Outcome, Failure, Store | CommandRuntime> =>
    Effect.flatMap(Store, (store) => store.transaction(decideCommand(call, command_metadata))).pipe(
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
  return attempt(1)
}
const overlapRejection = invalidField("base", "Something it claims is held by somebody else in that window.")

/** Decides and records inside the caller's transaction (or savepoint). */
export const decideCommand = Effect.fnUntraced(function* (
  call: EndpointCall,
  command_metadata: CommandMetadata
): Effect.fn.Return<Outcome, Failure, Store | CommandRuntime> {
  const runtime = yield* CommandRuntime
  const endpoint = call.endpoint as CommandEndpoint
  const now = instantOf(yield* Clock.currentTimeMillis)
  yield* lockCommandStreams(endpoint, call)
  const input = yield* prepare(call, now)
  const facts = yield* endpoint.facts(input)
  const ids = yield* makeIdAllocator(command_metadata.ids ?? {}, endpoint.creates)
  const decision = yield* decideWithIds(endpoint, facts, input, ids)
  const command_id = command_metadata.command_id ?? (yield* runtime.commandId)
  const decided = yield* withAutoNumbers(decision.events)
  const { projection } = runtime.catalogue
  const changes = changesOf(projection, decided, now)
  const cleared = yield* cascadeDeletions(runtime.catalogue, changes, call.viewer)
  const happened = [...decided, ...cleared]
  const metadata = {
    command_id,
    actor_id: call.viewer.user_id === 0 ? null : call.viewer.user_id,
    replica_id: command_metadata.replica_id ?? null,
    recorded_at: now
  }
  yield* runtime.project(happened, metadata)
  yield* lockReferencedRows(runtime.catalogue, [...changes, ...changesOf(projection, cleared, now)], now)
  const answer = yield* endpoint.respond(decision.result, input)
  return {
    answer,
    result: decision.result,
    events: yield* runtime.append(happened, metadata),
    command_id,
    ids: ids.used()
  }
})

/**
 * The answer of a command that was carried out before, of what it made as that is by now. It changes nothing. A stored
 * result that its endpoint does not read any more is a defect.
 */
export const replayAnswer = Effect.fnUntraced(function* (
  call: EndpointCall,
  result: unknown
): Effect.fn.Return<Answer, Failure, Store | CommandRuntime> {
  const input = yield* prepare(call, instantOf(yield* Clock.currentTimeMillis))
  const endpoint = call.endpoint as CommandEndpoint
  return yield* endpoint.respond(yield* Effect.orDie(Schema.decodeUnknownEffect(endpoint.result)(result)), input)
})

/** The row locks of an event-sourced store: writers of one stream wait for each other. SQLite has one writer anyway. */
const lockCommandStreams = Effect.fnUntraced(function* (endpoint: CommandEndpoint, call: EndpointCall) {
  const store = yield* Store
  if (store.dialect !== "pg") return
  const first = Object.entries(endpoint.params)[0]
  // As read, so that 7 and "7" name one stream; what does not hold names none, and is refused further on.
  const body =
    endpoint.streams === undefined || !isJsonObject(call.request.body)
      ? {}
      : readFields(endpoint.fields, call.request.body, { mode: endpoint.mode, base_currency: "GBP" }).values
  const streams =
    endpoint.streams?.(call.params, body) ??
    (first === undefined ? [] : [streamOf(first[1].table.entity, call.params[first[0]] ?? "")])
  yield* lockStreams(streams)
})
/** Waits until no other writer holds these streams, and holds them to the end: for facts that find out late what changes. */
export const lockStreams = Effect.fnUntraced(function* (streams: ReadonlyArray<string>) {
  const store = yield* Store
  if (store.dialect !== "pg") return
  // Named after what was sent, before it is looked at: Postgres takes no NUL and no half of a character, not even to lock.
  const named = [...new Set(streams.map((one) => one.replaceAll("\u0000", "").toWellFormed()))].sort()
  // One statement for all of them, one after the other as listed: whoever wants several takes them in the same order.
  if (named.length === 1) yield* store.run("select pg_advisory_xact_lock(hashtextextended($1, 0))", named)
  else if (named.length > 1) {
    yield* store.run(
      "select count(pg_advisory_xact_lock(hashtextextended(stream, 0))) from json_array_elements_text($1::json) as given (stream)",
      [JSON.stringify(named)]
    )
  }
})

/** 404, then 403, for which no body is needed; gives the rows of the path. */
export const authorizeCall = Effect.fnUntraced(function* ({
  endpoint,
  params,
  request: { query },
  viewer
}: Omit<EndpointCall, "request"> & { readonly request: Pick<Request, "query"> }) {
  const rows = yield* pathRows(endpoint, params)
  yield* checkPermission(endpoint, viewer)
  if (endpoint.authorize !== undefined) yield* endpoint.authorize({ rows, query, viewer })
  return rows
})

/** 404, then 403, then 422: the order every endpoint answers in (rules/conventions 1). */
export const prepare = Effect.fnUntraced(function* (
  call: EndpointCall,
  now: string
): Effect.fn.Return<Input, Failure, Store | CommandRuntime> {
  const { endpoint, params, request, viewer } = call
  const rows = yield* authorizeCall(call)
  if (request.body_fault !== undefined) return yield* request.body_fault
  const settings: Settings = yield* (yield* CommandRuntime).settings
  const given =
    endpoint.kind === "query" && endpoint.method === "GET" ? queryBody(request, endpoint.fields) : (request.body ?? {})
  if (!isJsonObject(given)) return yield* invalidField("body", "The body must be a JSON object.")
  // Money is read in the currency of what is changed, or of what something is added to.
  const current = Object.values(rows).at(-1) as JsonObject | undefined
  const read = readFields(endpoint.fields, given, {
    mode: endpoint.mode,
    base_currency: baseCurrency(settings),
    ...(current === undefined ? {} : { current })
  })
  const errors = {
    ...endpoint.check?.(read.values, given),
    ...read.errors,
    ...(read.references.length === 0 ? {} : yield* missingReferences(read.references, endpoint.kind === "command"))
  }
  if (Object.keys(errors).length > 0) return yield* invalid(errors)
  return {
    rows,
    params,
    values: read.values,
    body: given,
    query: request.query,
    viewer,
    settings,
    now,
    ...(request.files === undefined ? {} : { files: request.files })
  } as Input
})

const pathRows = Effect.fnUntraced(function* (endpoint: Endpoint, params: { readonly [name: string]: string }) {
  const store = yield* Store
  const rows: { [name: string]: AnyRow } = {}
  for (const [name, param] of Object.entries(
    endpoint.params as Input["rows"] & {
      [name: string]: { table: Table; with_deleted?: boolean; of?: { param: string; column: string } }
    }
  )) {
    const key = param.table.columns[param.table.key]?.type.kind === "text" ? params[name]! : rowId(params[name])
    const row = key === undefined ? undefined : ((yield* store.get(param.table, key)) as AnyRow | undefined)
    const gone =
      row === undefined || (param.table.soft_delete && param.with_deleted !== true && row["deleted_at"] !== null)
    const foreign = !gone && param.of !== undefined && row[param.of.column] !== rows[param.of.param]?.["id"]
    if (gone || foreign) return yield* notFound(`No such ${param.table.entity.replaceAll("_", " ")}.`)
    rows[name] = row
  }
  return rows
})
/** An id as a path gives it; anything that is no positive integer names no row. */
export const rowId = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined

/** What whoever has no account any more is told, their devices too. */
export const deactivated_message = "This account has been deactivated."
/** Deactivated account, then permission, then ability, each 403. */
export const checkPermission = (endpoint: Endpoint, viewer: Viewer): Effect.Effect<void, Rejection> => {
  if (!viewer.is_active) return Effect.fail(forbidden(deactivated_message))
  const permissions = asList(endpoint.permission)
  if (permissions.length > 0 && !permissions.some((one) => hasOnePermission(viewer, one))) {
    return Effect.fail(forbidden(`This needs the permission ${permissions.join(" or ")}.`))
  }
  const abilities = asList(endpoint.ability)
  if (abilities.length > 0 && !abilities.some((one) => hasAbility(viewer, one))) {
    return Effect.fail(forbidden(`The token lacks the ability ${abilities.join(" or ")}.`))
  }
  return Effect.void
}
const asList = (value: string | ReadonlyArray<string> | null): ReadonlyArray<string> =>
  value === null ? [] : typeof value === "string" ? [value] : value

/**
 * Query parameters as a body. Of a plain name the last value counts, and all of `name[]`. Parameters that hold several
 * values take them as filters do: parted by commas (`ids=1,2`), repeated (`ids=1&ids=2`) or in brackets (`ids[]=1&ids[]=2`).
 */
const queryBody = (request: Request, fields: Fields): JsonObject => {
  const body: { [name: string]: string | Array<string> } = {}
  const add = (name: string, values: ReadonlyArray<string>): void => {
    const before = body[name]
    body[name] = Array.isArray(before) ? [...before, ...values] : [...values]
  }
  for (const [key, value] of request.query) {
    const many = key.startsWith("q[") ? null : /^(.*)\[\d*\]$/.exec(key)
    if (many !== null) add(many[1]!, [value])
    else if (!Object.hasOwn(fields, key) || fields[key]!.type.kind !== "list") body[key] = value
    // Nothing after the equals sign is no value, not one empty text.
    else if (value.trim() !== "")
      add(
        key,
        value.split(",").map((one) => one.trim())
      )
    else body[key] ??= value
  }
  return body
}

/** `hold`: what a command is about to refer to must still be there when it commits. */
const missingReferences = Effect.fnUntraced(function* (references: ReadonlyArray<Reference>, hold: boolean) {
  const store = yield* Store
  const { catalogue } = yield* CommandRuntime
  const errors: { [path: string]: ReadonlyArray<string> } = {}
  const tables = new Map<string, Array<Reference>>()
  for (const one of references) tables.set(one.table, [...(tables.get(one.table) ?? []), one])
  for (const [name, wanted] of tables) {
    const table = catalogue.table(name)
    const read = hold && isDeletable(catalogue.references, table) ? store.getManyLocked : store.getMany
    const rows = new Map(
      (yield* read(
        table,
        wanted.map((one) => one.id)
      )).map((row) => [(row as AnyRow)["id"], row as AnyRow])
    )
    for (const one of wanted) {
      const row = rows.get(one.id)
      if (row === undefined || (one.live && table.soft_delete && row["deleted_at"] !== null))
        errors[one.path] = [missingReferenceText(one.path)]
    }
  }
  return errors
})

interface IdAllocator {
  readonly context: Pick<DecideContext, "id" | "number">
  readonly reset: () => void
  /** How many more of each were asked for than there were, since the last rewind. */
  readonly shortfall: () => { readonly ids: ReadonlyMap<string, number>; readonly numbers: ReadonlyMap<string, number> }
  readonly add: (table: string, ids: ReadonlyArray<number>) => void
  readonly addNumber: (sequence: string, number: number | null) => void
  readonly used: () => { readonly [table: string]: ReadonlyArray<number> }
  /** Freshly drawn and not used. */
  readonly unused: () => ReadonlyArray<readonly [table: string, ids: ReadonlyArray<number>]>
}
/** What stands in for ids that are not drawn yet: the rule is asked again before anything comes of them. */
const first_placeholder_id = 2 ** 52
const makeIdAllocator = Effect.fnUntraced(function* (
  recorded: { readonly [table: string]: ReadonlyArray<number> },
  creates: ReadonlyArray<Table>
) {
  const runtime = yield* CommandRuntime
  const ids = new Map<string, Array<number>>(Object.entries(recorded).map(([table, list]) => [table, [...list]]))
  const before = new Map([...ids].map(([table, list]) => [table, list.length]))
  const numbers = new Map<string, Array<number | null>>()
  const asked = { ids: new Map<string, number>(), numbers: new Map<string, number>() }
  let placeholder_id = first_placeholder_id
  const next = (counts: Map<string, number>, name: string): number => {
    const index = counts.get(name) ?? 0
    counts.set(name, index + 1)
    return index
  }
  const beyond = (
    counts: ReadonlyMap<string, number>,
    there: ReadonlyMap<string, ReadonlyArray<unknown>>
  ): ReadonlyMap<string, number> =>
    new Map(
      [...counts]
        .map(([name, count]) => [name, count - (there.get(name)?.length ?? 0)] as const)
        .filter(([, count]) => count > 0)
    )
  const allocator: IdAllocator = {
    context: {
      id: ({ name }) => {
        const index = next(asked.ids, name)
        return ids.get(name)?.[index] ?? placeholder_id++
      },
      number: (sequence) => {
        const index = next(asked.numbers, sequence)
        const found = numbers.get(sequence)?.[index]
        return found === undefined ? placeholder_id++ : found
      }
    },
    reset: () => {
      asked.ids.clear()
      asked.numbers.clear()
    },
    shortfall: () => ({ ids: beyond(asked.ids, ids), numbers: beyond(asked.numbers, numbers) }),
    add: (table, more) => {
      ids.set(table, [...(ids.get(table) ?? []), ...more])
    },
    addNumber: (sequence, number) => {
      numbers.set(sequence, [...(numbers.get(sequence) ?? []), number])
    },
    used: () => Object.fromEntries([...ids].map(([table, list]) => [table, list.slice(0, asked.ids.get(table) ?? 0)])),
    unused: () =>
      [...ids]
        .map(
          ([table, list]) => [table, list.slice(Math.max(asked.ids.get(table) ?? 0, before.get(table) ?? 0))] as const
        )
        .filter(([, list]) => list.length > 0)
  }
  for (const table of creates)
    if (!ids.has(table.name)) allocator.add(table.name, yield* runtime.allocateIds(table.name, 1))
  return allocator
})

/**
 * A rule is pure, and so are the reactions to what it decides: they are asked once to learn how many ids and numbers they
 * need beyond those drawn, and again with them.
 */
const decideWithIds = Effect.fnUntraced(function* (
  endpoint: CommandEndpoint,
  facts: unknown,
  input: Input,
  allocator: IdAllocator
) {
  const runtime = yield* CommandRuntime
  const context: DecideContext = {
    now: input.now,
    viewer: input.viewer,
    settings: input.settings,
    ...allocator.context
  }
  const read: Array<ReadonlyArray<unknown>> = []
  for (;;) {
    allocator.reset()
    const decided = yield* Effect.sync((): Decided<JsonObject> => endpoint.decide(facts, input, context))
    const whole = Result.isFailure(decided) ? decided : yield* withReactions(decided.success, read, context, allocator)
    if (whole !== undefined) {
      for (const [table, left] of allocator.unused()) yield* runtime.releaseIds(table, left)
      return yield* Effect.fromResult(whole)
    }
    const { ids, numbers } = allocator.shortfall()
    for (const [table, count] of ids) allocator.add(table, yield* runtime.allocateIds(table, count))
    for (const [sequence, count] of numbers) {
      for (let more = 0; more < count; more++) allocator.addNumber(sequence, yield* runtime.nextNumber(sequence))
    }
  }
})

/**
 * A decision with the events that follow from it, and from those, round by round; undefined while ids or numbers are
 * lacking. `read` keeps the facts of each round: they are read once the events before it are as they will be recorded.
 */
const withReactions = Effect.fnUntraced(function* (
  decision: Decision<JsonObject>,
  read: Array<ReadonlyArray<unknown>>,
  context: DecideContext,
  allocator: IdAllocator
): Effect.fn.Return<Decided<JsonObject> | undefined, Failure, Store | CommandRuntime> {
  const { reactions } = (yield* CommandRuntime).catalogue
  const isLacking = (): boolean => {
    const { ids, numbers } = allocator.shortfall()
    return ids.size > 0 || numbers.size > 0
  }
  let events = decision.events
  let due = reactionsTo(reactions, events, events)
  for (let round = 0; due.length > 0; round++) {
    if (isLacking()) return undefined
    if (round === rounds_max)
      return yield* Effect.die(new Error(`reactions to ${due[0]!.happened.events[0]!.type} come to no end`))
    const facts = (read[round] ??= yield* factsOf(due, context))
    const followed = react(due, facts, context)
    if (Result.isFailure(followed)) return Result.fail(followed.failure)
    events = [...events, ...followed.success]
    due = reactionsTo(reactions, followed.success, events)
  }
  return isLacking() ? undefined : Result.succeed({ ...decision, events })
})

/**
 * Records commands on a device: decided by the same rules as on the server, and written to the outbox before the
 * answer.
 */
import { Clock, Effect } from "effect"
import { baseCurrency, bodyOf, CommandRuntime, currencyColumn, isJsonObject } from "../../../core/kernel/index.ts"
import { readFields, Rejection, rememberingRows, render, sameJson, statusOf } from "../../../core/kernel/index.ts"
import { operationOf, Store, unremembered, viewContext, wholeNumberOf } from "../../../core/kernel/index.ts"
import type { AnyRow, Catalogue, Endpoint, EndpointCall, Failure } from "../../../core/kernel/index.ts"
import type { Json, JsonObject, Outcome, Settings, Table, Viewer } from "../../../core/kernel/index.ts"
import { type Image, refuseWhileMissing, saveLastRun } from "../outbox/replica-tables.ts"
import { instantOf } from "../../../core/values/time.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import { redactionFor } from "../../protocol/redaction.ts"
import { redactionOfOutbox } from "../outbox/redact-outbox.ts"
import type { CommandContext } from "../outbox/rows.ts"
import { keptReads, relaxedDurability, runDue } from "./replica-parts.ts"
import type { QueryResult, ReplicaParts, Rerecording } from "./replica-parts.ts"
import { referencesOfCommand, rowPreconditions, rowReference } from "../outbox/references.ts"

// Undo data: the rows a command changed on the replica, as of before.

/** Maximum number of changed rows to store; a command that changed more cannot be undone on the device. */
const rows_max = 2_000

/**
 * Rows changed, by `table/key`: earlier values of existing ones, and the created ones; undefined if there are too many.
 */
const changedRows = (images: ReadonlyArray<Image>) => {
  if (images.length > rows_max) return undefined
  const rows: { [row: string]: JsonObject } = {}
  const made = new Set<string>()
  for (const { key, row: before, table } of images) {
    const row = `${table}/${key}`
    if (row in rows || made.has(row)) continue
    if (before === undefined) made.add(row)
    else rows[row] = before
  }
  return { rows, made: [...made] }
}

// An update is recorded with only the fields the user changed, not the complete object that a form or script sends, so
// that users editing different fields of a row do not overwrite each other. With `seen` fields it also records what the
// user saw.

/** The call with only the fields that differ from the replica's row; the same call if none or all differ. */
const toPatch = Effect.fnUntraced(function* (catalogue: Catalogue, call: EndpointCall, now: string) {
  const { endpoint, request } = call
  const body = request.body
  if (endpoint.mode !== "update" || !operationOf(endpoint).startsWith("update") || !isJsonObject(body)) return call
  const settings = yield* (yield* CommandRuntime).settings
  const kept = yield* endpoint.name === "settings.update"
    ? Effect.succeed(changedSettings(settings, call.params["group"] ?? "", body))
    : changedFields(catalogue, call, settings, body, now)
  return kept === undefined || Object.keys(kept).length === 0 || sameJson(kept, body)
    ? call
    : { ...call, request: { ...request, body: kept } }
})

/** The call with the values the user saw in the row of its path, for the fields the endpoint lists in `seen`. */
const withSeen = (call: EndpointCall) => {
  const { endpoint, request } = call
  const body = isJsonObject(request.body) ? request.body : {}
  const missing = Object.entries(endpoint.seen).filter(([field]) => body[field] === undefined)
  return missing.length === 0 ? Effect.succeed(call) : withSeenFields(call, body, missing)
}
const withSeenFields = Effect.fnUntraced(function* (
  call: EndpointCall,
  body: JsonObject,
  missing: ReadonlyArray<readonly [field: string, column: string]>
) {
  const { request } = call
  const target = yield* rowOfPath(call)
  if (target === undefined) return call
  const seen = Object.fromEntries(missing.map(([field, column]) => [field, target.row[column] ?? null]))
  return { ...call, request: { ...request, body: { ...body, ...seen } } }
})

/** The row that the last parameter of the path names. */
const rowOfPath = Effect.fnUntraced(function* ({ endpoint, params }: Pick<EndpointCall, "endpoint" | "params">) {
  const [name = "", param] = Object.entries(endpoint.params).at(-1) ?? []
  const id = wholeNumberOf(params[name])
  if (param === undefined || id === undefined) return undefined
  const row: AnyRow | undefined = yield* Store.get(param.table, id)
  return row && { table: param.table, row }
})

const changedFields = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  call: EndpointCall,
  settings: Settings,
  body: JsonObject,
  now: string
) {
  const { endpoint, viewer } = call
  const target = yield* rowOfPath(call)
  if (target === undefined) return undefined
  const { row, table } = target
  const fields = endpoint.fields
  const { values } = readFields(fields, body, { mode: "update", base_currency: baseCurrency(settings), current: row })
  const changed = new Set(
    Object.keys(body).filter(
      (field) =>
        fields[field] !== undefined && !isUnchanged(table, row, field, body[field] === null ? null : values[field])
    )
  )
  for (const group of endpoint.together)
    if (group.some((field) => changed.has(field))) for (const field of group) changed.add(field)
  // An amount is sent with its currency, as it would otherwise be read in another one.
  for (const field of changed) {
    const currency = currencyColumn(fields[field])
    if (currency !== undefined) changed.add(currency)
  }
  const kept: { [field: string]: Json } = Object.fromEntries(
    Object.entries(body).filter(([field]) => changed.has(field))
  )
  const resource = catalogue.resources.find((one) => one.table === table)
  const elsewhere = Object.keys(kept).filter((field) => field === "custom_fields" || table.columns[field] === undefined)
  if (resource === undefined || elsewhere.length === 0) return kept
  // Fields without a column of the same name are compared with the rendered row.
  const [view = {}] = yield* render(
    resource,
    [row],
    [],
    viewContext({ viewer, settings, now, composed: catalogue.composed })
  )
  for (const field of elsewhere) {
    const own = ownValue(field, view[field], kept[field]!)
    if (own === undefined) delete kept[field]
    else kept[field] = own
  }
  return kept
})
/** A field's value that differs, of custom fields those that do; undefined if none does. */
const ownValue = (field: string, shown: Json | undefined, sent: Json): Json | undefined => {
  if (field !== "custom_fields") return sameJson(shown ?? null, sent) ? undefined : sent
  if (!isJsonObject(sent)) return sent
  const changed = Object.entries(sent).filter(
    ([key, value]) => !sameJson((isJsonObject(shown) ? shown[key] : undefined) ?? null, value)
  )
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

/** Whether the value equals the column of the same name. */
const isUnchanged = (table: Table, row: AnyRow, field: string, value: Json | undefined): boolean =>
  field !== "custom_fields" &&
  value !== undefined &&
  table.columns[field] !== undefined &&
  sameJson(value, row[field] ?? null)

/** Settings that differ or are unknown here (secrets); undefined if none does. */
const changedSettings = (settings: Settings, group: string, body: JsonObject): JsonObject | undefined => {
  const sent = body["settings"]
  if (!isJsonObject(sent)) return undefined
  const own = Object.fromEntries(
    Object.entries(sent).filter(([key, value]) => {
      const here = settings[group]?.[key]
      return here === undefined || !sameJson(here, value)
    })
  )
  return Object.keys(own).length === 0 ? undefined : { ...body, settings: own }
}

const eventsOf = ({ events }: Outcome) => events.map(({ stream, type, data }) => ({ stream, type, data }))

/** Decides an update with only the changed fields; if that is refused or changes nothing, with the complete body. */
const decidePatch = Effect.fnUntraced(function* (
  { catalogue, decide }: ReplicaParts,
  sent: EndpointCall,
  id: string,
  recorded: Parameters<ReplicaParts["decide"]>[2],
  how: Parameters<ReplicaParts["decide"]>[3]
) {
  const call = yield* withSeen(sent)
  const own = yield* toPatch(catalogue, call, instantOf(yield* Clock.currentTimeMillis))
  const outcome =
    own === call
      ? undefined
      : yield* decide(own, id, recorded, { ...how, refusal_ends: false }).pipe(
          Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(undefined) : Effect.fail(failure)))
        )
  return outcome !== undefined && outcome.events.length > 0
    ? { decided: own, outcome }
    : { decided: call, outcome: yield* decide(call, id, recorded, how) }
})

/** A call whose user is not read yet. */
type UnreadCall = Omit<EndpointCall, "viewer">
/**
 * Decides and records a command. With `plan` nothing is recorded, and the answer has the events. `again`: how to record
 * a command that replaces others.
 */
export const recordCommand = (
  parts: ReplicaParts,
  call: UnreadCall,
  plan: boolean,
  again?: Rerecording
): Effect.Effect<QueryResult, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const store = yield* Store
    // Within a larger transaction nothing is kept: what it wrote before may be rolled back.
    const kept = (yield* store.openTransaction) === undefined ? keptReads(store) : undefined
    const work = rememberingRows(recordInside(parts, call, plan, again, kept))
    const recorded = kept === undefined ? work : Effect.provideService(work, Store, kept.store)
    return yield* relaxedDurability(plan ? store.rolledBack(recorded) : store.transaction(recorded))
  })

/** A call, or a function that builds it from the ids created by earlier calls of the series. */
export type CallAfter = (made: ReadonlyArray<WireCommand["ids"]>) => EndpointCall | Rejection
/**
 * Results of several commands, each decided after the earlier ones; a refused one changes nothing for the next. Nothing
 * is recorded.
 */
export const planSeries = (
  parts: ReplicaParts,
  calls: ReadonlyArray<CallAfter>,
  ids: ReadonlyArray<WireCommand["ids"]>
): Effect.Effect<ReadonlyArray<QueryResult>, Failure, Store | CommandRuntime> =>
  Effect.flatMap(Store, (store) => store.rolledBack(planInside(parts, calls, ids)))
const refusalOf = (rejection: Rejection): QueryResult => ({ status: statusOf[rejection.kind], body: bodyOf(rejection) })
const planInside = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  calls: ReadonlyArray<CallAfter>,
  first_ids: ReadonlyArray<WireCommand["ids"]>
): CommandRuntime.Reads<ReadonlyArray<QueryResult>> {
  yield* runDue(parts, yield* refuseWhileMissing(parts.outbox))
  const answers: Array<QueryResult> = []
  const made: Array<WireCommand["ids"]> = []
  for (const [at, callAfter] of calls.entries()) {
    const call = callAfter(made)
    const planned = (
      call instanceof Rejection
        ? Effect.fail(call)
        : decidePatch(parts, call, parts.commandId(), { ids: first_ids[at] ?? {} }, { continues: at > 0 })
    ).pipe(
      Effect.map(({ outcome }) => ({
        answer: { ...outcome.answer, events: eventsOf(outcome) } satisfies QueryResult,
        ids: outcome.ids
      })),
      Effect.catch((failure) =>
        failure instanceof Rejection ? Effect.succeed({ answer: refusalOf(failure), ids: {} }) : Effect.fail(failure)
      )
    )
    const { answer, ids } = yield* planned
    answers.push(answer)
    made.push(ids)
  }
  return answers
})

/** How a command's effects are redacted for its user; the last user's is kept. */
const redactions = new WeakMap<ReplicaParts, { readonly viewer: Viewer; readonly recorded: RedactRecorded }>()
const redactionOf = (parts: ReplicaParts, viewer: Viewer): RedactRecorded => {
  const last = redactions.get(parts)
  if (last?.viewer === viewer) return last.recorded
  const { catalogue, replica_id } = parts
  const { recorded } = redactionOfOutbox(catalogue, redactionFor(catalogue, viewer, replica_id))
  redactions.set(parts, { viewer, recorded })
  return recorded
}
type RedactRecorded = ReturnType<typeof redactionOfOutbox>["recorded"]

/** Effects of a command and its undo data, redacted together: they share the events and most rows. */
const effectsOf = (
  redact: RedactRecorded,
  outcome: Outcome,
  rows: { readonly [row: string]: JsonObject },
  done: ReturnType<typeof changedRows>
): Pick<CommandContext, "recorded" | "done"> => {
  const redacted = redact({ events: eventsOf(outcome), rows: { ...done?.rows, ...rows } })
  const { events } = redacted
  const only = (wanted: { readonly [row: string]: JsonObject }) =>
    Object.fromEntries(Object.entries(redacted.rows).filter(([row]) => row in wanted))
  return {
    recorded: { events, rows: only(rows) },
    ...(done === undefined ? {} : { done: { events, rows: only(done.rows), made: done.made } })
  }
}

/** The replica's rows in a command's path, by `table/id`. */
const rowsOfPath = Effect.fnUntraced(function* (endpoint: Endpoint, params: WireCommand["payload"]["params"]) {
  const rows: { [row: string]: JsonObject } = {}
  for (const [name, { table }] of Object.entries(endpoint.params)) {
    const id = wholeNumberOf(params[name])
    const row = id === undefined ? undefined : yield* Store.get(table, id)
    if (id !== undefined && row !== undefined) rows[rowReference({ table: table.name, id })] = row
  }
  return rows
})

const recordInside = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  unread: UnreadCall,
  plan: boolean,
  again: Rerecording | undefined,
  kept: ReturnType<typeof keptReads> | undefined
): CommandRuntime.Reads<QueryResult> {
  const { at, catalogue, outbox } = parts
  const progress = yield* refuseWhileMissing(outbox)
  const { position: base } = progress
  kept?.begin(progress.data_version)
  // Before anything else is read, and without this command's rows: each of the commands due would copy them.
  yield* unremembered(runDue(parts, progress))
  const call = { ...unread, viewer: yield* parts.viewer }
  const id = parts.commandId()
  const rows = yield* rowsOfPath(call.endpoint, call.params)
  const { decided, outcome } = yield* decidePatch(parts, call, id, again ?? {}, { refusal_ends: true })
  if (plan) return { ...outcome.answer, events: eventsOf(outcome) }
  const [first] = outcome.events
  // A write without events needs no verdict.
  if (first === undefined) return outcome.answer
  at("decided")
  const { files } = call.request
  const payload: WireCommand["payload"] = {
    params: call.params,
    body: isJsonObject(decided.request.body) ? decided.request.body : {},
    ...(files === undefined ? {} : { files })
  }
  const references = referencesOfCommand(call.endpoint, payload)
  const about: CommandContext = {
    base,
    named: references.map(rowReference),
    rows_seen: yield* rowPreconditions(catalogue, references),
    ...effectsOf(redactionOf(parts, call.viewer), outcome, rows, changedRows(parts.images())),
    ...(again?.replaces === undefined ? {} : { replaces: again.replaces }),
    ...(again?.undoes === undefined ? {} : { undoes: again.undoes }),
    ...(again?.needs === undefined ? {} : { needs: again.needs }),
    ...(again?.unless_changed === undefined ? {} : { unless_changed: { ...again.unless_changed, since: base } }),
    ...(parts.run === undefined ? {} : { run: parts.run() })
  }
  const { n } = yield* Effect.sync(() =>
    outbox.append(
      { id, name: call.endpoint.name, payload, ids: outcome.ids, issued_at: again?.issued_at ?? first.recorded_at },
      about
    )
  )
  at("in the outbox")
  yield* saveLastRun(n)
  return { ...outcome.answer, command: { n, id } }
})

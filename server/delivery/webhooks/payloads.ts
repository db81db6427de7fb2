/**
 * Webhook bodies, rendered from current rows as lists show them to administrators. One query per resource, for any
 * number of events.
 */
import { anything, type Keys, keys, map, row } from "../../../core/kernel/lists/answer-schema.ts"
import { CommandRuntime, decodeData, foldStored, integer, journal, render, Store } from "../../../core/kernel/index.ts"
import { text, viewContext, type ViewContext } from "../../../core/kernel/index.ts"
import type { AnyRow, Catalogue, JsonObject, Resource, StoredEvent, Table } from "../../../core/kernel/index.ts"
import { viewerNamed } from "../../ports/server-context.ts"
import { Clock, Effect } from "effect"
import { instantOf } from "../../../core/values/time.ts"
import { createHash, randomUUID } from "node:crypto"
import type { DeliveryRow } from "./schema.ts"

// Kinds of webhook events, each declared once with its journal event type and its `data`. The description is the
// journal event's.

/** `data` is a row as in lists for administrators, under its singular name. */
interface RowPayload {
  readonly form: "row"
  /** Plural name of the resource. */
  readonly plural: string
  /** Id of the row to send; by default the event's `id`. */
  readonly id_of: (data: JsonObject) => number
  /** Keys of `data` in addition to the row. */
  readonly more: Keys
  readonly more_of: (data: JsonObject) => JsonObject
  /** Columns of the row to send; all by default. */
  readonly only?: ReadonlyArray<string>
  /** Includes of the row; all kinds of a resource have the same. */
  readonly includes?: ReadonlyArray<string>
}
/** `data` computed from the event alone. */
interface EventPayload {
  readonly form: "event"
  readonly shown: Keys
  readonly of: (data: JsonObject, name: string) => JsonObject
}
export interface WebhookKind {
  /** Name that webhooks subscribe to, such as `member.created`. */
  readonly name: string
  /** Type of the journal event that causes it. */
  readonly on: string
  readonly payload: RowPayload | EventPayload
}

const ownId = (data: JsonObject): number => Number(data["id"])
const named = (names: ReadonlyArray<string>, payload: WebhookKind["payload"]): ReadonlyArray<WebhookKind> =>
  names.map((name) => ({ name, on: name, payload }))

/** Kinds with the full row under its singular key: `{ member: {…} }`. */
export const wholeRow = (
  plural: string,
  names: ReadonlyArray<string>,
  also: Partial<Pick<RowPayload, "id_of" | "more" | "more_of" | "only" | "includes">> = {}
): ReadonlyArray<WebhookKind> =>
  named(names, { form: "row", plural, id_of: ownId, more: {}, more_of: () => ({}), ...also })

/** Kinds with `{ id }`, for deleted, archived or restored rows. */
export const idOnly = (...names: ReadonlyArray<string>): ReadonlyArray<WebhookKind> =>
  named(names, { form: "event", shown: { id: integer() }, of: (data) => ({ id: ownId(data) }) })

/** Kinds with `{ primary_id, secondary_id }`, for merged rows. */
export const merged = (...names: ReadonlyArray<string>): ReadonlyArray<WebhookKind> =>
  named(names, {
    form: "event",
    shown: { primary_id: integer(), secondary_id: integer() },
    of: ({ primary_id, secondary_id }) => ({ primary_id: Number(primary_id), secondary_id: Number(secondary_id) })
  })

/** Kinds with `{ id, action }`: id of the subject, and name of the event. */
export const lean = (names: ReadonlyArray<string>, id_of: RowPayload["id_of"] = ownId): ReadonlyArray<WebhookKind> =>
  named(names, {
    form: "event",
    shown: { id: integer(), action: text() },
    of: (data, name) => ({ id: id_of(data), action: name })
  })

/** Kinds with `{ settings: { group, values } }`: the changed settings of a group with their new values. */
export const settingValues = (...names: ReadonlyArray<string>): ReadonlyArray<WebhookKind> =>
  named(names, {
    form: "event",
    shown: { settings: keys({ group: text(), values: map(anything()) }) },
    of: ({ group, values }) => ({ settings: { group: group ?? "", values: values ?? {} } })
  })

const resourceOf = (catalogue: Pick<Catalogue, "resources">, plural: string): Resource => {
  const found = catalogue.resources.find((one) => one.plural === plural)
  if (found === undefined) throw new Error(`no resource ${plural} in the catalogue for a webhook`)
  return found
}
/** Keys of `data`, as in responses. */
export const payloadShown = (catalogue: Pick<Catalogue, "resources">, { payload }: WebhookKind): Keys => {
  if (payload.form === "event") return payload.shown
  const resource = resourceOf(catalogue, payload.plural)
  const { only } = payload
  const whole = only === undefined ? row(() => resource) : keys(columnsShown(resource, only))
  return { [resource.singular]: whole, ...payload.more }
}
const columnsShown = ({ table }: Resource, names: ReadonlyArray<string>): Keys =>
  Object.fromEntries(Object.entries(table.columns).filter(([name]) => names.includes(name)))

export interface WebhookKinds {
  readonly all: ReadonlyArray<WebhookKind>
  /** Whether the name can be subscribed to. */
  readonly has: (name: string) => boolean
  readonly causedBy: (event_type: string) => ReadonlyArray<WebhookKind>
}
/** A journal event under the name that webhooks subscribe to. */
export interface Message {
  readonly kind: WebhookKind
  readonly event: StoredEvent
}

/** Viewer for rendering bodies, with every permission: subscribers need `webhooks.manage`. */
const everything = viewerNamed("webhooks", { is_owner: true })

/**
 * Messages of events, in order. A row changed several times by one command is sent once, as the messages would be
 * equal. `told` remembers rows across pages of events.
 */
export const messagesOf = (
  events: ReadonlyArray<StoredEvent>,
  causedBy: (event_type: string) => ReadonlyArray<WebhookKind>,
  told: Set<string> = new Set()
): ReadonlyArray<Message> =>
  events.flatMap((event) =>
    causedBy(event.type).flatMap((kind): ReadonlyArray<Message> => {
      const { payload } = kind
      if (payload.form === "row") {
        const about = `${event.command_id} ${kind.name} ${payload.id_of(event.data)}`
        if (told.has(about)) return []
        told.add(about)
      }
      return [{ kind, event }]
    })
  )

/** The body of a delivery, the same on every attempt. */
export const bodyOf = (name: string, happened_at: string, data: JsonObject): string =>
  JSON.stringify({ type: name, event: name, timestamp: happened_at, data })

/** Bodies of messages, in order; undefined if the row neither exists nor is found in the journal. */
export const bodiesOf = Effect.fnUntraced(function* (
  messages: ReadonlyArray<Message>
): CommandRuntime.Reads<ReadonlyArray<string | undefined>> {
  const { catalogue, settings } = yield* CommandRuntime
  const context = viewContext({
    viewer: everything,
    settings: yield* settings,
    now: instantOf(yield* Clock.currentTimeMillis),
    composed: catalogue.composed
  })
  const shown = new Map<string, ReadonlyMap<number, JsonObject>>()
  for (const [plural, about] of Map.groupBy(messages, pluralOf)) {
    if (plural !== undefined) shown.set(plural, yield* rowsShown(plural, about, context))
  }
  return messages.map(({ event, kind }) => {
    const data = dataOf(kind, decoded(catalogue, event), shown)
    return data === undefined ? undefined : bodyOf(kind.name, event.recorded_at, data)
  })
})
const pluralOf = ({ kind: { payload } }: Message): string | undefined =>
  payload.form === "row" ? payload.plural : undefined
const decoded = (catalogue: CommandRuntime["Service"]["catalogue"], event: StoredEvent): JsonObject => {
  const kind = catalogue.events.get(event.type)
  return kind === undefined ? event.data : decodeData(kind, event.data)
}

const dataOf = (
  { name, payload }: WebhookKind,
  data: JsonObject,
  shown: ReadonlyMap<string, ReadonlyMap<number, JsonObject>>
): JsonObject | undefined => {
  if (payload.form === "event") return payload.of(data, name)
  const row = shown.get(payload.plural)?.get(payload.id_of(data))
  return row === undefined ? undefined : { ...row, ...payload.more_of(data) }
}

/** Rows by id, each under its singular key. */
const rowsShown = Effect.fnUntraced(function* (
  plural: string,
  about: ReadonlyArray<Message>,
  context: ViewContext
): CommandRuntime.Reads<ReadonlyMap<number, JsonObject>> {
  const { catalogue } = yield* CommandRuntime
  const resource = resourceOf(catalogue, plural)
  const { table } = resource
  const last = new Map<number, { readonly event: StoredEvent; readonly payload: RowPayload }>()
  for (const { event, kind } of about)
    if (kind.payload.form === "row") last.set(kind.payload.id_of(event.data), { event, payload: kind.payload })
  const found = new Map<number, AnyRow>(
    (yield* Store.getMany(table, [...last.keys()])).map((row) => [Number(row["id"]), row])
  )
  for (const [id, { event }] of last) {
    // Deleted later, or by this event: the row before its deletion.
    if (!found.has(id)) {
      const row = yield* rowBefore(table, id, event)
      if (row !== undefined) found.set(id, row)
    }
  }
  const ids = [...found.keys()]
  const includes = new Set([...last.values()].flatMap(({ payload }) => payload.includes ?? []))
  const views = yield* render(resource, [...found.values()], [...includes], context)
  return new Map(
    ids.map((id, at) => [id, { [resource.singular]: selected(views[at] ?? {}, last.get(id)?.payload.only) }])
  )
})
const selected = (view: JsonObject, only: ReadonlyArray<string> | undefined): JsonObject =>
  only === undefined ? view : Object.fromEntries(Object.entries(view).filter(([name]) => only.includes(name)))

/** A deleted row, projected from its stream up to an event. */
const rowBefore = Effect.fnUntraced(function* (table: Table, id: number, { position, stream }: StoredEvent) {
  const { catalogue } = yield* CommandRuntime
  const events = yield* Store.find(journal, { stream }, { order: ["position"] })
  // Events of earlier releases lack newer columns, which get defaults.
  const defaults = Object.fromEntries(
    Object.entries(table.columns).map(([name, field]) => [name, field.default ?? null])
  )
  let row: AnyRow | undefined
  for (const event of events) {
    if (event.position > position) break
    for (const change of foldStored(catalogue, event, event).filter((one) => one.table.name === table.name)) {
      if (change.op === "insert" && change.row["id"] === id) row = { ...defaults, ...change.row }
      if (change.op === "update" && change.key === id && row !== undefined) row = { ...row, ...change.set }
    }
  }
  return row
})

// Rows of deliveries: one per webhook and event; tests and replays for each request.

const waiting = (now: string) => ({
  state: "waiting",
  attempts: 0,
  due_at: now,
  claimed_until: null,
  claimed_by: null,
  created_at: now
})

/** The row of a delivery that is due at once. */
export const deliveryOf = (
  webhook_id: number,
  { event, kind }: Message,
  body: string | null,
  now: string
): DeliveryRow => ({
  ...waiting(now),
  key: keyOf(webhook_id, event.position, kind.name),
  webhook_id,
  event: kind.name,
  // The command distinguishes events with equal positions in two lives of a restored journal, as receivers remember
  // ids.
  event_id: `msg_${headerTextOf(event.command_id)}_${event.position}_${webhook_id}_${kind.name.replaceAll(".", "-")}`,
  position: event.position,
  happened_at: event.recorded_at,
  body,
  purpose: "event"
})
/** A command id as valid in a header and in the signed text, where dots separate parts. Devices may choose any id. */
const headerTextOf = (command_id: string): string =>
  /^[\w-]+$/.test(command_id) ? command_id : createHash("sha256").update(command_id).digest("hex").slice(0, 32)
const keyOf = (webhook_id: number, position: number, name: string): string => `${webhook_id}:${position}:${name}`

/** A repetition of a delivery under the same event id. The body of a journal event is looked up on sending. */
export const replayOf = (row: DeliveryRow, now: string): DeliveryRow => ({
  ...row,
  ...waiting(now),
  key: `${firstKeyOf(row)}:${randomUUID()}`,
  body: row.position === null ? row.body : null,
  purpose: "replay"
})
/** Key of the delivery a replay repeats. */
export const firstKeyOf = ({ event, key, position, webhook_id }: DeliveryRow): string =>
  position === null ? key.replace(/^((?:test|told):[^:]+):.*$/, "$1") : keyOf(webhook_id, position, event)

/** The row of a delivery without a journal event. */
export const toldOf = (webhook_id: number, event: string, body: string, now: string): DeliveryRow => {
  const id = randomUUID()
  return {
    ...waiting(now),
    key: `told:${id}`,
    webhook_id,
    event,
    event_id: `msg_${id}`,
    position: null,
    happened_at: now,
    body,
    purpose: "event"
  }
}

export const test_event = "webhook.test"
export const testOf = (webhook_id: number, webhook: JsonObject, now: string): DeliveryRow => {
  const id = randomUUID()
  return {
    ...waiting(now),
    key: `test:${id}`,
    webhook_id,
    event: test_event,
    event_id: `msg_${id}`,
    position: null,
    happened_at: now,
    body: bodyOf(test_event, now, { webhook }),
    purpose: "test"
  }
}

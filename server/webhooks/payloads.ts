/**
 * What subscribers are told of events: bodies, rendered from the rows as they are after the commit, as their lists show
 * them to administrators. One query for each resource, whatever the number of events.
 */
import { Clock, Effect } from "effect"
import { foldStored } from "../../core/kernel/catalogue.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { decodeData } from "../../core/kernel/event-type.ts"
import type { StoredEvent } from "../../core/kernel/event.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { journal } from "../../core/kernel/journal.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { render, viewContext } from "../../core/kernel/resource.ts"
import type { ViewContext } from "../../core/kernel/resource-types.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { AnyRow, Table } from "../../core/kernel/table.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { instantOf } from "../../core/values/time.ts"
import { resourceOf, type RowPayload, type WebhookKind } from "./kind.ts"

/** An event under the name subscribers know it by. */
export interface Message {
  readonly kind: WebhookKind
  readonly event: StoredEvent
}

/** Sees everything: a subscriber is trusted with what leaves (permission `webhooks.manage`). */
const everything: Viewer = {
  user_id: 0,
  name: "webhooks",
  person_id: null,
  is_owner: true,
  is_active: true,
  role_ids: [],
  permissions: new Set(),
  abilities: new Set(["*"]),
  token_id: null
}

/**
 * The messages of events, in their order. A row that one command changed several times is told of once, as each message
 * would hold the same. `told` remembers that beyond a page of events.
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

/** The body that is posted, the same for every attempt. */
export const bodyOf = (name: string, happened_at: string, data: JsonObject): string =>
  JSON.stringify({ type: name, event: name, timestamp: happened_at, data })

/** The body of each message, in their order; undefined where nothing is left of the row it is about. */
export const bodiesOf = Effect.fnUntraced(function* (
  messages: ReadonlyArray<Message>
): Effect.fn.Return<ReadonlyArray<string | undefined>, Failure, Store | CommandRuntime> {
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
): Effect.fn.Return<ReadonlyMap<number, JsonObject>, Failure, Store | CommandRuntime> {
  const { catalogue } = yield* CommandRuntime
  const store = yield* Store
  const resource = resourceOf(catalogue, plural)
  const { table } = resource
  const last = new Map<number, { readonly event: StoredEvent; readonly payload: RowPayload }>()
  for (const { event, kind } of about)
    if (kind.payload.form === "row") last.set(kind.payload.id_of(event.data), { event, payload: kind.payload })
  const found = new Map<number, AnyRow>(
    (yield* store.getMany(table, [...last.keys()])).map((row) => [Number((row as AnyRow)["id"]), row])
  )
  for (const [id, { event }] of last) {
    // Deleted since, or by this very event: as it was.
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

/** A row that is gone, folded from its stream up to an event. */
const rowBefore = Effect.fnUntraced(function* (table: Table, id: number, { position, stream }: StoredEvent) {
  const { catalogue } = yield* CommandRuntime
  const store = yield* Store
  const events = yield* store.find(journal, { stream }, { order: ["position"] })
  // An event of an earlier release does not mention columns that came later: they are at their defaults.
  const defaults = Object.fromEntries(
    Object.entries(table.columns).map(([name, field]) => [name, field.default ?? null])
  )
  let row: AnyRow | undefined
  for (const event of events) {
    if (event.position > position) break
    for (const change of foldStored(catalogue, event, event)) {
      if (change.table.name !== table.name) continue
      if (change.op === "insert" && change.row["id"] === id) row = { ...defaults, ...change.row }
      if (change.op === "update" && change.key === id && row !== undefined) row = { ...row, ...change.set }
    }
  }
  return row
})

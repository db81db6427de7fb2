/**
 * Kinds of events that webhooks may be subscribed to. Each is declared once: which event of the journal causes it, by
 * its type, and what its `data` holds. Its meaning is that of the event. A slice that comes later adds its kinds to one
 * file in `kinds/`.
 */
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { type Keys, map, row } from "../../core/kernel/answer-schema.ts"
import { integer, text } from "../../core/kernel/field.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Resource } from "../../core/kernel/resource-types.ts"
import { anything, keys } from "../../core/kernel/answer-schema.ts"

/** `data` is a row as its list shows it to administrators, under its singular name. */
export interface RowPayload {
  readonly form: "row"
  /** The plural of its resource. */
  readonly plural: string
  /** The row an event is about; by default its `id`. */
  readonly id_of: (data: JsonObject) => number
  /** Keys beside the row's own. */
  readonly more: Keys
  readonly more_of: (data: JsonObject) => JsonObject
  /** Only these columns of the row. */
  readonly only?: ReadonlyArray<string>
  /** What is included, the same for all kinds of a resource. */
  readonly includes?: ReadonlyArray<string>
}
/** `data` is made of the event alone. */
export interface EventPayload {
  readonly form: "event"
  readonly shown: Keys
  readonly of: (data: JsonObject, name: string) => JsonObject
}
export interface WebhookKind {
  /** `member.created`. */
  readonly name: string
  /** The type of the event that causes it. */
  readonly on: string
  readonly payload: RowPayload | EventPayload
}

const ownId = (data: JsonObject): number => Number(data["id"])
const named = (names: ReadonlyArray<string>, payload: WebhookKind["payload"]): ReadonlyArray<WebhookKind> =>
  names.map((name) => ({ name, on: name, payload }))

/** The whole row under its singular key: `{ member: {…} }`. */
export const wholeRow = (
  plural: string,
  names: ReadonlyArray<string>,
  also: Partial<Pick<RowPayload, "id_of" | "more" | "more_of" | "only" | "includes">> = {}
): ReadonlyArray<WebhookKind> =>
  named(names, { form: "row", plural, id_of: ownId, more: {}, more_of: () => ({}), ...also })

/** `{ id }`: of what was deleted, archived or restored. */
export const idOnly = (...names: ReadonlyArray<string>): ReadonlyArray<WebhookKind> =>
  named(names, { form: "event", shown: { id: integer() }, of: (data) => ({ id: ownId(data) }) })

/** `{ primary_id, secondary_id }`. */
export const merged = (...names: ReadonlyArray<string>): ReadonlyArray<WebhookKind> =>
  named(names, {
    form: "event",
    shown: { primary_id: integer(), secondary_id: integer() },
    of: ({ primary_id, secondary_id }) => ({ primary_id: Number(primary_id), secondary_id: Number(secondary_id) })
  })

/** `{ id, action }`: what it happened to, and the event's name once more. */
export const lean = (names: ReadonlyArray<string>, id_of: RowPayload["id_of"] = ownId): ReadonlyArray<WebhookKind> =>
  named(names, {
    form: "event",
    shown: { id: integer(), action: text() },
    of: (data, name) => ({ id: id_of(data), action: name })
  })

/** `{ settings: { group, values } }`: the settings of a group that changed, as they are now. */
export const settingValues = (...names: ReadonlyArray<string>): ReadonlyArray<WebhookKind> =>
  named(names, {
    form: "event",
    shown: { settings: keys({ group: text(), values: map(anything()) }) },
    of: ({ group, values }) => ({ settings: { group: group ?? "", values: values ?? {} } })
  })

export const resourceOf = (catalogue: Pick<Catalogue, "resources">, plural: string): Resource => {
  const found = catalogue.resources.find((one) => one.plural === plural)
  if (found === undefined) throw new Error(`no resource ${plural} in the catalogue for a webhook`)
  return found
}
/** What `data` holds, as an answer's keys. */
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
  /** Whether anything may be subscribed to under this name. */
  readonly has: (name: string) => boolean
  /** The kinds an event causes. */
  readonly causedBy: (event_type: string) => ReadonlyArray<WebhookKind>
}
/** Throws where two kinds share a name. */
export const kindsOf = (all: ReadonlyArray<WebhookKind>): WebhookKinds => {
  const by_type = Map.groupBy(all, ({ on }) => on)
  const names = new Set(all.map(({ name }) => name))
  if (names.size !== all.length) throw new Error("two kinds of webhook events share a name")
  return { all, has: (name) => names.has(name), causedBy: (type) => by_type.get(type) ?? [] }
}

/** Old and new values of an event for the action log (rules/conventions 12). Pure. */
import type { StoredEvent } from "../kernel/event.ts"
import { isJsonObject, type Json, type JsonObject, sameJson } from "../kernel/json.ts"

export interface Changes {
  readonly old_values: JsonObject
  readonly new_values: JsonObject
}
export const no_changes: Changes = { old_values: {}, new_values: {} }

/** Entity and action of an event's type: `product.updated` → product, updated. */
const verbOf = (type: string): readonly [entity: string, verb: string] => {
  const at = type.lastIndexOf(".")
  return [type.slice(0, at), type.slice(at + 1)]
}
const rowKey = (entity: string, data: JsonObject): string => `${entity}:${String(data["id"] ?? "")}`

/** Types of events with values of a row: those before an update or a deletion give the old values. */
export const valueTypes = (types: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(
    types
      .map(verbOf)
      .filter(([, verb]) => verb === "updated" || verb === "deleted")
      .flatMap(([entity]) => [`${entity}.created`, `${entity}.updated`])
  )
]

/** Changes of the `wanted` positions. `events` are in order and include earlier events of the same rows. */
export const changesOf = (
  events: ReadonlyArray<StoredEvent>,
  wanted: ReadonlySet<number>
): ReadonlyMap<number, Changes> => {
  const rows = new Map<string, JsonObject>()
  const changes = new Map<number, Changes>()
  for (const { position, type, data } of events) {
    const [entity, verb] = verbOf(type)
    const key = rowKey(entity, data)
    const before = rows.get(key) ?? {}
    if (wanted.has(position)) changes.set(position, changeOf(verb, data, before))
    if (verb === "created" || verb === "updated") rows.set(key, { ...before, ...withoutId(data) })
  }
  return changes
}

const changeOf = (verb: string, data: JsonObject, before: JsonObject): Changes => {
  const { set, was, also } = data
  // Events that carry old and new values themselves.
  if (isJsonObject(set) || isJsonObject(was)) {
    return {
      old_values: isJsonObject(was) ? was : {},
      new_values: { ...(isJsonObject(set) ? set : {}), ...(isJsonObject(also) ? also : {}) }
    }
  }
  switch (verb) {
    case "created":
      return { old_values: {}, new_values: data }
    case "updated": {
      // Events of some tables carry whole rows: values that stayed the same are no change.
      const new_values = Object.fromEntries(
        Object.entries(withoutId(data)).filter(([name, value]) => {
          const old = valueIn(before, name)
          return old === undefined || !sameJson(old, value)
        })
      )
      return {
        new_values,
        old_values: Object.fromEntries(
          Object.keys(new_values).flatMap((name) => {
            const old = valueIn(before, name)
            return old === undefined ? [] : [[name, old] as const]
          })
        )
      }
    }
    case "deleted":
      return { old_values: before, new_values: {} }
    default:
      return { old_values: {}, new_values: withoutId(data) }
  }
}
/** A row's value of a column of that name; nothing that every object inherits, such as `constructor`. */
const valueIn = (row: JsonObject, name: string): Json | undefined => (Object.hasOwn(row, name) ? row[name] : undefined)
const withoutId = ({ id: _id, ...rest }: JsonObject): JsonObject => rest

/** The value without the keys a reader may not see, at any depth. */
export const withoutKeys = (value: JsonObject, hidden: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !hidden.has(key))
      .map(([key, item]) => [key, within(item, hidden)])
  )
const within = (value: Json, hidden: ReadonlySet<string>): Json =>
  Array.isArray(value)
    ? value.map((item: Json) => within(item, hidden))
    : isJsonObject(value)
      ? withoutKeys(value, hidden)
      : value

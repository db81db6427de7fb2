/** What an event changed, as an audit tells it: old and new values (rules/conventions 12). Pure. */
import type { StoredEvent } from "../kernel/event.ts"
import { isJsonObject, type Json, type JsonObject, sameJson } from "../kernel/json.ts"

export interface Changes {
  readonly old_values: JsonObject
  readonly new_values: JsonObject
}

/** Entity and verb of an event's type: `product.updated` → product, updated. */
const verbOf = (type: string): readonly [entity: string, verb: string] => {
  const at = type.lastIndexOf(".")
  return [type.slice(0, at), type.slice(at + 1)]
}
const rowKey = (entity: string, data: JsonObject): string => `${entity}:${String(data["id"] ?? "")}`

/** Events that say what a plain row holds: those before an update or a deletion tell what it held. */
export const valueTypes = (types: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(
    types
      .map(verbOf)
      .filter(([, verb]) => verb === "updated" || verb === "deleted")
      .flatMap(([entity]) => [`${entity}.created`, `${entity}.updated`])
  )
]

/** Changes by position. `events` come in order and hold what came before those that are `wanted`. */
export const changesOf = (
  events: ReadonlyArray<StoredEvent>,
  wanted: ReadonlySet<number>
): ReadonlyMap<number, Changes> => {
  const held = new Map<string, JsonObject>()
  const found = new Map<number, Changes>()
  for (const { position, type, data } of events) {
    const [entity, verb] = verbOf(type)
    const key = rowKey(entity, data)
    const before = held.get(key) ?? {}
    if (wanted.has(position)) found.set(position, changeOf(verb, data, before))
    if (verb === "created" || verb === "updated") held.set(key, { ...before, ...withoutId(data) })
  }
  return found
}

const changeOf = (verb: string, data: JsonObject, before: JsonObject): Changes => {
  const { set, was, also } = data
  // Events that carry both sides themselves.
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
      // Some events tell the row as it is by now.
      const new_values = Object.fromEntries(
        Object.entries(withoutId(data)).filter(
          ([name, value]) => !Object.hasOwn(before, name) || !sameJson(before[name]!, value)
        )
      )
      return {
        new_values,
        old_values: Object.fromEntries(
          Object.keys(new_values)
            .filter((name) => Object.hasOwn(before, name))
            .map((name) => [name, before[name]!])
        )
      }
    }
    case "deleted":
      return { old_values: before, new_values: {} }
    default:
      return { old_values: {}, new_values: withoutId(data) }
  }
}
const withoutId = ({ id: _id, ...rest }: JsonObject): JsonObject => rest

/** The same without the keys a reader may not see, however deep they lie. */
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

/** Commands whose referenced rows have other ids now: the same commands with the current ids. */
import { isJsonObject, wholeNumberOf } from "../../../core/kernel/index.ts"
import type { Endpoint, Field, Fields, Json, JsonObject } from "../../../core/kernel/index.ts"
import type { OutboxCommand } from "../outbox/rows.ts"
import { tableNamed } from "../outbox/references.ts"

/** Current id by old id, by table. */
export type IdMap = ReadonlyMap<string, ReadonlyMap<number, number>>

/** Path parameters of a command with the current ids. */
export const remapParams = (
  endpoint: Endpoint,
  { payload }: Pick<OutboxCommand, "payload">,
  ids: IdMap
): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(payload.params).map(([name, given]) => {
      const table = endpoint.params[name]?.table.name
      return [name, String(ids.get(table ?? "")?.get(Number(given)) ?? given)]
    })
  )
/** Path of a command with the current ids. */
export const remapPath = (endpoint: Endpoint, command: Pick<OutboxCommand, "payload">, ids: IdMap): string => {
  const params = remapParams(endpoint, command, ids)
  return endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""))
}

/** A body with the current ids in its reference fields. */
export const remapBody = (fields: Fields, body: JsonObject, ids: IdMap): JsonObject =>
  Object.fromEntries(Object.entries(body).map(([key, value]) => [key, remapValue(fields[key], value, ids, body)]))
const remapValue = (field: Field | undefined, value: Json, ids: IdMap, beside: JsonObject): Json => {
  if (field === undefined) return value
  const { type } = field
  if (type.kind === "list")
    return Array.isArray(value) ? value.map((one: Json) => remapValue(type.of, one, ids, beside)) : value
  if (type.kind === "object") return isJsonObject(value) ? remapBody(type.fields, value, ids) : value
  const table = tableNamed(field, beside)
  const given = wholeNumberOf(value)
  const id = table === undefined || given === undefined ? undefined : ids.get(table)?.get(given)
  return id === undefined ? value : typeof value === "string" ? String(id) : id
}

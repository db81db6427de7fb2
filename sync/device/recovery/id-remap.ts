/** Commands that name rows by ids those rows have not got any more, put right. */
import { catalogue } from "../../../core/catalogue.ts"
import type { Endpoint } from "../../../core/kernel/endpoint.ts"
import { type Field, type Fields, tableNamedBy } from "../../../core/kernel/field.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import type { OutboxCommand } from "../outbox/command.ts"

/** Old id → new id, by table. */
export type IdMap = ReadonlyMap<string, ReadonlyMap<number, number>>

/** The path of a command with its ids put right. */
export const remapPath = (endpoint: Endpoint, { payload }: Pick<OutboxCommand, "payload">, renamed: IdMap): string =>
  endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const given = payload.params[name] ?? ""
    const table = (endpoint.params as { readonly [name: string]: { readonly table: { readonly name: string } } })[name]
      ?.table.name
    return encodeURIComponent(String(renamed.get(table ?? "")?.get(Number(given)) ?? given))
  })

/** A body with its ids put right: by what its fields say they name; what no field speaks of by the names of keys. */
export const remapBody = (fields: Fields, body: JsonObject, renamed: IdMap): JsonObject =>
  Object.fromEntries(
    Object.entries(body).map(([key, value]) => [key, remapValue(fields[key], key, value, renamed, body)])
  )
const remapValue = (field: Field | undefined, key: string, value: Json, renamed: IdMap, beside: JsonObject): Json => {
  const shape = field?.type
  if (Array.isArray(value))
    return value.map((one: Json) =>
      remapValue(shape?.kind === "list" ? shape.of : undefined, key.replace(/s$/, ""), one, renamed, beside)
    )
  if (isJsonObject(value)) return remapBody(shape?.kind === "object" ? shape.fields : {}, value, renamed)
  if (typeof value !== "number" && (typeof value !== "string" || !/^\d+$/.test(value))) return value
  const table =
    shape?.kind === "ref"
      ? shape.table
      : shape?.kind === "integer" && shape.names !== undefined
        ? tableNamedBy(shape, beside)
        : key.endsWith("_id")
          ? tableOf(key.slice(0, -3))
          : undefined
  const found = table === undefined ? undefined : renamed.get(table)?.get(Number(value))
  return found === undefined ? value : typeof value === "string" ? String(found) : found
}
const tableOf = (entity: string): string | undefined => catalogue.tables.find((table) => table.entity === entity)?.name

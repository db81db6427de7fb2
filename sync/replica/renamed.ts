/** Commands that name rows by ids those rows have not got any more, put right. */
import { catalogue } from "../../core/catalogue.ts"
import type { Endpoint } from "../../core/kernel/endpoint.ts"
import type { Field, Fields } from "../../core/kernel/field.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import { called, entityOf } from "./named-rows.ts"
import type { KeptCommand } from "./outbox/kept-command.ts"

/** Old id → new id, by table. */
export type Renamed = ReadonlyMap<string, ReadonlyMap<number, number>>

/** The path of a command with its ids put right. */
export const pathOf = (endpoint: Endpoint, { payload }: Pick<KeptCommand, "payload">, renamed: Renamed): string =>
  endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const given = payload.params[name] ?? ""
    const table = (endpoint.params as { readonly [name: string]: { readonly table: { readonly name: string } } })[name]?.table.name
    return encodeURIComponent(String(renamed.get(table ?? "")?.get(Number(given)) ?? given))
  })

/** What is merged into the row of a path is of the same table. */
export const tableOfPath = ({ params }: Endpoint): string | undefined =>
  Object.values(params as { readonly [name: string]: { readonly table: { readonly name: string } } }).at(-1)?.table.name

/**
 * A body with its ids put right: by the fields' own words, where they say nothing by what stands
 * beside them (`regarding_type` says what `regarding_id` is of), else by the names of keys.
 */
export const renamedBody = (fields: Fields, body: JsonObject, renamed: Renamed, merged_into?: string): JsonObject =>
  Object.fromEntries(Object.entries(body).map(([key, value]) => {
    const kind = key.endsWith("_id") ? body[`${key.slice(0, -3)}_type`] : undefined
    const table = typeof kind === "string" ? tableNamed(entityOf(kind)) : key === "secondary_id" ? merged_into : undefined
    return [key, renamedValue(fields[key], key, value, renamed, table)]
  }))
const renamedValue = (field: Field | undefined, key: string, value: Json, renamed: Renamed, beside?: string): Json => {
  const shape = field?.shape
  if (Array.isArray(value)) return value.map((one: Json) => renamedValue(shape?.kind === "list" ? shape.of : undefined, key.replace(/s$/, ""), one, renamed))
  if (isJsonObject(value)) return renamedBody(shape?.kind === "object" ? shape.fields : {}, value, renamed)
  if (typeof value !== "number" && (typeof value !== "string" || !/^\d+$/.test(value))) return value
  const table = shape?.kind === "ref" ? shape.table : beside !== undefined ? beside : key.endsWith("_id") ? tableNamed(key.slice(0, -3)) : undefined
  const found = table === undefined ? undefined : renamed.get(table)?.get(Number(value))
  return found === undefined ? value : typeof value === "string" ? String(found) : found
}
const tableNamed = (entity: string): string | undefined => catalogue.tables.find((table) => table.entity === (called[entity] ?? entity))?.name

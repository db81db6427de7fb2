/**
 * An update is recorded as the fields its person changed, not as the whole object that a form or a script sends back:
 * so two people who edit different fields of one row never overwrite each other's values. A field sent with the value
 * it has here was not changed. Where an endpoint wants it, it is recorded with what its person saw.
 */
import { Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import { operationOf, type Params } from "../../../core/kernel/endpoint.ts"
import type { EndpointCall } from "../../../core/kernel/engine.ts"
import type { Field, Fields } from "../../../core/kernel/field.ts"
import { readFields, wholeNumber } from "../../../core/kernel/input.ts"
import { isJsonObject, type Json, type JsonObject, sameJson } from "../../../core/kernel/json.ts"
import { render, viewContext } from "../../../core/kernel/resource.ts"
import { baseCurrency, type Settings } from "../../../core/kernel/settings.ts"
import { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { AnyRow, Table } from "../../../core/kernel/table.ts"

/** The call with only the fields that differ from the replica's row; the same object where none is to be left out. */
export const toPatch = Effect.fnUntraced(function* (catalogue: Catalogue, call: EndpointCall, now: string) {
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

/** The call with what its person saw of the row its path ends with, where its endpoint wants to know (`seen`). */
export const withSeen = Effect.fnUntraced(function* (call: EndpointCall) {
  const { endpoint, params, request } = call
  const body = isJsonObject(request.body) ? request.body : {}
  const missing = Object.entries(endpoint.seen).filter(([field]) => body[field] === undefined)
  if (missing.length === 0) return call
  const [name = "", param] = Object.entries(endpoint.params as Params).at(-1) ?? []
  const id = wholeNumber(params[name])
  const row: AnyRow | undefined =
    param === undefined || id === undefined ? undefined : yield* (yield* Store).get(param.table, id)
  if (row === undefined) return call
  const seen = Object.fromEntries(missing.map(([field, column]) => [field, (row[column] ?? null) as Json]))
  return { ...call, request: { ...request, body: { ...body, ...seen } } }
})

const changedFields = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  { endpoint, params, viewer }: EndpointCall,
  settings: Settings,
  body: JsonObject,
  now: string
) {
  const store = yield* Store
  const [name, param] = Object.entries(endpoint.params as Params).at(-1) ?? []
  const id = name === undefined ? undefined : wholeNumber(params[name])
  const row =
    param === undefined || id === undefined ? undefined : ((yield* store.get(param.table, id)) as AnyRow | undefined)
  if (param === undefined || row === undefined) return undefined
  const fields = endpoint.fields as Fields
  const { values } = readFields(fields, body, {
    mode: "update",
    base_currency: baseCurrency(settings),
    current: row as JsonObject
  })
  const changed = new Set(
    Object.keys(body).filter(
      (field) =>
        fields[field] !== undefined &&
        !isUnchanged(param.table, row, field, body[field] === null ? null : values[field])
    )
  )
  for (const group of endpoint.together)
    if (group.some((field) => changed.has(field))) for (const field of group) changed.add(field)
  // An amount is sent with its currency: without it, it would be read in another one.
  for (const field of changed) {
    const currency = currencyOf(fields[field])
    if (currency !== undefined) changed.add(currency)
  }
  const kept: { [field: string]: Json } = Object.fromEntries(
    Object.entries(body).filter(([field]) => changed.has(field))
  )
  const resource = catalogue.resources.find((one) => one.table === param.table)
  const elsewhere = Object.keys(kept).filter(
    (field) => field === "custom_fields" || param.table.columns[field] === undefined
  )
  if (resource === undefined || elsewhere.length === 0) return kept
  // Fields that are no column of the same name are compared with what an answer shows.
  const [view = {}] = yield* render(
    resource,
    [row as never],
    [],
    viewContext({ viewer, settings, now, composed: catalogue.composed })
  )
  for (const field of elsewhere) {
    const own =
      field === "custom_fields"
        ? ownValues(view[field], kept[field]!)
        : sameJson(view[field] ?? null, kept[field]!)
          ? undefined
          : kept[field]
    if (own === undefined) delete kept[field]
    else kept[field] = own
  }
  return kept
})
/** The custom fields that differ; undefined where none does. */
const ownValues = (shown: Json | undefined, sent: Json): Json | undefined => {
  if (!isJsonObject(sent)) return sent
  const changed = Object.entries(sent).filter(
    ([key, value]) => !sameJson((isJsonObject(shown) ? shown[key] : undefined) ?? null, value)
  )
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

/** Whether the value is that of the column of the same name. */
const isUnchanged = (table: Table, row: AnyRow, field: string, value: Json | undefined): boolean =>
  field !== "custom_fields" &&
  value !== undefined &&
  table.columns[field] !== undefined &&
  sameJson(value, (row[field] ?? null) as Json)
const currencyOf = (field: Field | undefined): string | undefined =>
  field?.type.kind === "money" ? field.type.currency : undefined

/** Keys of settings that differ, or are not known here (secrets); undefined where the body holds none. */
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

/** Which rows a command speaks of: those in its path and those its body refers to. */
import { Effect } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import type { Endpoint, Params } from "../../core/kernel/endpoint.ts"
import type { Field, Fields } from "../../core/kernel/field.ts"
import { streamOf } from "../../core/kernel/event.ts"
import { hasOwnIds } from "../../core/kernel/ids.ts"
import { wholeNumber } from "../../core/kernel/input.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import { journal } from "../../core/kernel/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { WireCommand } from "../wire.ts"

export interface NamedRow { readonly table: string; readonly id: number; /** In the body, dotted; undefined for rows of the path. */ readonly field?: string }
export const rowName = ({ table, id }: Pick<NamedRow, "table" | "id">): string => `${table}/${id}`

export const namedRows = (catalogue: Catalogue, endpoint: Endpoint, { params, body }: WireCommand["payload"]): ReadonlyArray<NamedRow> => {
  const ofPath = Object.entries(endpoint.params as Params).flatMap(([name, { table }]): ReadonlyArray<NamedRow> => {
    const id = wholeNumber(params[name])
    return id === undefined ? [] : [{ table: table.name, id }]
  })
  const merged_into = Object.values(endpoint.params as Params).at(-1)?.table.name
  return [...ofPath, ...referred({ tables: tablesByEntity(catalogue), merged_into }, endpoint.fields as Fields, body, "")]
}
/** The same of a command as it is kept, by name; none of one this release does not know. */
export const namedBy = (catalogue: Catalogue) => ({ name, payload }: Pick<WireCommand, "name" | "payload">): ReadonlyArray<string> => {
  const endpoint = catalogue.endpoint(name)
  return endpoint === undefined ? [] : namedRows(catalogue, endpoint, payload).map(rowName)
}

/** Some ids in bodies are plain integers called after what they name: `opportunity_item_id`. */
const tablesByEntity = (catalogue: Catalogue): ReadonlyMap<string, string> => {
  let known = entities.get(catalogue)
  if (known === undefined) entities.set(catalogue, known = new Map(catalogue.tables.map((table) => [table.entity, table.name])))
  return known
}
const entities = new WeakMap<Catalogue, ReadonlyMap<string, string>>()

/** Ids that are called otherwise than what they are of. */
export const called: { readonly [name: string]: string } = { principal_item: "opportunity_item", serialised_item: "stock_level" }
/** `StockLevel` → `stock_level` */
export const entityOf = (kind: string): string => kind.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()

interface Naming { readonly tables: ReadonlyMap<string, string>; /** The table of the path: what is merged into its row is of the same. */ readonly merged_into: string | undefined }
const referred = (naming: Naming, fields: Fields, body: Json | undefined, path: string): ReadonlyArray<NamedRow> =>
  isJsonObject(body) ? Object.entries(fields).flatMap(([name, field]) => inField(naming, name, field, body[name], `${path}${name}`, body)) : []
const inField = (naming: Naming, name: string, field: Field, value: Json | undefined, path: string, beside: JsonObject): ReadonlyArray<NamedRow> => {
  const { shape } = field
  if (value === undefined || value === null) return []
  if (shape.kind === "list") return Array.isArray(value) ? value.flatMap((item: Json, at) => inField(naming, name, shape.of, item, `${path}.${at}`, beside)) : []
  if (shape.kind === "object") return referred(naming, shape.fields, value, `${path}.`)
  const table = shape.kind === "ref" ? shape.table : shape.kind === "integer" ? tableCalled(naming, name.replace(/_ids?$/, ""), beside) : undefined
  const id = wholeNumber(value)
  return table === undefined || id === undefined || !/_ids?$/.test(name) ? [] : [{ table, id, field: path }]
}
/** `regarding_type` says what `regarding_id` is of; else the name does. */
const tableCalled = ({ tables, merged_into }: Naming, name: string, beside: JsonObject): string | undefined => {
  const kind = beside[`${name}_type`]
  return name === "secondary" ? merged_into : tables.get(typeof kind === "string" ? entityOf(kind) : called[name] ?? name)
}

/** When the rows that are named were made and, where the journal here goes back so far, by which command (see the wire); rows that belong to another one's stream are told by that one. */
export const rowsSeen = Effect.fnUntraced(function*(catalogue: Catalogue, named: ReadonlyArray<NamedRow>) {
  const store = yield* Store
  const seen: { [row: string]: string } = {}
  for (const name of new Set(named.map((row) => row.table))) {
    const table = catalogue.table(name)
    if (!hasOwnIds(table) || table.stream !== undefined) continue
    const rows = yield* store.getMany(table, [...new Set(named.filter((one) => one.table === name).map((one) => one.id))])
    const streams = rows.map((row) => streamOf(table.entity, Number((row as { readonly id?: unknown }).id)))
    const makers = new Map((yield* store.find(journal, { stream: streams, version: 1 })).map((event) => [event.stream, event]))
    for (const [at, row] of rows.entries()) {
      const { id, created_at } = row as { readonly id?: unknown; readonly created_at?: unknown }
      if (typeof created_at !== "string") continue
      const first = makers.get(streams[at]!)
      seen[rowName({ table: name, id: Number(id) })] = [created_at, ...(first === undefined ? [] : [first.command_id])].join(" ")
    }
  }
  return seen
})

/** The rows of a command's path as they stand here, by `table/id`. */
export const rowsOfPath = Effect.fnUntraced(function*(endpoint: Endpoint, params: WireCommand["payload"]["params"]) {
  const store = yield* Store
  const rows: { [row: string]: JsonObject } = {}
  for (const [name, { table }] of Object.entries(endpoint.params as Params)) {
    const id = wholeNumber(params[name])
    const row = id === undefined ? undefined : yield* store.get(table, id)
    if (id !== undefined && row !== undefined) rows[rowName({ table: table.name, id })] = { ...row } as JsonObject
  }
  return rows
})

/** Rows that a command references: in its path, and in its body by the declared fields. */
import { Effect } from "effect"
import { isJsonObject, keyInAnyCase, Store, streamOf, wholeNumberOf } from "../../../core/kernel/index.ts"
import type { Catalogue, Endpoint, Field, Fields, FieldType, Json, JsonObject } from "../../../core/kernel/index.ts"
import { hasOwnIds } from "../../../core/kernel/runtime/ids.ts"
import type { WireCommand } from "../../protocol/wire.ts"

export interface CommandReference {
  readonly table: string
  readonly id: number
  /** Path of the reference in the body, such as `lines.0.item_id`; undefined for rows of the request path. */
  readonly field?: string
}
export const rowReference = ({ table, id }: Pick<CommandReference, "table" | "id">): string => `${table}/${id}`

/** The table that an integer field refers to; undefined if it names none. */
const tableNamedBy = (
  { names }: Pick<FieldType & { kind: "integer" }, "names">,
  beside: JsonObject
): string | undefined => {
  if (typeof names !== "object") return names
  const key = keyInAnyCase(names.tables, String(beside[names.by]))
  return key === undefined ? undefined : names.tables[key]
}
export const referencesOfCommand = (
  endpoint: Endpoint,
  { params, body }: WireCommand["payload"]
): ReadonlyArray<CommandReference> => {
  const ofPath = Object.entries(endpoint.params).flatMap(([name, { table }]): ReadonlyArray<CommandReference> => {
    const id = wholeNumberOf(params[name])
    return id === undefined ? [] : [{ table: table.name, id }]
  })
  return [...ofPath, ...referred(endpoint.fields, body, "")]
}
/** Rows that an outbox command references, as `table/id`; none if this release does not know the command. */
export const referencesOfBody =
  (catalogue: Catalogue) =>
  ({ name, payload }: Pick<WireCommand, "name" | "payload">): ReadonlyArray<string> => {
    const endpoint = catalogue.endpoint(name)
    return endpoint === undefined ? [] : referencesOfCommand(endpoint, payload).map(rowReference)
  }

/**
 * Table whose ids a field contains; undefined if it contains none. `beside`: the object around the field, which may
 * name the table.
 */
export const tableNamed = ({ type }: Field, beside: JsonObject): string | undefined =>
  type.kind === "ref" ? type.table : type.kind === "integer" ? tableNamedBy(type, beside) : undefined

const referred = (fields: Fields, body: Json | undefined, path: string): ReadonlyArray<CommandReference> => {
  if (!isJsonObject(body)) return []
  const found: Array<CommandReference> = []
  for (const name of Object.keys(fields)) {
    const field = fields[name]
    if (field !== undefined && name in body) found.push(...inField(field, body[name], `${path}${name}`, body))
  }
  return found
}
const inField = (
  field: Field,
  value: Json | undefined,
  path: string,
  beside: JsonObject
): ReadonlyArray<CommandReference> => {
  const { type } = field
  if (value === undefined || value === null) return []
  if (type.kind === "list")
    return Array.isArray(value)
      ? value.flatMap((item: Json, at) => inField(type.of, item, `${path}.${at}`, beside))
      : []
  if (type.kind === "object") return referred(type.fields, value, `${path}.`)
  const table = tableNamed(field, beside)
  const id = wholeNumberOf(value)
  return table === undefined || id === undefined ? [] : [{ table, id, field: path }]
}

/**
 * Creation time of each row and, if in the local journal, the creating command (`rows_seen` of the wire). Rows in a
 * parent's stream are skipped, as the parent covers them.
 */
export const rowPreconditions = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  named: ReadonlyArray<CommandReference>
) {
  const rows: Array<{ readonly name: string; readonly stream: string; readonly created_at: string }> = []
  for (const name of new Set(named.map((row) => row.table))) {
    const table = catalogue.table(name)
    if (!hasOwnIds(table) || table.stream !== undefined) continue
    const ids = new Set(named.filter((one) => one.table === name).map((one) => one.id))
    for (const { created_at, id } of yield* Store.getMany(table, [...ids]))
      if (typeof created_at === "string")
        rows.push({
          name: rowReference({ table: name, id: Number(id) }),
          stream: streamOf(table.entity, Number(id)),
          created_at
        })
  }
  const created: { [row: string]: string } = {}
  if (rows.length === 0) return created
  const events = yield* Store.run<{ stream: string; command_id: string }>(
    "select j.stream, j.command_id from json_each(?) named " +
      "cross join journal j on j.stream = named.value and j.version = 1",
    [JSON.stringify(rows.map(({ stream }) => stream))]
  )
  const creations = new Map(events.map(({ command_id, stream }) => [stream, command_id]))
  for (const { created_at, name, stream } of rows) {
    const command_id = creations.get(stream)
    created[name] = command_id === undefined ? created_at : `${created_at} ${command_id}`
  }
  return created
})

/**
 * Lost ids: a server restored from a backup may have given ids leased to this device to other rows. In commands
 * recorded before, such an id means the row this device was to create: it is replaced by that row's current id, or the
 * user must decide if there is none.
 */
import { catalogue } from "../../../core/catalogue.ts"
import { isJsonObject, wholeNumberOf, wordsOf } from "../../../core/kernel/index.ts"
import type { Endpoint, Field, Fields, Json, JsonObject, Request } from "../../../core/kernel/index.ts"
import { filesOfPayload, type WireCommand } from "../../protocol/wire.ts"
import { type CommandReference, referencesOfCommand, rowReference, tableNamed } from "../outbox/references.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand } from "../outbox/rows.ts"
import type { QueryResult } from "./replica.ts"

const refusal = (message: string, more: JsonObject = {}): QueryResult => ({ status: 422, body: { message, ...more } })
/** The request that records the command again with this body and current ids; a refusal if a referenced row is lost. */
export const commandRequest = (outbox: Outbox, command: OutboxCommand, body: JsonObject): Request | QueryResult => {
  const endpoint = catalogue.endpoint(command.name)
  if (endpoint === undefined) return refusal(`This release knows no command ${command.name}.`)
  const {
    lost: [lost],
    renamed
  } = rowsOf(outbox, command, body)
  if (lost !== undefined) return lostRow(lost)
  const payload = { params: command.payload.params, body }
  return {
    method: endpoint.method,
    path: remapPath(endpoint, { payload }, renamed),
    query: [],
    body: remapBody(endpoint.fields, body, renamed),
    ...filesOfPayload(command.payload)
  }
}
export const isRefusal = (request: Request | QueryResult): request is QueryResult => "status" in request
/** The command's parameters and this body, with current ids. */
export const payloadOf = (outbox: Outbox, command: OutboxCommand, body: JsonObject): WireCommand["payload"] => {
  const endpoint = catalogue.endpoint(command.name)
  const files = filesOfPayload(command.payload)
  if (endpoint === undefined) return { params: command.payload.params, body, ...files }
  const { renamed } = rowsOf(outbox, command, body)
  return { params: remapParams(endpoint, command, renamed), body: remapBody(endpoint.fields, body, renamed), ...files }
}
/**
 * Rows with lost ids that the command references: `renamed` exist under another id, `lost` do not. References that
 * differ from the recorded ones were chosen by the user later and stay.
 */
export const rowsOf = (
  outbox: Outbox,
  command: OutboxCommand,
  body: JsonObject
): { readonly renamed: IdMap; readonly lost: ReadonlyArray<CommandReference> } => {
  const endpoint = catalogue.endpoint(command.name)
  const renamed = new Map<string, Map<number, number>>()
  const lost: Array<CommandReference> = []
  if (endpoint === undefined) return { renamed, lost }
  const recorded = new Set(referencesOfCommand(endpoint, command.payload).map(placeOf))
  for (const row of referencesOfCommand(endpoint, { params: command.payload.params, body })) {
    if (!outbox.isLost(command, row) || !recorded.has(placeOf(row))) continue
    const creator = outbox
      .creatorsOf(rowReference(row))
      .filter((one) => one.n < command.n)
      .at(-1)
    const id = creator === undefined ? undefined : idToday(outbox, creator, row)
    if (id === undefined) lost.push(row)
    else renamed.set(row.table, (renamed.get(row.table) ?? new Map<number, number>()).set(row.id, id))
  }
  return { renamed, lost }
}
/** A row and its referencing field, without the index of a list entry. */
const placeOf = (row: CommandReference): string => `${(row.field ?? "").replace(/\.\d+/g, "")} ${rowReference(row)}`
/**
 * Current id of a row the command was to create: that of its successor at the same index; undefined if there is none.
 */
const idToday = (outbox: Outbox, creator: OutboxCommand, { table, id }: CommandReference): number | undefined => {
  if (!outbox.isLost(creator, { table, id })) return id
  const created = creator.ids[table] ?? []
  for (const next of outbox.successors(creator.id)) {
    const ids = next.ids[table] ?? []
    const there = ids.length === created.length ? ids[created.indexOf(id)] : undefined
    const today = there === undefined ? undefined : idToday(outbox, next, { table, id: there })
    if (today !== undefined) return today
  }
  return undefined
}
const lostRow = ({ table, id, field }: CommandReference): QueryResult => {
  const label = wordsOf(catalogue.table(table))
  const message = `It means the ${label} ${id} that was to be made on this device. The server was put back from a backup since, and ${label} ${id} is another one by now.`
  return refusal(
    message,
    field === undefined ? {} : { errors: { [field]: [`The ${label} meant is not there any more.`] } }
  )
}

// Commands whose referenced rows have other ids now: the same commands with the current ids.

/** Current id by old id, by table. */
type IdMap = ReadonlyMap<string, ReadonlyMap<number, number>>

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

/**
 * A server put back from a backup may have given ids anew that this device had. What a command of before means by such an
 * id is the row that was to be made here: it is followed to the id it has by now, or it is lost, and a person is asked.
 */
import { catalogue } from "../../../core/catalogue.ts"
import type { Params, Request } from "../../../core/kernel/endpoint.ts"
import type { Fields } from "../../../core/kernel/field.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import { type CommandReference, referencesOfCommand, rowReference } from "../replica/references.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand } from "../outbox/command.ts"
import { remapPath, type IdMap, remapBody } from "./id-remap.ts"
import type { QueryResult } from "../replica/replica.ts"
import { wordsOf } from "../../../core/kernel/words.ts"

const refusal = (message: string, more: JsonObject = {}): QueryResult => ({ status: 422, body: { message, ...more } })
/** The command with this body as it is asked for today; a refusal where it speaks of a row that is not to be found any more. */
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
    body: remapBody(endpoint.fields as Fields, body, renamed)
  }
}
export const isRefusal = (request: Request | QueryResult): request is QueryResult => "status" in request
/** A command's own words with this body, ids put right. */
export const payloadOf = (outbox: Outbox, command: OutboxCommand, body: JsonObject): WireCommand["payload"] => {
  const endpoint = catalogue.endpoint(command.name)
  if (endpoint === undefined) return { params: command.payload.params, body }
  const { renamed } = rowsOf(outbox, command, body)
  const params = Object.fromEntries(
    Object.entries(command.payload.params).map(([name, given]) => {
      const table = (endpoint.params as Params)[name]?.table.name
      return [name, String(renamed.get(table ?? "")?.get(Number(given)) ?? given)]
    })
  )
  return { params, body: remapBody(endpoint.fields as Fields, body, renamed) }
}
/** Rows of lost ids that the command means: the ids they have by now, and those that are nowhere. What is named in another place than before was chosen today. */
export const rowsOf = (
  outbox: Outbox,
  command: OutboxCommand,
  body: JsonObject
): { readonly renamed: IdMap; readonly lost: ReadonlyArray<CommandReference> } => {
  const endpoint = catalogue.endpoint(command.name)
  const renamed = new Map<string, Map<number, number>>()
  const lost: Array<CommandReference> = []
  if (endpoint === undefined) return { renamed, lost }
  const before = new Set(referencesOfCommand(endpoint, command.payload).map(placed))
  for (const row of referencesOfCommand(endpoint, { params: command.payload.params, body })) {
    if (!outbox.isLost(command, row) || !before.has(placed(row))) continue
    const maker = outbox
      .creatorsOf(rowReference(row))
      .filter((one) => one.n < command.n)
      .at(-1)
    const id = maker === undefined ? undefined : idToday(outbox, maker, row)
    if (id === undefined) lost.push(row)
    else renamed.set(row.table, (renamed.get(row.table) ?? new Map<number, number>()).set(row.id, id))
  }
  return { renamed, lost }
}
/** A row and where it is named, whichever entry of a list that is. */
const placed = (row: CommandReference): string => `${(row.field ?? "").replace(/\.\d+/g, "")} ${rowReference(row)}`
/** The id a row has that this command was to make: in what was recorded in its place, the id drawn at the same place. */
const idToday = (outbox: Outbox, maker: OutboxCommand, { table, id }: CommandReference): number | undefined => {
  if (!outbox.isLost(maker, { table, id })) return id
  const made = maker.ids[table] ?? []
  for (const next of outbox.successors(maker.id)) {
    const anew = next.ids[table] ?? []
    const there = anew.length === made.length ? anew[made.indexOf(id)] : undefined
    const today = there === undefined ? undefined : idToday(outbox, next, { table, id: there })
    if (today !== undefined) return today
  }
  return undefined
}
const lostRow = ({ table, id, field }: CommandReference): QueryResult => {
  const called = wordsOf(catalogue.table(table))
  const message = `It means the ${called} ${id} that was to be made on this device. The server was put back from a backup since, and ${called} ${id} is another one by now.`
  return refusal(
    message,
    field === undefined ? {} : { errors: { [field]: [`The ${called} meant is not there any more.`] } }
  )
}

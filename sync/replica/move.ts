/**
 * Unsent commands of a device that may send no more (revoked, or one of two copies) go on as those of the device that
 * takes its place: recorded anew through the same rules, with ids of its own. What the server decided already stays out.
 */
import { catalogue } from "../../core/catalogue.ts"
import type { Endpoint } from "../../core/kernel/endpoint.ts"
import type { Field, Fields } from "../../core/kernel/field.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import type { Verdict, WireError } from "../wire.ts"
import type { Device } from "./device.ts"
import { openOutboxOf } from "./folder.ts"
import type { KeptCommand } from "./outbox.ts"

export interface Moved {
  readonly moved: number
  /** The server had decided them already. */
  readonly decided: number
  /** What no longer holds, with the reason: for a person to look at. */
  readonly left: ReadonlyArray<{ readonly command: KeptCommand; readonly error: WireError }>
}

/** Old id → new id, by table. */
type Renamed = ReadonlyMap<string, ReadonlyMap<number, number>>

export const moveUnsent = async (commands: ReadonlyArray<KeptCommand>, from_replica_id: number, to: Device, to_folder: string): Promise<Moved> => {
  const known = await decidedAmong(commands, from_replica_id, to)
  const renamed = new Map<string, Map<number, number>>()
  const left: Array<Moved["left"][number]> = []
  let moved = 0
  const outbox = openOutboxOf(to_folder)
  try {
    for (const command of commands) {
      if (known.has(command.id)) continue
      const endpoint = catalogue.endpoint(command.name)
      if (endpoint === undefined) {
        left.push({ command, error: { status: 422, message: `This release knows no command ${command.name}.` } })
        continue
      }
      const answer = await to.ask({ method: endpoint.method, path: pathOf(endpoint, command, renamed), query: [], body: renamedBody(endpoint.fields as Fields, command.payload.body, renamed, tableOfPath(endpoint)) })
      if (answer.status >= 400 || answer.command === undefined) {
        const said = isJsonObject(answer.body) ? answer.body : {}
        if (answer.status >= 400) left.push({ command, error: { status: answer.status, message: String(said["message"] ?? `Answered ${answer.status}.`) } })
        continue
      }
      moved++
      const ids = outbox.find(answer.command.id)?.ids ?? {}
      for (const [table, old] of Object.entries(command.ids)) {
        const among = renamed.get(table) ?? new Map<number, number>()
        renamed.set(table, among)
        for (const [at, id] of old.entries()) if (ids[table]?.[at] !== undefined) among.set(id, ids[table][at])
      }
    }
  } finally { outbox.close() }
  return { moved, decided: known.size, left }
}

const decidedAmong = async (commands: ReadonlyArray<KeptCommand>, replica_id: number, to: Device): Promise<ReadonlySet<string>> => {
  if (commands.length === 0) return new Set()
  const answer = await to.remote.call("POST", `/api/v1/sync/replicas/${replica_id}/verdicts`, { ids: commands.map(({ id }) => id) })
  // The device was never this server's: then it decided nothing of it.
  if (answer.status === 404) return new Set()
  if (answer.status >= 400) throw new Error(`The server does not say what became of the commands sent before (${answer.status}); nothing was moved.`)
  return new Set((answer.body as { readonly verdicts: ReadonlyArray<Verdict> }).verdicts.map(({ id }) => id))
}

const pathOf = (endpoint: Endpoint, { payload }: KeptCommand, renamed: Renamed): string =>
  endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const given = payload.params[name] ?? ""
    const table = (endpoint.params as { readonly [name: string]: { readonly table: { readonly name: string } } })[name]?.table.name
    return encodeURIComponent(String(renamed.get(table ?? "")?.get(Number(given)) ?? given))
  })

/** What is merged into the row of a path is of the same table. */
const tableOfPath = ({ params }: Endpoint): string | undefined =>
  Object.values(params as { readonly [name: string]: { readonly table: { readonly name: string } } }).at(-1)?.table.name

/**
 * A body with ids of rows the old device made put right: by the fields' own words, where they say nothing by what stands
 * beside them (`regarding_type` says what `regarding_id` is of), else by the names of keys.
 */
export const renamedBody = (fields: Fields, body: JsonObject, renamed: Renamed, merged_into?: string): JsonObject =>
  Object.fromEntries(Object.entries(body).map(([key, value]) => {
    const kind = key.endsWith("_id") ? body[`${key.slice(0, -3)}_type`] : undefined
    const table = typeof kind === "string" ? tableNamed(entityOf(kind)) : key === "secondary_id" ? merged_into : undefined
    return [key, renamedValue(fields[key], key, value, renamed, table)]
  }))
/** `StockLevel` → `stock_level` */
const entityOf = (kind: string): string => kind.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()

const renamedValue = (field: Field | undefined, key: string, value: Json, renamed: Renamed, beside?: string): Json => {
  const shape = field?.shape
  if (Array.isArray(value)) return value.map((one: Json) => renamedValue(shape?.kind === "list" ? shape.of : undefined, key.replace(/s$/, ""), one, renamed))
  if (isJsonObject(value)) return renamedBody(shape?.kind === "object" ? shape.fields : {}, value, renamed)
  if (typeof value !== "number" && (typeof value !== "string" || !/^\d+$/.test(value))) return value
  const table = shape?.kind === "ref" ? shape.table : beside !== undefined ? beside : key.endsWith("_id") ? tableNamed(key.slice(0, -3)) : undefined
  const found = table === undefined ? undefined : renamed.get(table)?.get(Number(value))
  return found === undefined ? value : typeof value === "string" ? String(found) : found
}
/** Ids that are called otherwise than what they are of. */
const called: { readonly [name: string]: string } = { principal_item: "opportunity_item", serialised_item: "stock_level" }
const tableNamed = (entity: string): string | undefined => catalogue.tables.find((table) => table.entity === (called[entity] ?? entity))?.name

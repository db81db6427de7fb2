/** Ways out of a refusal that need looking around: another unit that is free, the part of it that can be had. */
import { catalogue } from "../../../core/catalogue.ts"
import type { Request } from "../../../core/kernel/endpoint.ts"
import { wholeNumber } from "../../../core/kernel/input.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import { referencesOfCommand, type CommandReference } from "../replica/references.ts"
import type { OutboxCommand } from "../outbox/command.ts"
import type { QueryResult } from "../replica/replica.ts"

export interface FreeUnit {
  readonly id: number
  readonly name: string
  readonly location: string | null
}
/** Is it only asked, not recorded: anything that answers reads will do. */
type Read = (request: Request) => Promise<QueryResult>

/** Single units named in the body for which the command was refused. */
export const refusedUnits = (command: OutboxCommand): ReadonlyArray<CommandReference & { readonly field: string }> => {
  const endpoint = catalogue.endpoint(command.name)
  const errors = command.error?.errors ?? {}
  // Only in a deal is it known for when a unit is wanted.
  return endpoint === undefined || !endpoint.path.startsWith("/api/v1/opportunities/{id}")
    ? []
    : referencesOfCommand(endpoint, command.payload).filter(
        (row): row is CommandReference & { readonly field: string } =>
          row.table === "stock_levels" && row.field !== undefined && errors[row.field] !== undefined
      )
}
/** The body with another unit where one was refused. */
export const substituteUnit = (body: JsonObject, field: string, unit: number): JsonObject =>
  replaced(body, field.split("."), unit) as JsonObject
const replaced = (value: Json | undefined, path: ReadonlyArray<string>, by: Json): Json => {
  const [step, ...rest] = path
  if (step === undefined) return by
  if (Array.isArray(value))
    return value.map((item: Json, at) => (String(at) === step ? replaced(item, rest, by) : item))
  return isJsonObject(value) ? { ...value, [step]: replaced(value[step], rest, by) } : (value ?? null)
}

/** Other units of the same product, free in the time the refused one was wanted for; what the command names itself is taken. */
export const freeUnits = async (command: OutboxCommand, read: Read): Promise<ReadonlyArray<FreeUnit>> => {
  const [refused] = refusedUnits(command)
  if (refused === undefined) return []
  const get = async (
    path: string,
    query: ReadonlyArray<readonly [string, string]> = []
  ): Promise<JsonObject | undefined> => {
    const answer = await read({
      method: "GET",
      path,
      query: query.map(([key, value]) => [key, value]),
      body: undefined
    })
    return answer.status < 400 && isJsonObject(answer.body) ? answer.body : undefined
  }
  const deal = await get(`/api/v1/opportunities/${command.payload.params["id"] ?? 0}`, [["include", "items"]])
  const header = isJsonObject(deal?.["opportunity"]) ? deal["opportunity"] : undefined
  const line = header === undefined ? undefined : lineOf(header, command, refused.field)
  const product_id = line?.["item_id"] ?? productOf(await get(`/api/v1/stock_levels/${refused.id}`))
  const from = line?.["starts_at"] ?? header?.["starts_at"],
    to = line?.["ends_at"] ?? header?.["ends_at"]
  if (typeof product_id !== "number" || typeof from !== "string" || typeof to !== "string") return []
  const store_id = line?.["dispatch_store_id"] ?? header?.["store_id"]
  const found = await get(`/api/v1/products/${product_id}/available-assets`, [
    ["from", from],
    ["to", to],
    ["per_page", "100"],
    ...(typeof store_id === "number" ? [["store_id", String(store_id)] as const] : [])
  ])
  const named = new Set(
    referencesOfCommand(catalogue.endpoint(command.name)!, command.payload)
      .filter((row) => row.table === "stock_levels")
      .map((row) => row.id)
  )
  const assets = Array.isArray(found?.["available_assets"]) ? found["available_assets"].filter(isJsonObject) : []
  return assets.flatMap((asset): ReadonlyArray<FreeUnit> => {
    const id = asset["id"]
    if (typeof id !== "number" || named.has(id)) return []
    const name = asset["asset_number"] ?? asset["serial_number"] ?? asset["barcode"] ?? asset["item_name"]
    return [
      {
        id,
        name: typeof name === "string" ? name : `unit ${id}`,
        location: typeof asset["location"] === "string" ? asset["location"] : null
      }
    ]
  })
}
const productOf = (body: JsonObject | undefined): Json | undefined =>
  isJsonObject(body?.["stock_level"]) ? body["stock_level"]["product_id"] : undefined
/** The line the refused unit was meant for: named in the path, or beside it in the body. */
const lineOf = (header: JsonObject, { payload }: OutboxCommand, field: string): JsonObject | undefined => {
  const beside = field
    .split(".")
    .slice(0, -1)
    .reduce<Json | undefined>(
      (at, step) => (Array.isArray(at) ? at[Number(step)] : isJsonObject(at) ? at[step] : undefined),
      payload.body
    )
  const id = wholeNumber(
    isJsonObject(beside) ? (beside["opportunity_item_id"] ?? payload.params["item"]) : payload.params["item"]
  )
  const items = Array.isArray(header["items"]) ? header["items"] : []
  return items.filter(isJsonObject).find((item) => item["id"] === id)
}

export interface SplitCommand {
  readonly body: JsonObject
  readonly rest: JsonObject
  readonly ids: WireCommand["ids"]
  readonly rest_ids: WireCommand["ids"]
  readonly says: string
}
/** As many entries of a list are tried one by one. */
const entries_max = 200

/** What of a command would hold by itself, and the rest: entries of a list, or a smaller quantity. */
export const splitCommand = async (
  command: OutboxCommand,
  fits: (body: JsonObject) => Promise<boolean>
): Promise<SplitCommand | undefined> => {
  const errored = Object.keys(command.error?.errors ?? {})
  const { body } = command.payload
  const list = Object.entries(body).find(
    (entry): entry is [string, ReadonlyArray<Json>] =>
      Array.isArray(entry[1]) &&
      entry[1].length > 1 &&
      entry[1].length <= entries_max &&
      errored.some((path) => path === entry[0] || path.startsWith(`${entry[0]}.`))
  )
  if (list !== undefined) return partedList(command, list, fits)
  const quantity = Number(body["quantity"])
  return errored.includes("quantity") && Number.isInteger(quantity) && quantity > 1
    ? partedQuantity(command, quantity, fits)
    : undefined
}

const partedList = async (
  command: OutboxCommand,
  [name, entries]: readonly [string, ReadonlyArray<Json>],
  fits: (body: JsonObject) => Promise<boolean>
): Promise<SplitCommand | undefined> => {
  const kept: Array<number> = []
  const withEntries = (places: ReadonlyArray<number>): JsonObject => ({
    ...command.payload.body,
    [name]: places.map((at) => entries[at]!)
  })
  for (const at of entries.keys()) if (await fits(withEntries([...kept, at]))) kept.push(at)
  if (kept.length === 0 || kept.length === entries.length) return undefined
  const left = [...entries.keys()].filter((at) => !kept.includes(at))
  // A row per entry stays with its entry; what else was drawn is drawn anew.
  const of = (places: ReadonlyArray<number>): WireCommand["ids"] =>
    Object.fromEntries(
      Object.entries(command.ids)
        .filter(([, ids]) => ids.length === entries.length)
        .map(([table, ids]) => [table, places.map((at) => ids[at]!)])
    )
  return {
    body: withEntries(kept),
    rest: withEntries(left),
    ids: of(kept),
    rest_ids: of(left),
    says: `record the ${kept.length} of ${entries.length} that can be had now; the rest is asked for again`
  }
}

/** The most that would hold, found by halving. */
const partedQuantity = async (
  command: OutboxCommand,
  quantity: number,
  fits: (body: JsonObject) => Promise<boolean>
): Promise<SplitCommand | undefined> => {
  const { body } = command.payload
  const asking = (count: number): JsonObject => ({
    ...body,
    quantity: typeof body["quantity"] === "string" ? String(count) : count
  })
  let [most, beyond] = [0, quantity]
  while (beyond - most > 1) {
    const middle = Math.floor((most + beyond) / 2)
    if (await fits(asking(middle))) most = middle
    else beyond = middle
  }
  return most === 0
    ? undefined
    : {
        body: asking(most),
        rest: asking(quantity - most),
        ids: command.ids,
        rest_ids: {},
        says: `record the ${most} of ${quantity} that can be had now; the rest is asked for again`
      }
}

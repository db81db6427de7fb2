/**
 * What a command is about, as its person says it: whose order, which goods, how many, when. Read from the replica's
 * rows, which hold no more than the person may see.
 */
import { Effect } from "effect"
import { credit_notes, invoices } from "../billing/schema.ts"
import type { Failure } from "../kernel/failure.ts"
import type { Json, JsonObject } from "../kernel/json.ts"
import { Store } from "../kernel/store/store.ts"
import type { Table } from "../kernel/table.ts"
import { wordsOf } from "../kernel/words.ts"
import { wholeNumber } from "../kernel/input.ts"
import { opportunity_items } from "../opportunities/lines/schema.ts"
import { asset_assignments } from "../opportunities/units/schema.ts"
import { opportunities } from "../opportunities/schema.ts"
import { states } from "../opportunities/status/statuses.ts"
import { containers } from "../packing/schema.ts"
import { members } from "../members/schema.ts"
import { purchase_orders } from "../procurement/schema.ts"
import { products } from "../products/schema.ts"
import { stock_levels } from "../stock/schema.ts"
import { spokenNumber } from "../values/short-text.ts"
import { stores, zoneOf } from "../stores/stores.ts"
import { users } from "../users/schema.ts"
import type { About, Facts, Named, Refused } from "./about.ts"
import { wishOf } from "./deeds.ts"
import { scannedBy } from "./scanned.ts"

const numberOf = (value: Json | undefined): number | null => {
  const number = Number(value)
  return (typeof value === "number" || typeof value === "string") && value !== "" && Number.isFinite(number)
    ? number
    : null
}

const papers: ReadonlyArray<Table> = [invoices, credit_notes, purchase_orders]
const idIn = (row: JsonObject | undefined, column: string): number | undefined => wholeNumber(row?.[column])
const textIn = (row: JsonObject | undefined, column: string): string | null => {
  const value = row?.[column]
  return typeof value === "string" && value !== "" ? value : null
}

/** Rows as they are here; those that are gone, as they were when the command was recorded. */
const rowsOver = ({ named, remembered }: Refused) => {
  const some = Effect.fnUntraced(function* (
    table: Table,
    ids: ReadonlyArray<number | undefined>
  ): Effect.fn.Return<ReadonlyArray<JsonObject>, Failure, Store> {
    const wanted = [...new Set(ids.filter((id) => id !== undefined))]
    const rows = (yield* (yield* Store).getMany(table, wanted)).map((row) => ({ ...row }) as JsonObject)
    const here = new Map(rows.map((row) => [idIn(row, "id"), row]))
    return wanted.flatMap((id) => {
      const row = here.get(id) ?? remembered[`${table.name}/${id}`]
      return row === undefined ? [] : [row]
    })
  })
  return {
    some,
    one: (table: Table, id: number | undefined) => Effect.map(some(table, [id]), ([row]) => row),
    idsOf: (table: Table): ReadonlyArray<number> => named.filter((one) => one.table === table.name).map(({ id }) => id)
  }
}

/** Its lines and units, and the paper that it is about. */
const partsOf = Effect.fnUntraced(function* (command: Refused) {
  const { idsOf, one, some } = rowsOver(command)
  const moved = yield* some(asset_assignments, [...idsOf(asset_assignments), ...unitsMoved(command.body)])
  const items = yield* some(opportunity_items, idsOf(opportunity_items))
  const scanned = yield* scannedBy(command)
  const levels = yield* some(stock_levels, [
    ...idsOf(stock_levels),
    scanned.stock_level_id,
    ...moved.map((unit) => idIn(unit, "stock_level_id"))
  ])
  const table = papers.find((paper) => idsOf(paper).length > 0)
  const paper = table === undefined ? undefined : yield* one(table, idsOf(table)[0])
  const numbered = textIn(paper, "number")
  const number = numbered === null ? "without a number yet" : spokenNumber(numbered)
  return {
    items,
    moved,
    levels,
    paper,
    scanned,
    paper_name: table === undefined ? null : `${wordsOf(table)} ${number}`
  }
})

const factsOf = Effect.fnUntraced(function* (
  command: Refused,
  user_id: number
): Effect.fn.Return<Facts, Failure, Store> {
  const store = yield* Store
  const { body, params } = command
  const { idsOf, one } = rowsOver(command)
  const { items, levels, moved, paper, paper_name, scanned } = yield* partsOf(command)
  const order_id = [...idsOf(opportunities), ...[...items, ...moved].map((row) => idIn(row, "opportunity_id"))][0]
  const order = yield* one(opportunities, order_id ?? idIn(paper, "opportunity_id") ?? scanned.opportunity_id)
  const customer = yield* one(
    members,
    idIn(order, "member_id") ?? idIn(paper, "member_id") ?? idIn(paper, "supplier_id") ?? idsOf(members)[0]
  )
  const product_id = [
    ...idsOf(products),
    idIn(body, "item_id"),
    ...items.map((item) => idIn(item, "item_id")),
    ...levels.map((level) => idIn(level, "product_id")),
    scanned.product_id
  ].find((id) => id !== undefined)
  const product = yield* one(products, product_id)
  const container = yield* one(containers, idsOf(containers)[0])
  const store_id = idIn(order, "store_id") ?? idIn(paper, "store_id")
  const place = store_id === undefined ? undefined : yield* store.get(stores, store_id)
  const item_id = wholeNumber(params["item"])
  return {
    person: (yield* store.get(users, user_id))?.name ?? null,
    order: orderOf(order),
    customer: namedIn(customer),
    product: namedIn(product),
    units: levels.map((level) => {
      const id = idIn(level, "id") ?? 0
      const own = textIn(level, "asset_number") ?? textIn(level, "serial_number") ?? textIn(level, "item_name")
      return { id, name: own ?? `unit ${id}` }
    }),
    container: namedIn(container),
    quantity: numberOf(body["quantity"]) ?? scanned.quantity ?? null,
    line: textIn(
      items.find((item) => idIn(item, "id") === item_id),
      "name"
    ),
    paper: paper_name,
    referring: new Map(
      command.named.flatMap(({ field, table }) => (field === undefined ? [] : [[field, calledIn(table)]]))
    ),
    zone: zoneOf(place)
  }
})
/** What people call a row that an order names. */
const calledIn = (table: string): string => (table === members.name ? "customer" : wordsOf(table.replace(/s$/, "")))
const namedIn = (row: JsonObject | undefined): Named | null => {
  const id = idIn(row, "id")
  return id === undefined ? null : { id, name: textIn(row, "name") ?? String(id) }
}
const unitsMoved = (body: JsonObject): ReadonlyArray<number> => {
  const ids = body["asset_ids"]
  return Array.isArray(ids) ? ids.flatMap((id: Json) => wholeNumber(id) ?? []) : []
}
const orderOf = (row: JsonObject | undefined): About["order"] => {
  const id = idIn(row, "id")
  if (row === undefined || id === undefined) return null
  return {
    id,
    name: textIn(row, "subject") ?? "",
    number: textIn(row, "number"),
    store_id: idIn(row, "store_id") ?? null,
    state_name: states[Number(row["state"])] ?? "",
    starts_at: textIn(row, "starts_at"),
    ends_at: textIn(row, "ends_at")
  }
}

/** What a command would do, in words that follow after "would": `make it 4 × Cable in order 12 Gala`. */
export const wishOfCommand = (command: Refused, user_id: number, now: string): Effect.Effect<string, Failure, Store> =>
  Effect.map(factsOf(command, user_id), (facts) => wishOf(command, facts, now))

/** What it did, as its person would say it: `Book out MH-2 for order 3 Gig, 3–5 Dec`. */
export const deedOf = (command: Refused, now: string): Effect.Effect<string, Failure, Store> =>
  Effect.map(wishOfCommand(command, 0, now), (wish) => `${wish.charAt(0).toUpperCase()}${wish.slice(1)}`)

/** What it is about, and its intent in one sentence. `now`: an instant; years are told where they are not this one. */
export const intentOf = (
  command: Refused,
  user_id: number,
  now: string
): Effect.Effect<{ readonly about: About; readonly intent: string }, Failure, Store> =>
  Effect.map(factsOf(command, user_id), (facts) => {
    const { line: _line, paper: _paper, referring: _referring, zone: _zone, ...about } = facts
    return { about, intent: `${facts.person ?? "Somebody"} wanted to ${wishOf(command, facts, now)}` }
  })

/**
 * Describes a refused command from its user's view: whose order, which goods, how many, when. Reads the replica's rows,
 * which hold no more than the user may see.
 */
import { wallOf, zoneOf } from "../../values/time.ts"
import { Store, wholeNumberOf, wordsOf } from "../../kernel/index.ts"
import type { Failure, Json, JsonObject, Table } from "../../kernel/index.ts"
import { codeForms, namesText, spokenNumber } from "../../values/text.ts"
import type { About, Named, Refused } from "./short-lines.ts"
import { Effect } from "effect"
import { products } from "../../products/products/schema.ts"
import { readCode, unitIdIn } from "../../warehouse/scanning/read-code.ts"
import { stock_levels } from "../../products/stock/schema.ts"
import { credit_notes, invoices } from "../../billing/state/tables.ts"
import { asset_assignments, damaged, missing, opportunities } from "../../orders/opportunities/tables/index.ts"
import { opportunity_items, states } from "../../orders/opportunities/tables/index.ts"
import { containers } from "../../products/packing.ts"
import { members } from "../../people/members/schema.ts"
import { purchase_orders } from "../../purchasing/schema.ts"
import { stores } from "../../setup/stores.ts"
import { users } from "../../people/users/permissions.ts"

// Days of a hire in words: `3–5 Dec`, `30 Nov – 2 Dec 2027`.

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** Names the year if it is not that of `now`; instants are in the zone's time. `to` null: no known end. */
export const daysInWords = (from: string, to: string | null, zone: string, now: string): string => {
  const [first, last, this_year] = [from, to ?? from, now].map((instant) => dayIn(instant, zone))
  if (first === undefined || last === undefined) return `${from} to ${to ?? "an open end"}`
  const year = last.year === this_year?.year ? "" : ` ${last.year}`
  if (to === null || to.startsWith("2199")) return `from ${first.day} ${first.month}${year} on`
  if (first.year !== last.year)
    return `${first.day} ${first.month} ${first.year} – ${last.day} ${last.month} ${last.year}`
  if (first.month !== last.month) return `${first.day} ${first.month} – ${last.day} ${last.month}${year}`
  return first.day === last.day ? `${last.day} ${last.month}${year}` : `${first.day}–${last.day} ${last.month}${year}`
}
const dayIn = (instant: string, zone: string) => {
  const millis = Date.parse(instant)
  if (Number.isNaN(millis)) return undefined
  const wall = new Date(wallOf(millis, zone))
  return { day: wall.getUTCDate(), month: months[wall.getUTCMonth()] ?? "", year: wall.getUTCFullYear() }
}

// Phrases for commands, to follow "Sam wanted to".

interface Facts extends About {
  /** The line that its path names. */
  readonly line: string | null
  /** The invoice or other document that the path names: `invoice 12`. */
  readonly paper: string | null
  /** Words for the tables that body fields refer to, by field: `customer`. */
  readonly referring: ReadonlyMap<string, string>
  readonly zone: string
}

/** `order 1042 Summer Fest for Acme Ltd, 3–5 Dec`; undefined if the command concerns no order. */
const orderText = ({ customer, order, zone }: Facts, now: string): string | undefined => {
  if (order === null) return undefined
  const number = order.number === null ? "without a number yet" : spokenNumber(order.number)
  const days = order.starts_at === null ? "" : `, ${daysInWords(order.starts_at, order.ends_at, zone, now)}`
  const whose = customer === null ? "" : ` for ${customer.name}`
  return `${order.state_name.toLowerCase()} ${number} ${order.name}${whose}${days}`
}
const listed = (names: ReadonlyArray<string>): string => namesText(names, 3)

/** The intended action, to follow "wanted to". */
const wishOf = (command: Refused, facts: Facts, now: string): string => {
  const said = deeds[command.name]?.(command.body, facts, now)
  const order = orderText(facts, now)
  if (said !== undefined) return said.replace("{order}", () => order ?? "an order that is not here")
  const [summary = ""] = command.summary.split(/[;:]/)
  const what = facts.units.length > 0 ? listed(facts.units.map(({ name }) => name)) : facts.product?.name
  const known = [facts.paper, what, facts.container?.name, order ?? facts.customer?.name].filter(
    (one) => one !== undefined && one !== null
  )
  const own = [command.body["name"], command.body["subject"]].filter((one) => typeof one === "string" && one !== "")
  const of_path = command.named.filter(({ field }) => field === undefined)
  const rows = of_path.map(({ id, table }) => `${calledIn(table)} ${id}`)
  const rest = known.length > 0 ? known : (own.length > 0 ? own : rows).slice(0, 1)
  return `${summary.charAt(0).toLowerCase()}${summary.slice(1)}${rest.length === 0 ? "" : `: ${rest.join(", ")}`}`
}

type Deed = (body: JsonObject, facts: Facts, now: string) => string | undefined
/** The goods in words: the units, else the line, the product or the scanned code. */
const what = ({ line, product, units }: Facts, { code }: JsonObject = {}): string =>
  units.length > 0
    ? listed(units.map(({ name }) => name))
    : (line ?? product?.name ?? (typeof code === "string" ? code : "a line"))
const counted = ({ quantity }: Facts, name: string): string => (quantity === null ? name : `${quantity} × ${name}`)
/** ` as damaged: lens cracked`, ` as missing`, ` as checked`; empty for other returns. */
const inWhatState = ({ condition, damage_notes, finalise }: JsonObject): string => {
  const state =
    condition === damaged
      ? " as damaged"
      : condition === missing
        ? " as missing"
        : finalise === true
          ? " as checked"
          : ""
  return `${state}${typeof damage_notes === "string" && damage_notes !== "" ? `: ${damage_notes}` : ""}`
}
const newDays = (body: JsonObject, { order, zone }: Facts, now: string): string | undefined => {
  const [from, to] = [body["starts_at"] ?? order?.starts_at, body["ends_at"] ?? order?.ends_at]
  return typeof from === "string" && (body["starts_at"] !== undefined || body["ends_at"] !== undefined)
    ? daysInWords(from, typeof to === "string" ? to : null, zone, now)
    : undefined
}
/** Fields with their requested values, if short; references by the word for their table. */
const fieldsOf = (body: JsonObject, { referring }: Facts): string =>
  Object.entries(body)
    .map(([name, value]) => {
      const row = referring.get(name)
      if (row !== undefined) return row
      const words = name.replaceAll("_", " ")
      const is_short = (typeof value === "string" && value.length <= 40) || typeof value === "number"
      return is_short && value !== "" ? `${words} ${value}` : words
    })
    .join(", ")

const deeds: { readonly [name: string]: Deed } = {
  "opportunities.add_item": (body, facts) => {
    const named = typeof body["name"] === "string" ? body["name"] : "a line"
    return `add ${counted(facts, facts.product?.name ?? named)} to {order}`
  },
  "opportunities.update_item": (body, facts) =>
    facts.quantity === null
      ? `change ${what(facts)} (${fieldsOf(body, facts)}) in {order}`
      : `make it ${counted(facts, what(facts))} in {order}`,
  "opportunities.remove_item": (_body, facts) => `take ${what(facts)} out of {order}`,
  "opportunities.update": (body, facts, now) => {
    const days = newDays(body, facts, now)
    return days === undefined ? `change {order}: ${fieldsOf(body, facts)}` : `move {order} to ${days}`
  },
  "opportunities.extend": (body, facts, now) => `extend {order} to ${newDays(body, facts, now) ?? "other dates"}`,
  "opportunities.delete": () => "delete {order}",
  "opportunities.clone": () => "copy {order}",
  "opportunities.convert_to_quotation": () => "make a quotation of {order}",
  "opportunities.convert_to_order": () => "make an order of {order}",
  "opportunities.quick_allocate": (_body, facts) => `allocate ${what(facts)} to {order}`,
  "opportunities.allocate_asset": (_body, facts) => `allocate ${what(facts)} to {order}`,
  "opportunities.deallocate_asset": (_body, facts) => `release ${what(facts)} from {order}`,
  "opportunities.quick_prepare": (_body, facts) => `prepare ${what(facts)} for {order}`,
  "opportunities.quick_book_out": (_body, facts) => `book out ${what(facts)} for {order}`,
  "opportunities.quick_check_in": (_body, facts) => `check in ${what(facts)} from {order}`,
  "opportunities.fulfil_item": (body, facts) =>
    typeof body["action"] === "string"
      ? `${body["action"].replaceAll("_", " ")} ${counted(facts, what(facts))} of {order}`
      : undefined,
  "opportunities.scan": (body, facts) =>
    body["direction"] === "in"
      ? `check in ${counted(facts, what(facts, body))} from {order}${inWhatState(body)}`
      : `book out ${counted(facts, what(facts, body))} for {order}`,
  "scans.check_in": (body, facts) => `check in ${counted(facts, what(facts, body))}${inWhatState(body)}`,
  "containers.pack": (_body, facts) => `pack ${what(facts)} into ${facts.container?.name ?? "a case"}`,
  "containers.unpack": (_body, facts) => `take ${what(facts)} out of ${facts.container?.name ?? "a case"}`,
  "opportunities.resolve_shortages": (body) =>
    body["resolution"] === "waitlist" ? "put what is short of {order} on the waiting list" : undefined,
  "stock_levels.create": (body, facts) => {
    const number = body["asset_number"] ?? body["serial_number"]
    return typeof number === "string" ? `add ${facts.product?.name ?? "the unit"} ${number} to the stock` : undefined
  }
}

// Scan commands: their code is looked up here for the unit and its newest order, or the product.

const scans: ReadonlySet<string> = new Set(["opportunities.scan", "scans.check_in"])

interface ScannedCode {
  readonly stock_level_id?: number
  readonly product_id?: number
  /** Newest order of the unit; undefined if it was on none. */
  readonly opportunity_id?: number
  readonly quantity?: number
}

/** Resolves a scan's code; empty for other commands and for unknown codes. */
const scannedBy = Effect.fnUntraced(function* ({ body: { code }, name }: Refused): Store.Reads<ScannedCode> {
  if (!scans.has(name) || typeof code !== "string") return {}
  const { quantity, texts } = readCode(code)
  const forms = [...new Set(texts.flatMap(codeForms))]
  const id = unitIdIn(code)
  const found: Array<number> = id === undefined ? [] : [id]
  for (const column of quantity === undefined ? (["barcode", "asset_number", "serial_number"] as const) : [])
    found.push(...(yield* Store.pick(stock_levels, ["id"], { [column]: forms })).map((level) => level.id))
  const [stock_level_id] = found
  if (stock_level_id !== undefined) {
    const newest = yield* Store.first(asset_assignments, { stock_level_id }, { order: ["-id"] })
    return { stock_level_id, ...(newest === undefined ? {} : { opportunity_id: newest.opportunity_id }) }
  }
  for (const column of ["barcode", "sku"] as const) {
    const [product] = yield* Store.pick(products, ["id"], { [column]: forms })
    if (product !== undefined) return { product_id: product.id, ...(quantity === undefined ? {} : { quantity }) }
  }
  return {}
})

const numberOf = (value: Json | undefined): number | null => {
  const number = Number(value)
  return (typeof value === "number" || typeof value === "string") && value !== "" && Number.isFinite(number)
    ? number
    : null
}

const papers: ReadonlyArray<Table> = [invoices, credit_notes, purchase_orders]
const idIn = (row: JsonObject | undefined, column: string): number | undefined => wholeNumberOf(row?.[column])
const textIn = (row: JsonObject | undefined, column: string): string | null => {
  const value = row?.[column]
  return typeof value === "string" && value !== "" ? value : null
}

/** Current rows; deleted ones as they were when the command was recorded. */
const rowsOver = ({ named, remembered }: Refused) => {
  const some = Effect.fnUntraced(function* (
    table: Table,
    ids: ReadonlyArray<number | undefined>
  ): Store.Reads<ReadonlyArray<JsonObject>> {
    const wanted = [...new Set(ids.filter((id) => id !== undefined))]
    const rows = (yield* Store.getMany(table, wanted)).map((row) => ({ ...row }))
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

/** The command's lines and units, and the invoice or other document it concerns. */
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

const factsOf = Effect.fnUntraced(function* (command: Refused, user_id: number): Store.Reads<Facts> {
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
  const place = store_id === undefined ? undefined : yield* Store.get(stores, store_id)
  const item_id = wholeNumberOf(params["item"])
  return {
    person: (yield* Store.get(users, user_id))?.name ?? null,
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
    zone: zoneOf(place?.timezone)
  }
})
/** Users' word for the table of a referenced row. */
const calledIn = (table: string): string => (table === members.name ? "customer" : wordsOf(table.replace(/s$/, "")))
const namedIn = (row: JsonObject | undefined): Named | null => {
  const id = idIn(row, "id")
  return id === undefined ? null : { id, name: textIn(row, "name") ?? String(id) }
}
const unitsMoved = (body: JsonObject): ReadonlyArray<number> => {
  const ids = body["asset_ids"]
  return Array.isArray(ids) ? ids.flatMap((id: Json) => wholeNumberOf(id) ?? []) : []
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

/** The command's effect, to follow "would": `make it 4 × Cable in order 12 Gala`. */
export const wishOfCommand = (command: Refused, user_id: number, now: string): Effect.Effect<string, Failure, Store> =>
  Effect.map(factsOf(command, user_id), (facts) => wishOf(command, facts, now))

/** The command in words: `Book out MH-2 for order 3 Gig, 3–5 Dec`. */
export const deedOf = (command: Refused, now: string): Effect.Effect<string, Failure, Store> =>
  Effect.map(wishOfCommand(command, 0, now), (wish) => `${wish.charAt(0).toUpperCase()}${wish.slice(1)}`)

/** Subject of a command, and its intent in one sentence. `now`: an instant; other years are named. */
export const intentOf = (
  command: Refused,
  user_id: number,
  now: string
): Effect.Effect<{ readonly about: About; readonly intent: string }, Failure, Store> =>
  Effect.map(factsOf(command, user_id), (facts) => {
    const { line: _line, paper: _paper, referring: _referring, zone: _zone, ...about } = facts
    return { about, intent: `${facts.person ?? "Somebody"} wanted to ${wishOf(command, facts, now)}` }
  })

/** Facts for warehouse documents: a fixed number of queries, for any number of lines. */
import { Effect } from "effect"
import { bindings, columnList, settingText, Store, type Settings } from "../../kernel/index.ts"
import type { CellCode } from "../../pricing/print/blocks.ts"
import { type ProductRow, products } from "../../products/products/schema.ts"
import { readCode, unitCode } from "../../warehouse/scanning/read-code.ts"
import { stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import { loadStockedProducts } from "../../orders/availability/facts/load-products.ts"
import type { StockedProduct } from "../../orders/availability/rules/snapshot.ts"
import type { PaperOptions } from "../../billing/paper/letter.ts"
import { paperOptions } from "../../billing/paper/document.ts"
import { buyerOf, chosenContact, sellerOf } from "../../billing/state/parties.ts"
import type { NamedParty } from "../../billing/state/tables.ts"
import { addresses, members } from "../../people/members/schema.ts"
import { asset_assignments, opportunities, opportunity_items } from "../../orders/opportunities/tables/index.ts"
import type { AssignmentRow, ItemRow, OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { type Jobs, jobsOf } from "../../orders/opportunities/units/next-jobs.ts"
import type { ContainerItemRow, ContainerRow } from "../../products/packing.ts"
import { container_items, containers, live_statuses } from "../../products/packing.ts"
import { type StoreRow, stores } from "../../setup/stores.ts"
import { inspection_kinds, inspections } from "../../warehouse/inspections/schema.ts"

// Codes on documents that `scan` and `pack` resolve to the row they label. A scan finds units by barcode, asset number
// and serial number, in this order, and products by SKU and barcode. Ambiguous codes are not printed; a unit without
// any other is printed as `unit:ID`.

type CodedUnit = Pick<StockLevelRow, "id" | "barcode" | "asset_number" | "serial_number">
type CodedProduct = Pick<ProductRow, "id" | "sku" | "barcode">
interface Codes {
  readonly ofUnit: (id: number) => CellCode | undefined
  /** A quantity of a bulk product: `CABLE*5`. */
  readonly ofProduct: (id: number, quantity: string) => CellCode | undefined
}

/**
 * Whether a scan of the text would find the same code: the scanner's prefix, surrounding spaces and quantities (`*5`,
 * `5 x `) are cut off.
 */
const isReadable = (text: string): boolean => {
  const { code, quantity } = readCode(text)
  return text !== "" && text.length <= 200 && !/[\r\n]/.test(text) && code === text && quantity === undefined
}
/** Characters of the longest Code 128 that fits a column; longer codes are printed as QR codes, for cameras. */
const laser_signs_max = 20
export const symbolFor = (value: string): CellCode => ({
  symbology: /^[\u0020-\u007e]+$/.test(value) && value.length <= laser_signs_max ? "code128" : "qr",
  value
})

const unit_columns = ["barcode", "asset_number", "serial_number"] as const
const product_columns = ["sku", "barcode"] as const

/** Finds the id with a code: "several" if it is ambiguous, undefined if unknown. */
const finder = <Row extends { readonly id: number }, C extends keyof Row>(
  rows: ReadonlyArray<Row>,
  columns: ReadonlyArray<C>
): ((text: string) => number | "several" | undefined) => {
  const by = columns.map((column) => Map.groupBy(rows, (row) => row[column]))
  return (text) => {
    for (const found of by) {
      const rows_with = found.get(text as Row[C])
      if (rows_with !== undefined) return rows_with.length > 1 ? "several" : rows_with[0]?.id
    }
    return undefined
  }
}

export const codesAmong = (
  units: ReadonlyArray<CodedUnit>,
  of_products: ReadonlyArray<CodedProduct>,
  rivals: { readonly units: ReadonlyArray<CodedUnit>; readonly products: ReadonlyArray<CodedProduct> }
): Codes => {
  const distinct = <Row extends { readonly id: number }>(rows: ReadonlyArray<Row>): ReadonlyArray<Row> => [
    ...new Map(rows.map((row) => [row.id, row])).values()
  ]
  const unitOf = finder(distinct([...units, ...rivals.units]), unit_columns)
  const productOf = finder(distinct([...of_products, ...rivals.products]), product_columns)
  const unitsById = new Map(units.map((row) => [row.id, row]))
  const productsById = new Map(of_products.map((row) => [row.id, row]))
  return {
    ofUnit: (id) => {
      const row = unitsById.get(id)
      if (row === undefined) return undefined
      const code = unit_columns
        .map((column) => row[column])
        .find((text) => text !== null && isReadable(text) && unitOf(text) === id)
      return symbolFor(code ?? unitCode(id))
    },
    ofProduct: (id, quantity) => {
      const row = productsById.get(id)
      // Scanned quantities are whole pieces of at most six digits.
      if (row === undefined || !/^[1-9]\d{0,5}$/.test(quantity)) return undefined
      const code = product_columns
        .map((column) => row[column])
        .find((text) => text !== null && isReadable(text) && productOf(text) === id)
      return code == null ? undefined : symbolFor(`${code}*${quantity}`)
    }
  }
}

const texts = <Row>(rows: ReadonlyArray<Row>, columns: ReadonlyArray<keyof Row>): ReadonlyArray<string> => [
  ...new Set(rows.flatMap((row) => columns.map((column) => row[column]).filter((text) => typeof text === "string")))
]

/** Printable codes of these units and products, checked for ambiguity against all others: two queries. */
const loadCodes = Effect.fnUntraced(function* (
  units: ReadonlyArray<CodedUnit>,
  of_products: ReadonlyArray<CodedProduct>
): Store.Reads<Codes> {
  const store = yield* Store
  const of_units = texts(units, unit_columns)
  const among = [...texts(of_products, product_columns)]
  // Bound as one parameter, as statements limit their number.
  const wanted =
    store.dialect === "sqlite"
      ? "with wanted(text) as (select value from json_each(?)) "
      : "with wanted(text) as (select jsonb_array_elements_text($1::jsonb)) "
  const withAny = (columns: ReadonlyArray<string>): string =>
    columns.map((column) => `${column} in (select text from wanted)`).join(" or ")
  const rival_units =
    of_units.length === 0
      ? []
      : yield* store.run(
          `${wanted}select ${columnList(stock_levels)} from stock_levels where ${withAny(unit_columns)}`,
          [JSON.stringify(of_units)]
        )
  const rival_products =
    among.length === 0
      ? []
      : yield* store.run(
          `${wanted}select ${columnList(products)} from products ` +
            `where deleted_at is null and (${withAny(product_columns)})`,
          [JSON.stringify(among)]
        )
  return codesAmong(units, of_products, {
    units: rival_units.map((row) => store.decode(stock_levels, row)),
    products: rival_products.map((row) => store.decode(products, row))
  })
})

/** Storage location of a product at a store, from its stock. */
export interface Shelf {
  readonly product_id: number
  readonly store_id: number
  readonly location: string | null
  readonly is_sub_hired: boolean
}
export interface WarehouseFacts {
  readonly order: OpportunityRow
  /** Lines that are goods, in the order's sequence; not groups, texts or services. */
  readonly lines: ReadonlyArray<ItemRow>
  readonly units: ReadonlyArray<AssignmentRow>
  /** Other orders that units go on to, or come from, by stock level; empty for customers. */
  readonly jobs: ReadonlyMap<number, Jobs>
  readonly levels: ReadonlyMap<number, StockLevelRow>
  readonly products: ReadonlyMap<number, ProductRow>
  /** Products of the lines, and components of kits among them at any depth, by id. */
  readonly stocked: ReadonlyMap<number, StockedProduct>
  readonly shelves: ReadonlyArray<Shelf>
  readonly cases: ReadonlyArray<ContainerRow>
  readonly packed: ReadonlyArray<ContainerItemRow>
  readonly stores: ReadonlyMap<number, StoreRow>
  readonly codes: Codes
  /** Newest passed inspections by unit; empty for documents that do not name them. */
  readonly inspected: ReadonlyMap<number, ReadonlyArray<{ readonly kind: string; readonly at: string }>>
  /** Time at which the inspections of units are compared; null where missing ones are not noted. */
  readonly inspections_due_by: string | null
  readonly seller: NamedParty | null
  readonly customer: NamedParty | null
  readonly venue: string | null
  readonly deliver_to: ReadonlyArray<string>
  readonly collect_from: ReadonlyArray<string>
  readonly options: PaperOptions
}
/** Audience of a document: staff only, or the customer as well. */
interface Reader {
  readonly store_id: number | null
  readonly is_customer: boolean
  readonly now: string
}

const ids = (given: Iterable<number | null>): ReadonlyArray<number> => [
  ...new Set([...given].filter((id) => id !== null))
]

/** Facts for a warehouse document; undefined if the order is gone. */
export const warehouseFacts = Effect.fnUntraced(function* (
  opportunity_id: number,
  reader: Reader,
  settings: Settings
): Store.Reads<WarehouseFacts | undefined> {
  const order = yield* Store.get(opportunities, opportunity_id)
  if (order === undefined || order.deleted_at !== null) return undefined
  const lines = (yield* Store.find(
    opportunity_items,
    { opportunity_id: order.id, is_live: true, item_type: ["product", "accessory"] },
    { order: ["path", "id"] }
  )).filter(({ transaction_type }) => transaction_type !== service)
  const units = yield* unitsOf(order, lines)
  const { cases, packed } = yield* casesOf(order, units)
  const levels = yield* Store.byId(
    stock_levels,
    ids([
      ...units.flatMap((unit) => [unit.stock_level_id, unit.container_stock_level_id]),
      ...cases.map((one) => one.serialised_item_id),
      ...packed.map((one) => one.serialised_item_id)
    ])
  )
  const stocked = yield* loadStockedProducts(ids(lines.map((line) => line.item_id)))
  const named = yield* Store.byId(
    products,
    ids([
      ...lines.map((line) => line.item_id),
      ...stocked.keys(),
      ...[...levels.values()].map((level) => level.product_id),
      ...cases.map((one) => one.product_id)
    ])
  )
  const store_ids = ids([order.store_id, ...lines.map((line) => line.dispatch_store_id)])
  return {
    order,
    lines,
    units,
    jobs: reader.is_customer ? new Map() : yield* jobsOf(order, ids(units.map((unit) => unit.stock_level_id))),
    levels,
    products: named,
    stocked,
    cases,
    packed,
    shelves: yield* shelvesOf(ids([...stocked.keys()]), store_ids),
    stores: yield* Store.byId(stores, ids([...store_ids, ...[...levels.values()].map((level) => level.store_id)])),
    codes: yield* loadCodes([...levels.values()], [...named.values()]),
    inspected: reader.is_customer ? yield* inspectedOf([...levels.keys()]) : new Map(),
    inspections_due_by:
      reader.is_customer || settingText(settings, "inspections", "policy") === "allow" ? null : reader.now,
    ...(yield* partiesTo(order, reader, settings)),
    options: yield* paperOptions(
      { member_id: reader.is_customer ? (order.member_id ?? 0) : 0, store_id: reader.store_id ?? order.store_id },
      settings
    )
  }
})
const inspectedOf = Effect.fnUntraced(function* (
  stock_level_id: ReadonlyArray<number>
): Store.Reads<WarehouseFacts["inspected"]> {
  if (stock_level_id.length === 0) return new Map()
  const rows = yield* Store.find(inspections, { stock_level_id, is_latest: true, result: "pass" })
  const kinds = new Map((yield* Store.find(inspection_kinds, {})).map((one) => [one.id, one.name]))
  return new Map(
    [...Map.groupBy(rows, (row) => row.stock_level_id)].map(([id, own]) => [
      id,
      own
        .flatMap(({ inspected_at: at, inspection_kind_id }) =>
          at === null ? [] : [{ kind: kinds.get(inspection_kind_id) ?? "", at }]
        )
        .sort((one, other) => (one.kind < other.kind ? -1 : 1))
    ])
  )
})
/** Transaction type of services. */
const service = 2

const unitsOf = Effect.fnUntraced(function* (
  order: OpportunityRow,
  lines: ReadonlyArray<ItemRow>
): Store.Reads<ReadonlyArray<AssignmentRow>> {
  const shown = new Set(lines.map((line) => line.id))
  const all = yield* Store.find(asset_assignments, { opportunity_id: order.id }, { order: ["id"] })
  return all.filter((unit) => shown.has(unit.opportunity_item_id))
})

/**
 * Live cases that contain or are units of the order or were sent out on it, with the cases inside them and the contents
 * of all: three queries.
 */
const casesOf = Effect.fnUntraced(function* (
  order: OpportunityRow,
  units: ReadonlyArray<AssignmentRow>
): Store.Reads<Pick<WarehouseFacts, "cases" | "packed">> {
  const store = yield* Store
  const unit_ids = ids(units.map((unit) => unit.stock_level_id))
  const around =
    unit_ids.length === 0 ? [] : yield* store.find(container_items, { serialised_item_id: unit_ids, unpacked_at: null })
  const housings = ids([...unit_ids, ...units.map((unit) => unit.container_stock_level_id)])
  const bound = bindings(store.dialect)
  const among = (column: string, of: ReadonlyArray<number>): ReadonlyArray<string> =>
    of.length === 0 ? [] : [`${column} in (${of.map(bound.bind).join(", ")})`]
  const live = `(${live_statuses.map((status) => `'${status}'`).join(", ")})`
  const starts = [
    ...among("id", ids(around.map((one) => one.container_id))),
    ...among("serialised_item_id", housings),
    `opportunity_id = ${bound.bind(order.id)}`
  ]
  const rows = yield* store.run(
    `with recursive involved(id) as (select id from containers where status in ${live} and (${starts.join(" or ")}) ` +
      "union select c.id from containers c join involved on c.parent_container_id = involved.id " +
      `where c.status in ${live}) ` +
      `select ${columnList(containers)} from containers where id in (select id from involved) order by name, id`,
    bound.values
  )
  const cases = rows.map((row) => store.decode(containers, row))
  return {
    cases,
    packed:
      cases.length === 0
        ? []
        : yield* store.find(
            container_items,
            { container_id: cases.map((one) => one.id), unpacked_at: null },
            { order: ["position", "id"] }
          )
  }
})

/** Storage locations of products: one row each, however many units are there. */
const shelvesOf = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>,
  store_ids: ReadonlyArray<number>
): Store.Reads<ReadonlyArray<Shelf>> {
  if (product_ids.length === 0 || store_ids.length === 0) return []
  const { sql } = yield* Store
  const rows = yield* sql<{
    product_id: number
    store_id: number
    location: string | null
    is_sub_hired: boolean | number
  }>`
    select distinct product_id, store_id, location, is_sub_hired from stock_levels
    where product_id in ${sql.in(product_ids)} and store_id in ${sql.in(store_ids)} and not is_gone`
  return rows.map((row) => ({ ...row, is_sub_hired: Boolean(row.is_sub_hired) }))
})

/** Parties, venue and addresses of the order, as far as the device has access to them. */
const partiesTo = Effect.fnUntraced(function* (order: OpportunityRow, reader: Reader, settings: Settings) {
  const venue = order.venue_id === null ? undefined : yield* Store.get(members, order.venue_id)
  const told = yield* Store.getMany(addresses, ids([order.delivery_address_id, order.collection_address_id]))
  const at_venue =
    order.venue_id === null
      ? undefined
      : chosenContact(yield* Store.find(addresses, { member_id: order.venue_id }, { order: ["id"] }), new Set())
  const linesOf = (id: number | null): ReadonlyArray<string> => {
    const row = told.find((one) => one.id === id) ?? at_venue
    // Devices without access to addresses have rows with owners only.
    if (row === undefined || !row.street) return []
    return [...row.street.split("\n"), [row.postcode, row.city].filter(Boolean).join(" "), row.county ?? ""].filter(
      (line) => line.trim() !== ""
    )
  }
  return {
    seller: yield* sellerOf(reader.store_id ?? order.store_id, settings),
    customer: order.member_id === null ? null : yield* buyerOf(order.member_id),
    venue: venue?.name ?? null,
    deliver_to: linesOf(order.delivery_address_id),
    collect_from: linesOf(order.collection_address_id)
  }
})

/**
 * `GET /search`: finds members, orders, products, units, containers, invoices and purchase orders by any part of a
 * name, or by code (rules/search).
 */
import { Effect } from "effect"
import { invoice_statuses } from "../../billing/state/tables.ts"
import { boolean, choice, decimal, get, integer, later, list, ok, Shown, text, timestamp } from "../../kernel/index.ts"
import type { Slice } from "../../kernel/index.ts"
import { membership_types } from "../../people/members/schema.ts"
import { container_statuses } from "../../products/packing.ts"
import { product_types } from "../../products/products/schema.ts"
import { purchase_order_statuses } from "../../purchasing/schema.ts"
import { out_of_service_labels } from "../../products/stock/schema.ts"
import { search_kinds, unit_places } from "./kinds.ts"

const searching = later(() => import("./answer.ts"))

const limit_default = 20
const limit_max = 100
const sought_max = 200

const is_exact = boolean({ describe: "Whether a code, number or name matches exactly" })
const common = { id: integer(), is_exact }
const nullableText = () => text({ nullable: true })
const orderOfWhere = Shown.keys(
  {
    id: integer(),
    number: nullableText(),
    subject: text(),
    member_name: nullableText(),
    until: timestamp({ nullable: true })
  },
  { nullable: true }
)
const whereShown = Shown.keys({
  text: text({ describe: "Place in words, times in the store's time zone" }),
  place: choice(unit_places),
  store_id: integer({ nullable: true }),
  store_name: nullableText(),
  timezone: text(),
  location: nullableText(),
  container: Shown.keys({ id: integer(), name: text() }, { nullable: true }),
  order: orderOfWhere,
  service: Shown.objects({
    state: choice(out_of_service_labels),
    quantity: integer(),
    since: timestamp(),
    expected_back_at: timestamp({ nullable: true }),
    reason: nullableText()
  }),
  supplier: Shown.keys(
    {
      name: nullableText(),
      purchase_order: Shown.keys({ id: integer(), number: nullableText() }),
      due_back_at: timestamp({ nullable: true })
    },
    { nullable: true }
  )
})
export const searchShown = {
  query: text(),
  total: integer({ describe: "Rows in this response" }),
  more: list(choice(search_kinds), { describe: "Kinds of records with more matches than returned" }),
  units: Shown.objects({
    ...common,
    product_id: integer(),
    product_name: nullableText(),
    item_name: nullableText(),
    asset_number: nullableText(),
    serial_number: nullableText(),
    barcode: nullableText(),
    quantity_held: decimal({ scale: 2 }),
    where: whereShown
  }),
  containers: Shown.objects({
    ...common,
    name: text(),
    barcode: nullableText(),
    status: choice(container_statuses),
    store_name: nullableText(),
    where: Shown.keys({
      text: text({ describe: "Place in words, times in the store's time zone" }),
      is_out: boolean(),
      inside: Shown.keys(
        { id: integer(), name: text() },
        { nullable: true, describe: "Outermost case that contains it" }
      ),
      order: orderOfWhere
    })
  }),
  orders: Shown.objects({
    ...common,
    number: nullableText(),
    subject: text(),
    reference: nullableText(),
    member_id: integer({ nullable: true }),
    member_name: nullableText(),
    store_name: nullableText(),
    timezone: text(),
    state_name: text(),
    status_name: text(),
    starts_at: timestamp({ nullable: true }),
    ends_at: timestamp({ nullable: true })
  }),
  members: Shown.objects({
    ...common,
    name: text(),
    membership_type: choice(membership_types),
    account_number: nullableText(),
    is_active: boolean(),
    is_on_stop: boolean()
  }),
  products: Shown.objects({
    ...common,
    name: text(),
    sku: nullableText(),
    barcode: nullableText(),
    product_type: choice(product_types),
    is_active: boolean()
  }),
  invoices: Shown.objects({
    ...common,
    number: nullableText(),
    subject: nullableText(),
    member_name: nullableText(),
    status: choice(invoice_statuses),
    timezone: text(),
    due_at: timestamp({ nullable: true })
  }),
  purchase_orders: Shown.objects({
    ...common,
    number: nullableText(),
    subject: nullableText(),
    supplier_name: nullableText(),
    status: choice(purchase_order_statuses)
  })
}

const search = get("/api/v1/search", {
  answer: { search: Shown.keys(searchShown) },
  name: "search.show",
  summary: "Search orders, members, products, units, cases, invoices and purchase orders",
  ability: null,
  permission: null,
  fields: {
    q: text({ required: true, max: sought_max, describe: "Search words in any order, parts of words, or a code" }),
    kinds: list(choice(search_kinds), {
      nullable: true,
      describe: "Kinds of records to search; default: all you may list"
    }),
    limit: integer({ min: 1, max: limit_max, default: limit_default, describe: "Results per kind" })
  },
  run: Effect.fnUntraced(function* (input) {
    const { searchFor } = yield* searching
    const { kinds = null, limit = limit_default, q = "" } = input.values
    const search = yield* searchFor(q, input, { kinds, limit })
    return ok({ search })
  })
})

export const searchSlice: Slice = { name: "search", endpoints: [search] }

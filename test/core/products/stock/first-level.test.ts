/** Stock levels created with a new product. */
import { Result } from "effect"
import { describe, it } from "vitest"
import { rowEvents } from "../../../../core/kernel/endpoints/crud-resource.ts"
import { initialRow } from "../../../../core/kernel/tables/field-schema.ts"
import type { Decided } from "../../../../core/kernel/endpoints/endpoint.ts"
import type { NewEvent } from "../../../../core/kernel/events/event-type.ts"
import { bulk, products, serialised } from "../../../../core/products/products/schema.ts"
import { productStocked } from "../../../../core/products/stock/decide.ts"
import { stores, type StoreRow } from "../../../../core/setup/stores.ts"
import { decider, type Facts, given_at, type GivenRow, row } from "../../decider.ts"

const { given } = decider(rowEvents(products))

const store = (id: number, is_default = false): GivenRow =>
  row(stores, {
    ...initialRow(stores, stores.columns),
    id,
    name: `Store ${id}`,
    is_default,
    created_at: given_at,
    updated_at: given_at,
    deleted_at: null
  } as StoreRow)
const product = (id: number, stock_method: number): NewEvent => ({
  stream: `product:${id}`,
  type: "product.created",
  data: { id, stock_method }
})
const level = (product_id: number, store_id: number, id = 1_001): NewEvent => ({
  stream: `stock_level:${id}`,
  type: "stock_level.created",
  data: {
    id,
    product_id,
    store_id,
    member_id: null,
    item_name: null,
    asset_number: null,
    serial_number: null,
    barcode: null,
    location: null,
    stock_type: 1,
    stock_category: 10,
    quantity_held: "0.00",
    quantity_allocated: "0.00",
    quantity_unavailable: "0.00",
    quantity_on_order: "0.00",
    container_stock_level_id: null,
    container_mode: null,
    starts_at: null,
    ends_at: null,
    inspection_due_at: null,
    custom_fields: {},
    is_gone: false,
    out_of_service: [],
    service_state: "in_service",
    is_sub_hired: false,
    given_back_at: null,
    purchase_order_item_id: null
  }
})
const recording =
  (...all: ReadonlyArray<NewEvent>) =>
  ({ context, find }: Facts): Decided<object> =>
    Result.map(productStocked.decideOn(all, find(stores, {}), context), (events) => ({ events, result: {} }))

describe("a new bulk product", () => {
  it("gets an empty level at the default store, or else at the first store if there is one", () => {
    given(store(1), store(2, true))
      .when(recording(product(5, bulk)))
      .thenEvents(level(5, 2))
    given(store(1), store(2))
      .when(recording(product(5, bulk)))
      .thenEvents(level(5, 1))
    given()
      .when(recording(product(5, bulk)))
      .thenNothing()
  })
  it("gets no empty level if its command gives it stock, unlike other products of the command", () => {
    given(store(1), store(2, true))
      .when(recording(product(5, bulk), level(5, 1, 900), product(6, bulk), product(7, bulk)))
      .thenEvents(level(6, 2), level(7, 2, 1_002))
  })
})
describe("a new serialised product", () => {
  it("has no stock level before its first unit", () => {
    given(store(1, true))
      .when(recording(product(5, serialised)))
      .thenNothing()
  })
})

/** Effects on containers of booking units, changing cases and moving units, as given, when, then with full events. */
import { Result } from "effect"
import { describe, it } from "vitest"
import { bookedUnits } from "../../../../core/warehouse/containers/booking.ts"
import { containerEvents } from "../../../../core/warehouse/containers/events.ts"
import type { ContainerFacts, PackedUnit, Unit } from "../../../../core/warehouse/containers/facts.ts"
import { casesChanged, unitsBooked, unitsStay } from "../../../../core/warehouse/containers/reactions.ts"
import { demands, demandsSlice } from "../../../../core/orders/demands/schema.ts"
import type { Decided } from "../../../../core/kernel/endpoints/endpoint.ts"
import { rowEvents } from "../../../../core/kernel/endpoints/crud-resource.ts"
import { initialRow } from "../../../../core/kernel/tables/field-schema.ts"
import type { NewEvent } from "../../../../core/kernel/events/event-type.ts"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import type { Reaction } from "../../../../core/kernel/events/react.ts"
import {
  type CaseProduct,
  type ComponentRow,
  type ContainerMode,
  product_components
} from "../../../../core/products/kits/schema.ts"
import { type ContainerRow, container_items, containers } from "../../../../core/products/packing.ts"
import { type ProductRow, products } from "../../../../core/products/products/schema.ts"
import { type StockLevelRow, stock_levels } from "../../../../core/products/stock/schema.ts"
import { decided_at, decider, type Facts, given_at, type GivenRow, row, stamps } from "../../decider.ts"
import { demand } from "../../orders/availability/api/fixtures.ts"
import { container as anyContainer, item as anyItem } from "./rows.ts"

const { given } = decider([...containerEvents, ...rowEvents(stock_levels), ...(demandsSlice.events ?? [])])

const case_product = 70
const housing = 700
const container = (id: number, more: Partial<ContainerRow> = {}): GivenRow =>
  anyContainer(id, { product_id: case_product, serialised_item_id: housing, ...more })
/** Unit 500 + id of product 50 + id, packed in the container. */
const item = (id: number, container_id: number): GivenRow => anyItem(id, container_id, { product_id: 50 + id })
const unit = (item_id: number, more: Partial<StockLevelRow> = {}): GivenRow =>
  row(stock_levels, {
    ...initialRow(stock_levels, stock_levels.columns),
    ...stamps,
    id: 500 + item_id,
    product_id: 50 + item_id,
    store_id: 1,
    stock_category: 50,
    container_stock_level_id: housing,
    container_mode: "transport",
    ...more
  } as StockLevelRow)
const decide =
  (reaction: Reaction, happened: ReadonlyArray<NewEvent>, factsOf: (facts: Facts) => unknown) =>
  (facts: Facts): Decided<object> =>
    Result.map(reaction.decideOn(happened, factsOf(facts), facts.context), (events) => ({ events, result: {} }))

const unpacked = (id: number, container_id: number): NewEvent => ({
  stream: `container:${container_id}`,
  type: "container.item.unpacked",
  data: {
    id,
    container_id,
    serialised_item_id: 500 + id,
    unpacked_at: decided_at,
    unpacked_reason: "dispatch",
    transferred_to_container_id: null
  }
})
const released = (item_id: number, container_id: number): NewEvent => ({
  stream: `container:${container_id}`,
  type: "claims.set",
  data: { source_type: "container", source_id: item_id, claims: [] }
})
const changed = (item_id: number, set: NewEvent["data"]): NewEvent => ({
  stream: `stock_level:${500 + item_id}`,
  type: "stock_level.updated",
  data: { id: 500 + item_id, ...set }
})
const left = (item_id: number, container_id: number): ReadonlyArray<NewEvent> => [
  unpacked(item_id, container_id),
  released(item_id, container_id),
  changed(item_id, { container_stock_level_id: null, container_mode: null })
]
const dissolved = (id: number): NewEvent => ({
  stream: `container:${id}`,
  type: "container.dissolved",
  data: {
    id,
    status: "dissolved",
    dissolved_at: decided_at,
    dissolved_by_user_id: 1,
    dissolved_reason: "dispatch",
    parent_container_id: null,
    repack_started_at: null
  }
})

describe("dispatching and returning units", () => {
  const at = "2026-06-17T08:00:00.000Z"
  const order = 12
  const moved =
    (type: string, column: string) =>
    (stock_level_id: number, id = order): NewEvent => ({
      stream: `opportunity:${id}`,
      type,
      data: { id, assignment_id: 10_000 + stock_level_id, set: { [column]: at } }
    })
  const out = moved("opportunity.asset_dispatched", "dispatched_at"),
    back = moved("opportunity.asset_returned", "returned_at")
  const target = ({ find, get }: Facts, id: number, as_case: CaseProduct): ContainerFacts => ({
    container: get(containers, id)!,
    product: undefined,
    as_case,
    chain: [get(containers, id)!],
    nesting_max: 2,
    items: find(container_items, { container_id: id, unpacked_at: null })
  })
  const of = (container_mode: ContainerMode | null, fixed: ReadonlyArray<number> = []): CaseProduct => ({
    container_mode,
    parts: fixed.map((component_product_id) => ({ component_product_id, quantity: 1, binding: "fixed" }))
  })
  const units = ({ find }: Facts): ReadonlyMap<number, Unit> =>
    new Map(
      find(stock_levels, {}).map((level) => [
        level.id,
        { level, product: undefined, membership: undefined, conflicts: [], child: undefined, subtree: [] }
      ])
    )
  const booking = (as_case: CaseProduct, ...happened: ReadonlyArray<NewEvent>) =>
    decide(unitsBooked, happened, (facts) => ({
      around: {
        targets: facts.find(containers, {}).map(({ id }) => target(facts, id, as_case)),
        units: units(facts),
        still_out: new Map()
      },
      orders: new Map([[order, "0000000012"]]),
      decide: bookedUnits.decide,
      unitOf: new Map([...[1, 2].map((id) => 500 + id), housing].map((id) => [10_000 + id, id]))
    }))
  const packed = (more: Partial<ContainerRow> = {}) =>
    given(container(7, more), item(1, 7), item(2, 7), unit(1), unit(2))

  const broken = (id: number, unit_name = "unit 502"): NewEvent => ({
    stream: `container:${id}`,
    type: "container.unsealed",
    data: {
      id,
      status: "open",
      unsealed_at: decided_at,
      unsealed_by_user_id: 1,
      unsealed_reason: `unit scanned out to order 0000000012: ${unit_name}`
    }
  })
  it("takes one of two units out of its box, which is not dissolved", () => {
    packed()
      .when(booking(of("transport"), out(501)))
      .thenEvents(...left(1, 7))
  })
  it("breaks the seal of a box that a unit leaves, and names the order", () => {
    packed({ status: "sealed" })
      .when(booking(of("transport"), out(501)))
      .thenEvents(broken(7, "unit 501"), ...left(1, 7))
  })
  it("dissolves a box with its last unit, also if all leave together", () => {
    given(container(7), item(1, 7), unit(1))
      .when(booking(of(null), out(501)))
      .thenEvents(...left(1, 7), dissolved(7))
    packed()
      .when(booking(of("transport"), out(502), out(501)))
      .thenEvents(...left(1, 7), ...left(2, 7), dissolved(7))
  })
  it("dissolves a box whose case goes out, with all its content or empty", () => {
    packed()
      .when(booking(of("transport"), out(housing)))
      .thenEvents(...left(1, 7), ...left(2, 7), dissolved(7))
    given(container(7))
      .when(booking(of("transport"), out(housing)))
      .thenEvents(dissolved(7))
  })
  it("leaves containers unchanged for a returned unit, and for a unit outside any container", () => {
    packed()
      .when(booking(of("transport"), back(501)))
      .thenNothing()
    packed()
      .when(booking(of("transport"), out(599)))
      .thenNothing()
  })
  const sent: NewEvent = {
    stream: "container:7",
    type: "container.dispatched",
    data: { id: 7, status: "dispatched", opportunity_id: order, dispatched_at: at, returned_at: null }
  }
  it("dispatches a sealed kit with its case, but not an open one", () => {
    packed({ status: "sealed" })
      .when(booking(of("kit"), out(housing)))
      .thenEvents(sent)
    packed({ status: "open" })
      .when(booking(of("kit"), out(housing)))
      .thenNothing()
  })
  it("leaves a kit's units and a hybrid's fixed parts packed, and takes other units out of a hybrid", () => {
    packed({ status: "sealed" })
      .when(booking(of("kit"), out(501)))
      .thenNothing()
    packed({ status: "sealed" })
      .when(booking(of("hybrid", [51]), out(501), out(502)))
      .thenEvents(broken(7), ...left(2, 7))
    given(container(7, { status: "sealed" }), item(2, 7), unit(2))
      .when(booking(of("hybrid", [51]), out(502)))
      .thenEvents(broken(7), ...left(2, 7))
  })
  it("returns a kit with its case from the order it is on, and from no other order", () => {
    const away: Partial<ContainerRow> = { status: "dispatched", opportunity_id: order, dispatched_at: given_at }
    packed(away)
      .when(booking(of("kit"), back(housing)))
      .thenEvents({
        stream: "container:7",
        type: "container.returned",
        data: { id: 7, status: "returned", returned_at: at, opportunity_id: null, returned_from_opportunity_id: order }
      })
    packed(away)
      .when(booking(of("kit"), back(housing, order + 1)))
      .thenNothing()
    packed({ status: "sealed" })
      .when(booking(of("kit"), back(housing)))
      .thenNothing()
  })
})

describe("changing a case product", () => {
  const product = (mode: ContainerMode | null): GivenRow =>
    row(products, {
      ...initialRow(products, products.columns),
      ...stamps,
      id: case_product,
      name: "Case",
      container_availability_mode: mode
    } as ProductRow)
  const part = (id: number, more: Partial<ComponentRow> = {}): ComponentRow =>
    ({
      ...initialRow(product_components, product_components.columns),
      ...stamps,
      id,
      product_id: case_product,
      component_product_id: 50 + id,
      quantity: "1.0000",
      binding: "fixed",
      ...more
    }) as ComponentRow
  const partEvent = (verb: string, id: number, data: NewEvent["data"] = {}): NewEvent => ({
    stream: `component:${id}`,
    type: `component.${verb}`,
    data: { id, ...data }
  })
  const mode = (container_availability_mode: ContainerMode | null): NewEvent => ({
    stream: `product:${case_product}`,
    type: "product.updated",
    data: { id: case_product, container_availability_mode }
  })
  const held = (item_id: number): NewEvent => ({
    stream: "container:7",
    type: "claims.set",
    data: { source_type: "container", source_id: item_id, claims: [claim(item_id)] }
  })
  const claim = (item_id: number): JsonObject => ({
    ...demand(1, given_at, null, { id: 900 + item_id, product_id: 50 + item_id, asset_id: 500 + item_id }),
    source_type: "container",
    source_id: item_id,
    container_id: 7
  })
  /** The event that reserves a unit by a new demand, with the first free id by default. */
  const nowHeld = (item_id: number, id = 1_001): NewEvent => ({
    ...held(item_id),
    data: {
      ...held(item_id).data,
      claims: [{ ...claim(item_id), id, starts_at: decided_at, buffered_starts_at: decided_at }]
    }
  })
  const packedUnits = ({ find, get }: Facts): ReadonlyArray<PackedUnit> =>
    find(container_items, { unpacked_at: null }).map((one) => ({
      container: get(containers, one.container_id)!,
      item: one,
      unit: get(stock_levels, one.serialised_item_id)!,
      is_held: find(demands, { source_type: "container", source_id: one.id }).length > 0,
      conflicts: find(demands, { asset_id: one.serialised_item_id }).filter(
        (demand) => demand.source_type !== "container"
      )
    }))
  const changing = (...happened: ReadonlyArray<NewEvent>) =>
    decide(casesChanged, happened, (facts) => ({
      packed: packedUnits(facts),
      products: facts.find(products, {}),
      components: facts.find(product_components, {})
    }))
  const box = [container(7), item(1, 7), item(2, 7)]

  it("reserves all content of a box that becomes a kit", () => {
    given(product("transport"), ...box, unit(1), unit(2))
      .when(changing(mode("kit")))
      .thenEvents(
        nowHeld(1),
        changed(1, { container_mode: "kit" }),
        nowHeld(2, 1_002),
        changed(2, { container_mode: "kit" })
      )
  })
  it("releases the reserved content of a kit that becomes a box", () => {
    given(product("kit"), ...box, unit(1, { container_mode: "kit" }), unit(2), held(1))
      .when(changing(mode(null)))
      .thenEvents(released(1, 7), changed(1, { container_mode: "transport" }))
  })
  it("reserves a part of a hybrid that becomes fixed, and frees a part that is drawn from the pool or removed", () => {
    const units = [unit(1, { container_mode: "hybrid" }), unit(2, { container_mode: "hybrid" })]
    given(product("hybrid"), ...box, ...units)
      .when(changing(partEvent("created", 1, { ...part(1) } as JsonObject)))
      .thenEvents(nowHeld(1))
    given(product("hybrid"), row(product_components, part(1, { binding: "pool" })), ...box, ...units)
      .when(changing(partEvent("updated", 1, { binding: "fixed" })))
      .thenEvents(nowHeld(1))
    const fixed = given(product("hybrid"), row(product_components, part(1)), ...box, ...units, held(1))
    fixed.when(changing(partEvent("updated", 1, { binding: "pool" }))).thenEvents(released(1, 7))
    fixed.when(changing(partEvent("deleted", 1))).thenEvents(released(1, 7))
    fixed.when(changing(partEvent("updated", 1, { quantity: "2.0000" }))).thenNothing()
  })
  it("reserves units in a container without a case, and sets no mode on them", () => {
    given(product("transport"), container(7, { serialised_item_id: null }), item(1, 7), unit(1))
      .when(changing(mode("kit")))
      .thenEvents(nowHeld(1))
  })
  it("is rejected at the changed field if another order has a unit booked", () => {
    const booked: NewEvent = {
      stream: "opportunity:12",
      type: "claims.set",
      data: {
        source_type: "opportunity_item",
        source_id: 3,
        claims: [{ ...claim(1), id: 999, source_type: "opportunity_item", source_id: 3, opportunity_id: 12 }]
      }
    }
    const message = ["Unit 501, packed in container 7, is claimed elsewhere; release it first."]
    const box_of = (of: GivenRow) => given(of, ...box, unit(1), unit(2), booked)
    box_of(product("transport"))
      .when(changing(mode("kit")))
      .thenRefused({ availability_mode: message })
    box_of(product("hybrid"))
      .when(changing(partEvent("created", 1, { ...part(1) } as JsonObject)))
      .thenRefused({ binding: message })
    given(product("hybrid"), row(product_components, part(2)), ...box, unit(1), unit(2), held(2), booked)
      .when(changing(partEvent("deleted", 2), partEvent("created", 1, { ...part(1) } as JsonObject)))
      .thenRefused({ component: message })
  })
})

describe("moving a unit to another store", () => {
  const move = changed(1, { store_id: 2 })
  it("is rejected while it is in a container", () => {
    given(unit(1))
      .when(decide(unitsStay, [move], () => true))
      .thenRefused({ store_id: ["The unit belongs to a container; unpack it or dissolve the container first."] })
    given(unit(1))
      .when(decide(unitsStay, [move], () => false))
      .thenNothing()
  })
})

/** A server with records of every kind, created over HTTP, equal on both engines. */
import { Effect } from "effect"
import { Store } from "../../core/kernel/store/store.ts"
import type { AnyRow, Table } from "../../core/kernel/tables/table.ts"
import type { Engine } from "../app.ts"
import { clockAt, type Got, type Sent, serve, type Serving } from "../server/serving.ts"

export interface World {
  readonly engine: Engine
  readonly server: Serving
  /**
   * Sends a request as the owner and advances the clock by a second, so that rate limits and timestamps are equal in
   * every run.
   */
  readonly ask: (target: string, sent?: Sent) => Promise<Got>
  /** Every row of a table, deleted ones included. */
  readonly rowsOf: (table: Table) => Promise<ReadonlyArray<AnyRow>>
  /** The position of the last event. */
  readonly head: () => Promise<number>
}

const begin = Date.parse("2026-06-18T12:00:00Z")

export const openWorld = async (engine: Engine, options: Parameters<typeof serve>[1] = {}): Promise<World> => {
  let seconds = 0
  const server = await serve(engine, { services: clockAt(() => begin + seconds * 1000), ...options })
  return {
    engine,
    server,
    ask: (target, sent = {}) => {
      seconds++
      return server.ask(target, sent)
    },
    rowsOf: (table) =>
      server.run(Effect.flatMap(Store, (store) => store.find(table, {}, { order: [table.key] }))) as Promise<
        ReadonlyArray<AnyRow>
      >,
    head: () =>
      server.run(
        Effect.gen(function* () {
          const [row] = yield* (yield* Store).run<{ head: number | string | null }>(
            "select max(position) as head from journal"
          )
          return Number(row!.head)
        })
      )
  }
}

/** Draws the ids that a refused command has used up on Postgres from SQLite as well; sequences never go back. */
export const alignIds = async ([sqlite, pg]: readonly [World, World]): Promise<void> => {
  const drawn = await pg.server.run(
    Effect.flatMap(Store, (store) =>
      store.run<{ name: string; next: string }>(
        "select substr(sequencename, 5) as name, coalesce(last_value, 0) + 1 as next from pg_sequences where sequencename like 'ids\\_%'"
      )
    )
  )
  await sqlite.server.run(
    Effect.flatMap(Store, (store) =>
      store.run(
        "update id_sequences set next = j.value from json_each(?) as j where j.key = id_sequences.name and j.value > id_sequences.next",
        [JSON.stringify(Object.fromEntries(drawn.map(({ name, next }) => [name, Number(next)])))]
      )
    )
  )
}

/** Creates two depots, stock of each kind, people, prices, orders in every state, and a packed case. */
export const createSampleData = async ({ ask }: World): Promise<void> => {
  const call = async (method: string, path: string, json: object) => {
    const got = await ask(`/api/v1${path}`, { method, json })
    if (got.status >= 300)
      throw new Error(`${method} ${path} answered ${got.status}: ${got.text} to ${JSON.stringify(json)}`)
    return got.body
  }
  const post = (path: string, json: object = {}) => call("POST", path, json)
  const made = async (path: string, json: object): Promise<number> =>
    (Object.values(await post(path, json))[0] as { id: number }).id

  const depot = await made("/stores", { name: "North Depot", timezone: "Europe/London", tag_list: ["north"] })
  const group = await made("/custom_field_groups", { name: "Sales" })
  const list_name = await made("/list_names", { name: "Sector" })
  const theatre = await made(`/list_names/${list_name}/values`, { name: "Theatre" })
  const field = (name: string, module_type: string, field_type: number, more: object = {}): Promise<number> =>
    made("/custom_fields", {
      name,
      module_type,
      field_type,
      is_searchable: true,
      custom_field_group_id: group,
      ...more
    })
  for (const [name, type] of [
    ["reference", 0],
    ["count", 2],
    ["agreed", 3],
    ["seen_at", 4],
    ["on", 5],
    ["share", 18]
  ] as const) {
    for (const module of ["Member", "Product", "Opportunity"]) await field(name, module, type)
  }
  await field("sector", "Member", 9, { list_name_id: list_name })
  await field("sectors", "Product", 10, { list_name_id: list_name })

  const member = (name: string, membership_type: string, more: object = {}): Promise<number> =>
    made("/members", { name, membership_type, ...more })
  const hire = await member("Stage Hire Ltd", "organisation", {
    tag_list: ["vip"],
    custom_fields: { reference: "PO-1", sector: theatre }
  })
  await member("Stage Hire Limited", "organisation", { default_currency_code: "JPY" })
  const hall = await member("Town Hall", "venue")
  const person = await member("Ann Contact", "contact", { owned_by: hire })
  const gone = await member("Gone", "contact")
  await ask(`/api/v1/members/${gone}`, { method: "DELETE" })
  let address = 0
  for (const id of [person, hire]) {
    address = await made(`/members/${id}/addresses`, {
      street: "1 High Street",
      city: "Leeds",
      is_primary: true,
      latitude: "53.8"
    })
    await post(`/members/${id}/addresses`, { street: "2 Low Street" })
    await post(`/members/${id}/emails`, { address: "ann@example.com", is_primary: true })
    await post(`/members/${id}/phones`, { number: "+44 113 000000" })
    await post(`/members/${id}/links`, { url: "https://example.com" })
  }
  await post(`/members/${hire}/relationships`, { related_member_id: person })
  await post("/roles", { name: "Crew", permissions: ["members.view", "products.view"] })
  const colleague = await made("/users", { name: "Bob", email: "bob@example.com", roles: ["Sales"], active: true })
  await post("/users", { name: "Cy", email: "cy@example.com", roles: ["Crew"] })
  await post("/activities", {
    subject: "Call",
    starts_at: "2026-06-19T09:00:00Z",
    ends_at: "2026-06-19T10:00:00Z",
    owned_by: colleague,
    regarding_type: "Member",
    regarding_id: hire,
    participants: [{ member_id: person }]
  })
  await post("/activities", { subject: "Visit", starts_at: "2026-06-20T09:00:00Z" })

  const lighting = await made("/product_groups", { name: "Lighting" })
  await post("/product_groups", { name: "Moving heads", parent_id: lighting })
  const revenue_group = await made("/revenue_groups", { name: "Hire income" })
  await post("/cost_groups", { name: "Sub-hire" })
  await post("/product_tax_classes", { name: "Books" })
  await post("/organisation_tax_classes", { name: "Abroad" })
  await post("/tax_rates", { name: "Ten", rate: "10" })
  await post("/exchange_rates", { source_currency_code: "GBP", target_currency_code: "EUR", rate: "1.15" })
  const product = (name: string, more: object = {}): Promise<number> =>
    made("/products", { name, product_group_id: lighting, ...more })
  const cable = await product("Cable 10 m", {
    sku: "CAB-10",
    rental_revenue_group_id: revenue_group,
    custom_fields: { reference: "C" },
    tag_list: ["cable"]
  })
  const lamp = await product("Lamp", { stock_method: 2, buffer_before_minutes: 60, post_rent_unavailability: 1 })
  const clamp = await product("Clamp", { accessory_only: true })
  const kit = await product("Lamp set", { stock_method: 1 })
  const flight_case = await product("Case", { stock_method: 2 })
  await call("PUT", `/products/${flight_case}/container_template`, {
    is_containerable: true,
    availability_mode: "kit",
    slots: [{ product_id: lamp, quantity: 2 }]
  })
  await product("Old lamp", { stock_method: 2 })
  await post(`/products/${cable}/accessories`, {
    accessory_product_id: clamp,
    quantity: 2,
    included: true,
    zero_priced: true
  })
  await post(`/products/${kit}/components`, { component_product_id: lamp, quantity: 2, binding: "pool" })
  await post(`/products/${kit}/components`, { component_product_id: cable, quantity: 1 })
  const level = (product_id: number, store_id: number, more: object): Promise<number> =>
    made("/stock_levels", { product_id, store_id, ...more })
  // A bulk product has a stock level at the default store from the start.
  const cables = (await ask(`/api/v1/stock_levels?q[product_id_eq]=${cable}`)).body.stock_levels[0].id as number
  await post(`/products/${cable}/stock_levels/${cables}/stock_transactions`, { transaction_type: 4, quantity: 40 })
  await level(cable, depot, { quantity_held: 10 })
  const lamps: Array<number> = []
  for (let at = 1; at <= 8; at++)
    lamps.push(
      await level(lamp, at > 6 ? depot : 1, { serial_number: `L-${at}`, asset_number: `A-${at}`, barcode: `B-${at}` })
    )
  const cases = [
    await level(flight_case, 1, { serial_number: "K-1" }),
    await level(flight_case, 1, { serial_number: "K-2" })
  ]
  await post(`/products/${cable}/stock_levels/${cables}/stock_transactions`, {
    transaction_type: 4,
    quantity: 3,
    description: "Bought"
  })

  const presets = (await ask("/api/v1/rate_definitions?per_page=100")).body.rate_definitions as ReadonlyArray<{
    id: number
    calculation_strategy: string
  }>
  const daily = presets.find((one) => one.calculation_strategy === "period")!.id
  const own = (await post(`/rate_definitions/${daily}/duplicate`)).rate_definition.id as number
  for (const [id, price] of [
    [cable, "2.50"],
    [lamp, "40"],
    [kit, 9900]
  ] as const) {
    await post(`/products/${id}/rates`, {
      rate_definition_id: id === lamp ? own : daily,
      price,
      currency: "GBP",
      transaction_type: "rental"
    })
  }
  await post(`/products/${lamp}/rates`, {
    rate_definition_id: daily,
    transaction_type: "rental",
    price: "6000",
    currency: "JPY",
    store_id: depot,
    valid_from: "2026-01-01"
  })
  const discount_rule = await made("/discount_rules", {
    name: "Ten off",
    discount_type: "percentage",
    discount_value: 10,
    criteria: {},
    auto_apply: true
  })
  await post("/discount_rules", {
    name: "Five pounds",
    discount_type: "fixed_amount",
    discount_value: 500,
    currency_code: "GBP",
    applies_to: "total",
    criteria: {}
  })
  const surcharge_group = await made("/surcharge_groups", {
    name: "Fuel",
    surcharges: [{ name: "Fuel", calculation_type: "percentage", value: 5, applies_to: "all" }]
  })

  const container = await made("/containers", {
    name: "Case 1",
    serialised_item_id: cases[0],
    barcode: "CASE-1",
    store_id: 1
  })
  await post(`/containers/${container}/pack`, { serialised_item_id: lamps[5] })
  const sealed = await made("/containers/temporary", { name: "Box", barcode: "BOX-1", store_id: 1 })
  await post(`/containers/${sealed}/pack`, { serialised_item_id: lamps[4] })
  await post(`/containers/${sealed}/seal`, {})

  const window = { starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-05T17:00:00Z" }
  const opportunity = async (subject: string, more: object = {}): Promise<{ id: number; line: number }> => {
    const id = await made("/opportunities", {
      subject,
      member_id: hire,
      venue_id: hall,
      store_id: 1,
      owned_by: person,
      delivery_address_id: address,
      ...window,
      ...more
    })
    await post(`/opportunities/${id}/items`, { item_type: "group", name: "Stage" })
    await post(`/opportunities/${id}/items`, {
      item_type: "product",
      name: "Cable",
      item_id: cable,
      quantity: 4,
      materialize_included_accessories: true
    })
    await post(`/opportunities/${id}/items`, {
      item_type: "service",
      name: "Driver",
      quantity: 1,
      unit_price: "120.00",
      transaction_type: 2
    })
    await post(`/opportunities/${id}/items`, { item_type: "product", name: "Lamp", item_id: lamp, quantity: 2 })
    await post(`/opportunities/${id}/costs`, { description: "Fuel", cost_type: 0, amount: "30.00", quantity: 1 })
    await post(`/opportunities/${id}/participants`, { member_id: person, role: "Producer" })
    const items = (await ask(`/api/v1/opportunities/${id}?include=items`)).body.opportunity.items as ReadonlyArray<{
      id: number
      name: string
    }>
    return { id, line: items.find((one) => one.name === "Lamp")!.id }
  }
  await opportunity("Draft", { custom_fields: { reference: "D-1", count: 3 }, tag_list: ["a"] })
  const quote = await opportunity("Quotation", {
    surcharge_group_ids: [surcharge_group],
    discount_rule_ids: [discount_rule]
  })
  await post(`/opportunities/${quote.id}/convert_to_quotation`)
  await post(`/opportunities/${quote.id}/items`, { item_type: "product", name: "Set", item_id: kit, quantity: 1 })
  await post(`/opportunities/${quote.id}/deal_price`, { deal_total: "300.00" })
  const versioned = await opportunity("Versions")
  await post(`/opportunities/${versioned.id}/convert_to_quotation`)
  for (const version_type of [0, 1]) await post(`/opportunities/${versioned.id}/versions`, { version_type })
  const order = async (
    subject: string,
    from: number,
    more: object = {}
  ): Promise<{ id: number; line: number; assets: ReadonlyArray<number> }> => {
    const { id, line } = await opportunity(subject, more)
    await post(`/opportunities/${id}/convert_to_quotation`)
    await post(`/opportunities/${id}/convert_to_order`)
    await post(`/opportunities/${id}/quick_allocate`, {
      allocations: lamps.slice(from, from + 2).map((stock_level_id) => ({ opportunity_item_id: line, stock_level_id }))
    })
    const assets = (await ask(`/api/v1/opportunities/${id}/assets`)).body.assets as ReadonlyArray<{ id: number }>
    return { id, line, assets: assets.map((one) => one.id) }
  }
  await order("Allocated", 0)
  const out = await order("Out", 2)
  await post(`/opportunities/${out.id}/quick_prepare`, { asset_ids: out.assets })
  await post(`/opportunities/${out.id}/quick_book_out`, { asset_ids: out.assets.slice(0, 1) })
  const removed = await opportunity("Removed")
  await ask(`/api/v1/opportunities/${removed.id}`, { method: "DELETE" })

  await post("/sync/replicas", { name: "Van" })
  await post("/sync/replicas", { name: "Desk" })
  await post("/tokens", { name: "Short", abilities: ["members:read"] })
  await post("/tokens", { name: "Bob's", abilities: ["*"], user_id: colleague })
}

/** Endpoints of the workshop: goods out of service, and changes of stock levels (rules/availability 13). */
import { boolean, calendarErrors, command, created, crudResource, decision, get, integer } from "../../kernel/index.ts"
import { invalidField, later, listOf, lockStreams, longText, money, notFound, ok } from "../../kernel/index.ts"
import { permissionsOfArea, ref, reject, renderById, renderOne, resource, rowEvents } from "../../kernel/index.ts"
import { Shown, Store, text, timestamp, updatedEvents, viewContext } from "../../kernel/index.ts"
import type { DecideContext, Endpoint, Fields, Input, Slice, ValuesOf } from "../../kernel/index.ts"
import { products } from "../../products/products/schema.ts"
import { service_states, stock_levels, stock_transactions, type StockLevelRow } from "../../products/stock/schema.ts"
import { stores } from "../../setup/stores.ts"
import { service_records } from "./schema.ts"
import { Effect, Result } from "effect"
import { opportunityStream } from "../../orders/opportunities/events/event-families.ts"
import { loadDecisionState } from "../../orders/opportunities/state/index.ts"
import { addCost } from "../../orders/opportunities/money/decide.ts"
import { opportunities, opportunity_costs } from "../../orders/opportunities/tables/index.ts"
import { levelDraft, levelFacts, stockLevelResource } from "../../products/stock/api.ts"
import { saveLevel } from "../../products/stock/decide.ts"
import { grantToSystemRoles } from "../../people/users/decide.ts"
import { leaveStock, release, type ServiceFacts, takeOut } from "./decide.ts"
import { loadServiceFacts, promisedTo, workshopReactions } from "./reactions.ts"

const leavingStore = later(() => import("./leaving-store.ts"))

// API representation of service records.

const textOr = (value: unknown): string | null => (typeof value === "string" ? value : null)

export const serviceRecordResource = resource({
  singular: "service_record",
  heading: "Catalogue",
  shows: {
    state_name: text(),
    is_open: boolean(),
    product_name: text({ nullable: true }),
    store_name: text({ nullable: true }),
    asset_number: text({ nullable: true }),
    serial_number: text({ nullable: true }),
    barcode: text({ nullable: true })
  },
  table: service_records,
  filters: [
    "stock_level_id",
    "product_id",
    "store_id",
    "state",
    "reason",
    "starts_at",
    "expected_back_at",
    "ended_at",
    "opportunity_id",
    "created_at",
    "updated_at"
  ],
  sorts: ["starts_at", "expected_back_at", "ended_at", "state", "created_at", "updated_at"],
  lookups: {
    product: { via: "product_id", table: products },
    store: { via: "store_id", table: stores },
    level: { via: "stock_level_id", table: stock_levels }
  },
  order: ["-starts_at", "-id"],
  view: (base, row, { level, product, store }) => ({
    ...base,
    state_name: service_states[row.state],
    is_open: row.ended_at === null,
    product_name: textOr(product?.["name"]),
    store_name: textOr(store?.["name"]),
    asset_number: textOr(level?.["asset_number"]),
    serial_number: textOr(level?.["serial_number"]),
    barcode: textOr(level?.["barcode"])
  })
})

// Charges the customer for damage or loss as a cost on the opportunity; never automatic (rules/availability 13.5).

const lossOrDamage = 4

const charge = command("POST", "/api/v1/service_records/{id}/charge", {
  answer: { service_record: Shown.row(() => serviceRecordResource) },
  name: "service_records.charge",
  summary: "Charge the customer for loss or damage, as a cost of the opportunity",
  ability: "opportunities:write",
  permission: "opportunities.edit",
  success_status: 201,
  params: { id: { table: service_records } },
  fields: {
    amount: money({
      nullable: true,
      describe: "Charge per unit, in the opportunity's currency; default if lost: the replacement charge"
    }),
    opportunity_id: ref("opportunities", { nullable: true, describe: "Opportunity to charge; default: the record's" }),
    description: text({ nullable: true })
  },
  creates: [opportunity_costs],
  streams: (params) => [`service_record:${params["id"]}`],
  facts: (input) =>
    Effect.gen(function* () {
      const record = input.rows.id
      const id = input.values.opportunity_id ?? record.opportunity_id
      if (id === null || id === undefined)
        return yield* invalidField("opportunity_id", "The record names no hire; say which opportunity is charged.")
      const level = yield* Store.get(stock_levels, record.stock_level_id)
      if (level !== undefined && id !== record.opportunity_id && record.state !== "sold")
        yield* (yield* leavingStore).requireHire(level, id)
      yield* lockStreams([opportunityStream(id)])
      const header = yield* Store.get(opportunities, id)
      if (header === undefined || header.deleted_at !== null)
        return yield* invalidField("opportunity_id", `Opportunity ${id} no longer exists.`)
      return {
        state: yield* loadDecisionState(header, input, { live_only: true, touched_line_ids: [] }),
        product: yield* Store.get(products, record.product_id)
      }
    }),
  decide: ({ product, state }, { rows: { id: record }, values }, context) =>
    Result.gen(function* () {
      if (record.opportunity_cost_id !== null)
        return yield* reject(
          "service_record",
          `The record is charged already by cost ${record.opportunity_cost_id}; change or remove that cost first.`
        )
      const in_base = state.opportunity.header.currency_code === state.base_currency
      const replacement = record.state === "lost" && in_base ? (product?.replacement_charge ?? 0) : 0
      const amount = values.amount ?? (replacement > 0 ? replacement : undefined)
      if (amount === undefined || amount <= 0)
        return yield* reject(
          "amount",
          record.state === "lost"
            ? "The product has no replacement charge in the opportunity's currency; say what is charged."
            : "Say what is charged for the damage."
        )
      const added = yield* addCost(
        state,
        {
          description:
            values.description ?? `${service_states[record.state]}: ${product?.name ?? "stock"}`.slice(0, 255),
          cost_type: lossOrDamage,
          amount,
          quantity: `${record.quantity}.00`,
          notes: record.reason
        },
        context
      )
      return decision(record.id, [
        ...added.events,
        ...updatedEvents(service_records, record, {
          opportunity_id: state.opportunity.header.id,
          opportunity_cost_id: added.result.cost_id
        })
      ])
    }),
  respond: (result, input) => Effect.map(renderById(serviceRecordResource, result.id, [], viewContext(input)), created)
})

const path = "/api/v1/service_records"
const reading = { ability: "stock:read", permission: "stock.view" } as const

export const promises = Shown.list(
  Shown.keys({
    opportunity_id: integer(),
    opportunity_item_id: integer(),
    asset_assignment_id: integer(),
    stock_level_id: integer(),
    number: text({ nullable: true }),
    subject: text(),
    line_name: text(),
    starts_at: timestamp(),
    ends_at: timestamp()
  })
)
/** Allocations that need another unit while this one is out of service. */
const conflictsOf = (level: StockLevelRow, input: Pick<Input, "now" | "settings">) =>
  Effect.map(promisedTo([level], input), (conflicts) => ({ conflicts }))

const reads: ReadonlyArray<Endpoint> = [
  get(path, {
    answer: Shown.page(() => serviceRecordResource),
    name: "service_records.index",
    summary: "List service records; open ones have no ended_at",
    ...reading,
    run: (input) => listOf(serviceRecordResource, input)
  }),
  get(`${path}/{id}`, {
    answer: { service_record: Shown.row(() => serviceRecordResource), meta: Shown.keys({ conflicts: promises }) },
    name: "service_records.show",
    summary: "Show one service record; while open, with the bookings it affects",
    ...reading,
    params: { id: { table: service_records } },
    run: Effect.fnUntraced(function* (input) {
      const record = input.rows.id
      const shown = yield* renderOne(serviceRecordResource, record, input.query, viewContext(input))
      const level = record.ended_at === null ? yield* Store.get(stock_levels, record.stock_level_id) : undefined
      return ok({ ...shown, meta: level === undefined ? { conflicts: [] } : yield* conflictsOf(level, input) })
    })
  })
]

const about = {
  quantity: integer({ nullable: true, min: 1, describe: "Bulk quantity; default: the record's, else 1" }),
  service_record_id: ref("service_records", {
    nullable: true,
    describe: "Open service record of bulk stock that the quantity comes from"
  }),
  note: longText({ nullable: true })
}
const outFields = {
  ...about,
  reason: text({ nullable: true, max: 255, describe: "Short reason, such as: lens mount loose" }),
  starts_at: timestamp({ nullable: true, describe: "Time it went out of service; default: now" }),
  expected_back_at: timestamp({
    nullable: true,
    on_null: "clear",
    describe: "Expected return; counts as available from then on"
  }),
  opportunity_id: ref("opportunities", { nullable: true, describe: "Opportunity on which it was damaged or lost" })
}
const cost = money({ nullable: true, describe: "Repair cost in the base currency" })

const answer = {
  stock_level: Shown.row(() => stockLevelResource),
  service_record: Shown.row(() => serviceRecordResource),
  meta: Shown.keys({ conflicts: promises })
}
const factsOf = Effect.fnUntraced(function* (level: StockLevelRow) {
  const found = (yield* loadServiceFacts([level.id])).get(level.id)
  return found ?? (yield* notFound("No such stock level."))
})
type Done = { readonly id: number; readonly service_record_id: number | null }
const moved = Effect.fnUntraced(function* (result: Done, input: Input) {
  const view = viewContext(input)
  const level = yield* renderById(stockLevelResource, result.id, [], view)
  const record = yield* renderById(serviceRecordResource, result.service_record_id ?? 0, [], view)
  const row = yield* Store.get(stock_levels, result.id)
  return ok({ ...level, ...record, meta: row === undefined ? { conflicts: [] } : yield* conflictsOf(row, input) })
})

const hireIn = (values: { readonly [field: string]: unknown }): number | undefined => {
  const id = values["opportunity_id"]
  return typeof id === "number" ? id : undefined
}
const move = <const B extends Fields>(
  name: string,
  summary: string,
  permission: string,
  fields: B,
  decide: (facts: ServiceFacts, sent: Partial<ValuesOf<B>>, context: DecideContext) => ReturnType<typeof leaveStock>
): Endpoint =>
  command("POST", `/api/v1/stock_levels/{id}/${name}`, {
    answer,
    name: `stock_levels.${name}`,
    summary,
    ability: "stock:write",
    permission,
    params: { id: { table: stock_levels } },
    fields,
    check: (values) => calendarErrors(values, ["starts_at", "expected_back_at"]),
    // No defaults: absent fields keep the open record's values.
    mode: "update",
    success_status: 200,
    creates: [service_records, stock_transactions],
    streams: (params) => [`stock_level:${params["id"]}`],
    // Sold goods need not have been on hire with their customer.
    facts: ({ rows, values }) =>
      Effect.gen(function* () {
        const rules = yield* leavingStore
        if (name !== "sold") yield* rules.requireHire(rows.id, hireIn(values))
        const facts = yield* factsOf(rows.id)
        return name === "lost" ? { ...facts, loss: yield* rules.lossOnOrder(facts, values) } : facts
      }),
    decide: (facts, { values }, context) => decide(facts, values, context),
    result: Shown.keys({ id: integer(), service_record_id: integer({ nullable: true }) }),
    respond: moved
  })

const moves: ReadonlyArray<Endpoint> = [
  move(
    "quarantine",
    "Quarantine a unit or part of a bulk quantity until it is released",
    "stock.service",
    outFields,
    (facts, sent, context) => takeOut(facts, "quarantine", sent, context)
  ),
  move(
    "repair",
    "Send a unit or part of a bulk quantity for repair",
    "stock.service",
    { ...outFields, cost },
    (facts, sent, context) => takeOut(facts, "in_repair", sent, context)
  ),
  move(
    "release",
    "Return a unit or bulk quantity to service",
    "stock.service",
    { ...about, cost },
    (facts, sent, context) => release(facts, sent, context)
  ),
  move(
    "lost",
    "Record the loss of a unit or part of a bulk quantity",
    "stock.adjust",
    { ...outFields, write_off: boolean({ describe: "Also post a write-off to its stock transactions" }) },
    (facts, sent, context) => {
      const { loss: service_record_id = sent.service_record_id } = facts
      const meant = { ...sent, service_record_id }
      return sent.write_off === true
        ? leaveStock(facts, "lost", meant, context)
        : takeOut(facts, "lost", meant, context)
    }
  ),
  move(
    "sold",
    "Record the sale of a unit or part of a bulk quantity, as a stock transaction",
    "stock.adjust",
    { ...about, reason: outFields.reason, starts_at: outFields.starts_at, opportunity_id: outFields.opportunity_id },
    (facts, sent, context) => leaveStock(facts, "sold", sent, context)
  )
]

const update = crudResource({
  ...levelDraft,
  only: ["update"],
  rules: {
    facts: (input, before: StockLevelRow | undefined) =>
      Effect.gen(function* () {
        const { store_id } = input.values
        const rules = yield* leavingStore
        return {
          rules,
          leaving: before === undefined ? undefined : yield* rules.loadLeaving(before, store_id, input),
          level: yield* levelFacts(input, before)
        }
      }),
    save: ({ before, context, facts, next }) =>
      Result.flatMap(facts.rules.leaveStore(facts.leaving), (warnings) =>
        Result.map(saveLevel(next, before, facts.level, context), (saved) => ({ ...saved, warnings }))
      ),
    meta_shows: Shown.optional(Shown.warnings())
  }
}).endpoints

const permissions = permissionsOfArea("stock", "service")
const keys = permissions.map(({ key }) => key)

export const workshopSlice: Slice = {
  name: "workshop",
  tables: [service_records],
  resources: [serviceRecordResource],
  events: rowEvents(service_records),
  includes: {
    stock_levels: { service_records: { kind: "many", via: "stock_level_id", resource: () => serviceRecordResource } }
  },
  react: workshopReactions,
  endpoints: [...(update ?? []), ...reads, ...moves, charge],
  permissions,
  later_seeds: [grantToSystemRoles({ "Admin": keys, "Operations Manager": keys, "Warehouse": keys })]
}

/** Endpoints of the workshop: what is out of service, and the moves of stock levels (rules/availability 13). */
import { Effect } from "effect"
import { calendarErrors } from "../kernel/calendar-range.ts"
import { permissionsOfArea, type Slice } from "../kernel/catalogue.ts"
import { rowEvents } from "../kernel/crud-resource.ts"
import { command, type DecideContext, type Endpoint, get, type Input } from "../kernel/endpoint.ts"
import { boolean, type Fields, integer, longText, money, ref, text, timestamp, type ValuesOf } from "../kernel/field.ts"
import { listOf, ok, renderById, renderOne, viewContext } from "../kernel/resource.ts"
import { notFound } from "../kernel/rejection.ts"
import { Store } from "../kernel/store/store.ts"
import * as Shown from "../kernel/answer-schema.ts"
import { stockLevelResource } from "../stock/resource.ts"
import { type StockLevelRow, stock_levels, stock_transactions } from "../stock/schema.ts"
import { grantToSystemRoles } from "../users/seed.ts"
import { charge } from "./charge.ts"
import { leaveStock, release, type ServiceDecided, type ServiceDecision, type ServiceFacts, takeOut } from "./decide.ts"
import { loadServiceFacts, promisedTo } from "./facts.ts"
import { requireHire } from "./hire.ts"
import { workshopReactions } from "./reactions.ts"
import { serviceRecordResource } from "./resource.ts"
import { type ServiceRecordRow, service_records } from "./schema.ts"

const path = "/api/v1/service_records"
const reading = { ability: "stock:read", permission: "stock.view" } as const

const promises = Shown.list(
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
/** Allocations that the unit cannot serve while it is out of service: another unit has to go there. */
const conflictsOf = (level: StockLevelRow, input: Pick<Input, "now" | "settings">) =>
  Effect.map(promisedTo([level], input), (conflicts) => ({ conflicts }))

const reads: ReadonlyArray<Endpoint> = [
  get(path, {
    answer: Shown.page(() => serviceRecordResource),
    name: "service_records.index",
    summary: "List service records: what was and is out of service; open ones have no ended_at",
    ...reading,
    run: (input) => Effect.map(listOf(serviceRecordResource, input.query, viewContext(input)), ok)
  }),
  get(`${path}/{id}`, {
    answer: { service_record: Shown.row(() => serviceRecordResource), meta: Shown.keys({ conflicts: promises }) },
    name: "service_records.show",
    summary: "Show one service record, and while it is open what the unit is promised to meanwhile",
    ...reading,
    params: { id: { table: service_records } },
    run: (input) =>
      Effect.gen(function* () {
        const record = input.rows.id
        const shown = yield* renderOne(serviceRecordResource, record, input.query, viewContext(input))
        const level =
          record.ended_at === null ? yield* (yield* Store).get(stock_levels, record.stock_level_id) : undefined
        return ok({ ...shown, meta: level === undefined ? { conflicts: [] } : yield* conflictsOf(level, input) })
      })
  })
]

const about = {
  quantity: integer({ nullable: true, min: 1, describe: "Of a bulk level; 1 unless said" }),
  service_record_id: ref("service_records", {
    nullable: true,
    describe: "Of a bulk level: the open record it is taken from, instead of what is in service"
  }),
  note: longText({ nullable: true })
}
const outFields = {
  ...about,
  reason: text({ nullable: true, max: 255, describe: "In a few words, such as: lens mount loose" }),
  starts_at: timestamp({ nullable: true, describe: "Since when; now unless said" }),
  expected_back_at: timestamp({ nullable: true, on_null: "clear", describe: "From then on it counts as available" }),
  opportunity_id: ref("opportunities", { nullable: true, describe: "The hire it was damaged or lost on" })
}
const cost = money({ nullable: true, describe: "What the repair costs the house, in the base currency" })

const answer = {
  stock_level: Shown.row(() => stockLevelResource),
  service_record: Shown.row(() => serviceRecordResource),
  meta: Shown.keys({ conflicts: promises })
}
const factsOf = (level: StockLevelRow) =>
  Effect.gen(function* () {
    const found = (yield* loadServiceFacts([level.id])).get(level.id)
    return found ?? (yield* notFound("No such stock level."))
  })
const moved = (result: ServiceDecision["result"], input: Input) =>
  Effect.gen(function* () {
    const view = viewContext(input)
    const level = yield* renderById(stockLevelResource, result.id, [], view)
    const record = yield* renderById(serviceRecordResource, result.service_record_id ?? 0, [], view)
    const row = yield* (yield* Store).get(stock_levels, result.id)
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
  decide: (facts: ServiceFacts, sent: Partial<ValuesOf<B>>, context: DecideContext) => ServiceDecided
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
    // What is absent is not said: no defaults, so that an open record keeps what it has.
    mode: "update",
    success_status: 200,
    creates: [service_records, stock_transactions],
    streams: (params) => [`stock_level:${params["id"]}`],
    // What is sold to a customer need not have been on hire with them.
    facts: ({ rows, values }) =>
      Effect.flatMap(name === "sold" ? Effect.void : requireHire(rows.id, hireIn(values)), () => factsOf(rows.id)),
    decide: (facts, { values }, context) => decide(facts, values, context),
    result: Shown.keys({ id: integer(), service_record_id: integer({ nullable: true }) }),
    respond: moved
  })

const moves: ReadonlyArray<Endpoint> = [
  move(
    "quarantine",
    "Put a unit, or a part of a bulk quantity, in quarantine: it cannot be rented until it is released",
    "stock.service",
    outFields,
    (facts, sent, context) => takeOut(facts, "quarantine", sent, context)
  ),
  move(
    "repair",
    "Send a unit, or a part of a bulk quantity, to be repaired",
    "stock.service",
    { ...outFields, cost },
    (facts, sent, context) => takeOut(facts, "in_repair", sent, context)
  ),
  move(
    "release",
    "Put back in service what was out of it",
    "stock.service",
    { ...about, cost },
    (facts, sent, context) => release(facts, sent, context)
  ),
  move(
    "lost",
    "Record that a unit, or a part of a bulk quantity, is lost; write_off takes it out of stock for good",
    "stock.adjust",
    { ...outFields, write_off: boolean({ describe: "Post a Write Off to its stock transactions, too" }) },
    (facts, sent, context) =>
      sent.write_off === true ? leaveStock(facts, "lost", sent, context) : takeOut(facts, "lost", sent, context)
  ),
  move(
    "sold",
    "Record that a unit, or a part of a bulk quantity, was sold: posts a Sell to its stock transactions",
    "stock.adjust",
    { ...about, reason: outFields.reason, starts_at: outFields.starts_at, opportunity_id: outFields.opportunity_id },
    (facts, sent, context) => leaveStock(facts, "sold", sent, context)
  )
]

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
  endpoints: [...reads, ...moves, charge],
  permissions,
  later_seeds: [grantToSystemRoles({ "Admin": keys, "Operations Manager": keys, "Warehouse": keys })]
}
export type { ServiceRecordRow }

/** Endpoints of inspections: kinds, intervals by product, results by unit, and what is due (rules/inspections). */
import { Effect, Result } from "effect"
import { crudResource, dataOf, get, later, lockStreams, ok, permissionsOfArea, reaction } from "../../kernel/index.ts"
import { resource, rowCreated, rowUpdated, Store, viewManageAccess, withRules } from "../../kernel/index.ts"
import type { DecideContext, SaveInput, Slice } from "../../kernel/index.ts"
import { grantToSystemRoles } from "../../people/users/decide.ts"
import { products } from "../../products/products/schema.ts"
import { stockLevelResource } from "../../products/stock/api.ts"
import { stock_levels } from "../../products/stock/schema.ts"
import type { InspectionRow, IntervalRow } from "./schema.ts"
import {
  dues,
  inspection_intervals,
  inspection_kinds,
  inspectionDue,
  inspectionFields,
  inspectionIntervalFields,
  inspectionKindFields,
  inspections
} from "./schema.ts"

const rules = later(() => import("./rules.ts"))

const stamps = ["created_at", "updated_at"] as const
const kindResource = resource({
  singular: "inspection_kind",
  called: { by: ["name"] },
  heading: "Set-up",
  table: inspection_kinds,
  filters: ["name", "interval_months", ...stamps],
  sorts: ["name", "interval_months", ...stamps],
  order: ["name"]
})
const kind = { kind: "brief", via: "inspection_kind_id", table: inspection_kinds } as const
const intervalResource = resource({
  singular: "inspection_interval",
  heading: "Catalogue",
  table: inspection_intervals,
  filters: ["inspection_kind_id", "product_id", ...stamps],
  sorts: ["inspection_kind_id", "product_id", ...stamps],
  includes: { inspection_kind: kind, product: { kind: "brief", via: "product_id", table: products } }
})
export const inspectionResource = resource({
  singular: "inspection",
  heading: "Catalogue",
  table: inspections,
  filters: ["stock_level_id", "inspection_kind_id", "result", "inspected_at", "due_at", "is_latest", ...stamps],
  sorts: ["inspected_at", "due_at", ...stamps],
  order: ["-inspected_at", "-id"],
  includes: {
    inspection_kind: kind,
    stock_level: { kind: "one", via: "stock_level_id", resource: () => stockLevelResource }
  }
})

const managed = viewManageAccess("stock", "stock.view", "products.edit")
const inspected = viewManageAccess("stock", "stock.view", "stock.inspect")

const kinds = crudResource({
  resource: kindResource,
  fields: inspectionKindFields,
  path: "/api/v1/inspection_kinds",
  access: managed
})

type Rules = Effect.Success<typeof rules>
type WithRules<F> = { readonly rules: Rules; readonly known: F }
type UnitFacts = WithRules<Effect.Success<ReturnType<Rules["loadUnit"]>>>
type ProductFacts = WithRules<Effect.Success<ReturnType<Rules["loadProduct"]>>>

const intervals = crudResource({
  resource: intervalResource,
  fields: inspectionIntervalFields,
  path: "/api/v1/inspection_intervals",
  access: managed,
  rules: {
    facts: (input, before: IntervalRow | undefined) =>
      withRules(rules, ({ loadProduct }) => loadProduct(before?.product_id ?? Number(input.values["product_id"]))),
    save: ({ context, facts, next }: SaveInput<typeof inspection_intervals, ProductFacts>) =>
      facts.rules.saveInterval({ context, facts: facts.known, next }),
    delete: ({ facts, row }: { readonly row: IntervalRow; readonly facts: ProductFacts }) =>
      Result.succeed(facts.rules.afterDeletingInterval(row, facts.known))
  }
})

const recorded = crudResource({
  resource: inspectionResource,
  fields: inspectionFields,
  path: "/api/v1/inspections",
  access: inspected,
  only: ["list", "show", "create", "delete"],
  // Serialised by unit, too, as a unit's inspections are compared with each other; new ones by unit alone.
  streams: (params, body) =>
    params["id"] === undefined ? [`stock_level:${String(body["stock_level_id"])}`] : [`inspection:${params["id"]}`],
  rules: {
    facts: ({ values }, before: InspectionRow | undefined) => {
      const unit = before?.stock_level_id ?? Number(values["stock_level_id"])
      const kind = before?.inspection_kind_id ?? Number(values["inspection_kind_id"])
      return Effect.andThen(
        lockStreams([`stock_level:${unit}`]),
        withRules(rules, ({ loadUnit }) => loadUnit(unit, kind, before?.id))
      )
    },
    save: ({ context, facts, next }: SaveInput<typeof inspections, UnitFacts>) =>
      facts.rules.saveInspection(next, facts.known, context),
    delete: ({ facts, row }: { readonly row: InspectionRow; readonly facts: UnitFacts }) =>
      Result.succeed(facts.rules.afterDeleting(row, facts.known))
  }
})

const due = get("/api/v1/inspection_dues", {
  ...dues,
  name: "inspection_dues.list",
  summary: "List inspections that units need, the earliest due first",
  ability: "stock:read",
  permission: "stock.view",
  run: Effect.fnUntraced(function* (input) {
    const { page = 1, per_page = 100 } = input.values
    const { dues: inspection_dues, total } = yield* (yield* rules).loadDues(input)
    return ok({ inspection_dues, meta: { total, per_page, page } })
  })
})

const levelMade = rowCreated(stock_levels)
/** New units are due as the intervals of their product say. One query. */
const unitsMade = reaction({
  on: [levelMade],
  facts: ({ all }) =>
    Effect.gen(function* () {
      const product_id = dataOf(levelMade, all).flatMap((row) => Number(row["product_id"]))
      const found = yield* Store.find(inspection_intervals, { product_id: [...new Set(product_id)] })
      return found.length === 0 ? undefined : yield* withRules(rules, () => Effect.succeed(found))
    }),
  decide: ({ all }, facts, { now }: DecideContext) =>
    Result.succeed(
      dataOf(levelMade, all).flatMap((row) => {
        const own = facts?.known.filter(({ product_id }) => product_id === row["product_id"]) ?? []
        const level = {
          stock_category: row.stock_category ?? 0,
          is_sub_hired: row.is_sub_hired === true,
          created_at: now
        }
        const due = facts?.rules.inspectionDueAt(level, own, []) ?? null
        return due === null ? [] : [rowUpdated(stock_levels).make({ id: row.id, inspection_due_at: due })]
      })
    )
})

const permissions = permissionsOfArea("stock", "inspect")
const keys = permissions.map((one) => one.key)

export const inspectionsSlice: Slice = {
  name: "inspections",
  tables: [inspection_kinds, inspection_intervals, inspections],
  resources: [kindResource, intervalResource, inspectionResource],
  events: [...(kinds.events ?? []), ...(intervals.events ?? []), ...(recorded.events ?? []), inspectionDue],
  endpoints: [...(kinds.endpoints ?? []), ...(intervals.endpoints ?? []), ...(recorded.endpoints ?? []), due],
  react: [unitsMade],
  permissions,
  later_seeds: [grantToSystemRoles({ "Admin": keys, "Operations Manager": keys, "Warehouse": keys })]
}

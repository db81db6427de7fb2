/** Tables of inspections: their kinds, intervals by product, and results by unit (rules/inspections). */
import { Schema } from "effect"
import { boolean, choice, eventType, integer, longText, ref, Shown, table, text } from "../../kernel/index.ts"
import { timestamp, update, visible_to_all, type RowOf } from "../../kernel/index.ts"

const months = { min: 1, max: 600 }
export const inspectionKindFields = {
  name: text({ required: true, max: 60, search: true, describe: "Short name, such as PAT or LOLER" }),
  interval_months: integer({ ...months, default: 12, describe: "Usual months between inspections" }),
  notes: longText({ nullable: true })
}
export const inspection_kinds = table("inspection_kinds", inspectionKindFields, {
  visibility: visible_to_all,
  named_by: ["name"],
  uniques: [{ columns: ["name"], field: "name", message: "The name has already been taken." }]
})

export const inspectionIntervalFields = {
  inspection_kind_id: ref("inspection_kinds", {
    required: true,
    create_only: true,
    on_delete: "refuse",
    way_out: "delete its intervals first"
  }),
  product_id: ref("products", { required: true, create_only: true, on_delete: "delete", on_merge: "stay" }),
  interval_months: integer({ ...months, nullable: true, describe: "Months between inspections; default: the kind's" }),
  first_due_at: timestamp({ nullable: true, describe: "Earliest due date of units never inspected; default: now" })
}
/** A kind of inspection that the units of a product need, and how often. */
export const inspection_intervals = table("inspection_intervals", inspectionIntervalFields, {
  visibility: visible_to_all,
  indexes: [["product_id"]],
  uniques: [
    {
      columns: ["inspection_kind_id", "product_id"],
      field: "product_id",
      message: "The product has an interval for this kind already."
    }
  ]
})
export type IntervalRow = RowOf<typeof inspection_intervals>

const inspection_results = { pass: "Passed", fail: "Failed" } as const
export const inspectionFields = {
  stock_level_id: ref("stock_levels", { required: true, on_delete: "delete", on_merge: "follow_updated" }),
  inspection_kind_id: ref("inspection_kinds", {
    required: true,
    on_delete: "refuse",
    way_out: "it keeps the results of its inspections"
  }),
  result: choice(inspection_results, { required: true }),
  value: text({ nullable: true, max: 120, describe: "Measured value, such as 0.12 Ω" }),
  inspector: text({ nullable: true, max: 120, describe: "Person or firm that inspected, if not the user" }),
  note: longText({ nullable: true }),
  inspected_at: timestamp({ nullable: true, describe: "Time of the inspection; default: now" }),
  due_at: timestamp({
    nullable: true,
    describe: "Time of the next inspection; default: after the interval, for failed units at once"
  })
}
/** The result of inspecting a unit. */
export const inspections = table(
  "inspections",
  {
    ...inspectionFields,
    /** Whether it is the unit's newest of its kind. */
    is_latest: boolean({ computed: true, default: true }),
    /** Time its reminder was sent. */
    reminded_at: timestamp({ nullable: true, computed: true, hidden: true }),
    created_by_user_id: ref("users", { nullable: true, computed: true, on_delete: "keep" })
  },
  {
    visibility: { all_columns: ["stock.*"] },
    indexes: [["stock_level_id", "inspection_kind_id"], ["is_latest", "due_at"], ["inspection_kind_id"]]
  }
)
export type InspectionRow = RowOf<typeof inspections>

export const inspectionDue = eventType("inspection.due", {
  meaning: "An inspection of a unit is due soon, or was not renewed in time. Recorded once for each inspection.",
  data: () => Schema.Struct({ id: Schema.Int, reminded_at: Schema.String }),
  project: ({ id, reminded_at }) => [update(inspections, id, { reminded_at })]
})

// Requests and responses of the list of inspections that units need.

const due_fields = {
  store_id: ref("stores", { nullable: true }),
  product_id: ref("products", { nullable: true }),
  stock_level_id: ref("stock_levels", { nullable: true }),
  inspection_kind_id: ref("inspection_kinds", { nullable: true }),
  due_before: timestamp({ nullable: true, describe: "Due up to this time; default: all" }),
  page: integer({ min: 1, max: 1_000_000, default: 1, describe: "Page number, from 1" }),
  per_page: integer({ min: 1, max: 500, default: 100, describe: "Rows per page" })
}
export type DuesAsked = typeof due_fields
const due_shown = {
  stock_level_id: integer(),
  inspection_kind_id: integer(),
  kind_name: text(),
  status: Shown.oneOf(["failed", "overdue", "due"]),
  due_at: timestamp({ describe: "Time it is due: for failed units, when they failed" }),
  inspection_id: integer({ nullable: true, describe: "Newest inspection of the kind; null if there is none" }),
  result: choice(inspection_results, { nullable: true }),
  value: text({ nullable: true }),
  inspected_at: timestamp({ nullable: true }),
  product_id: integer(),
  product_name: text({ nullable: true }),
  store_id: integer(),
  location: text({ nullable: true }),
  asset_number: text({ nullable: true }),
  serial_number: text({ nullable: true }),
  barcode: text({ nullable: true })
}
export type DueShown = Shown.KeysShown<typeof due_shown>
export const dues = {
  fields: due_fields,
  answer: {
    inspection_dues: Shown.objects(due_shown),
    meta: Shown.keys({ total: integer(), per_page: integer(), page: integer() })
  }
}

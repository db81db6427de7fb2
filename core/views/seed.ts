/** Seed: the system views of a new database (rules/conventions 6). Ids are fixed: 1 and up, in this order. */
import { custom_views, type ViewFilter, viewFields } from "../kernel/custom-view.ts"
import type { NewEvent } from "../kernel/event.ts"
import type { Json } from "../kernel/json.ts"
import { createdEvent, initialRow } from "../kernel/crud-resource.ts"
import { startingColumns } from "./columns.ts"

interface Seeded {
  readonly entity_type: string
  /** The column to sort by; `-` before it for descending order. */
  readonly sort: string
  readonly views: ReadonlyArray<
    readonly [name: string, ...filters: ReadonlyArray<readonly [field: string, value: Json]>]
  >
}
const seeded: ReadonlyArray<Seeded> = [
  {
    entity_type: "members",
    sort: "name",
    views: [
      ["All"],
      ["Organisations Only", ["membership_type", "organisation"]],
      ["Contacts Only", ["membership_type", "contact"]],
      ["Active Venues", ["membership_type", "venue"], ["is_active", true]],
      ["Inactive Members", ["is_active", false]]
    ]
  },
  {
    entity_type: "products",
    sort: "name",
    views: [
      ["All"],
      ["Rental", ["product_type", "rental"]],
      ["Sale", ["product_type", "sale"]],
      ["Active", ["is_active", true]],
      ["Inactive", ["is_active", false]]
    ]
  },
  {
    entity_type: "stock_levels",
    sort: "item_name",
    views: [["All"], ["Serialised", ["stock_category", 50]], ["Bulk", ["stock_category", 10]]]
  },
  {
    entity_type: "activities",
    sort: "-created_at",
    views: [["All"], ["Scheduled", ["status_id", 2001]], ["Completed", ["status_id", 2002]]]
  },
  { entity_type: "product_groups", sort: "name", views: [["All"]] },
  {
    entity_type: "opportunities",
    sort: "-created_at",
    views: [["All"], ["Drafts", ["state", 0]], ["Quotations", ["state", 1]], ["Orders", ["state", 2]]]
  },
  {
    entity_type: "shortage_resolutions",
    sort: "-created_at",
    views: [["All"], ["Pending", ["status", "pending"]], ["Confirmed", ["status", "confirmed"]]]
  }
]

const filterOf = ([field, value]: readonly [string, Json]): ViewFilter =>
  typeof value === "boolean"
    ? { field, predicate: value ? "true" : "false", value: null, logic: "and" }
    : { field, predicate: "eq", value, logic: "and" }

export const viewSeed = (): ReadonlyArray<NewEvent> => {
  let id = 0
  return seeded.flatMap(({ entity_type, sort, views }) =>
    views.map(([name, ...filters]) =>
      createdEvent(custom_views, {
        ...initialRow(custom_views, viewFields),
        id: ++id,
        name,
        entity_type,
        visibility: "system",
        is_default: name === "All",
        columns: startingColumns(entity_type),
        filters: filters.map(filterOf),
        sort_column: sort.replace(/^-/, ""),
        sort_direction: sort.startsWith("-") ? "desc" : "asc"
      })
    )
  )
}

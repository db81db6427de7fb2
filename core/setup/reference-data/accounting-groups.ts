/** Revenue groups: what income is booked under (rules/conventions 17). */
import type { Slice } from "../../kernel/endpoints/endpoint.ts"
import { longText, text } from "../../kernel/fields/field.ts"
import { createdEvent, crudResource, initialRow, viewManageAccess } from "../../kernel/endpoints/crud-resource.ts"
import { resource } from "../../kernel/endpoints/resource.ts"
import { visible_to_all } from "../../kernel/tables/visibility.ts"
import { table } from "../../kernel/tables/table.ts"

const revenue_group_fields = { name: text({ required: true, search: true }), description: longText({ nullable: true }) }
export const revenue_groups = table("revenue_groups", revenue_group_fields, { visibility: visible_to_all })

export const revenueGroups: Slice = {
  ...crudResource({
    resource: resource({
      singular: "revenue_group",
      table: revenue_groups,
      called: { by: ["name"] },
      filters: ["name", "created_at", "updated_at"],
      sorts: ["name", "created_at", "updated_at"]
    }),
    fields: revenue_group_fields,
    path: "/api/v1/revenue_groups",
    access: viewManageAccess("static-data", "static-data.view", "static-data.manage")
  }),
  seed: () =>
    ["Dry Hire", "Wet Hire", "Sales", "Services"].map((name, index) =>
      createdEvent(revenue_groups, { ...initialRow(revenue_groups, revenue_group_fields), id: index + 1, name })
    )
}

// Cost groups: what expenses are booked under (rules/conventions 17).

const cost_group_fields = { name: text({ required: true, search: true }), description: longText({ nullable: true }) }
export const cost_groups = table("cost_groups", cost_group_fields, { visibility: visible_to_all })

export const costGroups: Slice = {
  ...crudResource({
    resource: resource({
      singular: "cost_group",
      table: cost_groups,
      called: { by: ["name"] },
      filters: ["name", "created_at", "updated_at"],
      sorts: ["name", "created_at", "updated_at"]
    }),
    fields: cost_group_fields,
    path: "/api/v1/cost_groups",
    access: viewManageAccess("static-data", "static-data.view", "static-data.manage")
  }),
  seed: () =>
    ["Equipment Sub-Hire", "Crew Sub-Hire", "Transport", "Consumables", "Equipment Purchase"].map((name, index) =>
      createdEvent(cost_groups, { ...initialRow(cost_groups, cost_group_fields), id: index + 1, name })
    )
}

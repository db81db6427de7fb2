/** Revenue groups: what income is booked under (rules/conventions 17). */
import type { Slice } from "../../kernel/endpoints/endpoint.ts"
import { longText, text } from "../../kernel/fields/field.ts"
import { createdEvent, crudResource, initialRow, viewManageAccess } from "../../kernel/endpoints/crud-resource.ts"
import { resource } from "../../kernel/endpoints/resource.ts"
import { visible_to_all } from "../../kernel/tables/visibility.ts"
import { table } from "../../kernel/tables/table.ts"

const fields = { name: text({ required: true, search: true }), description: longText({ nullable: true }) }
export const revenue_groups = table("revenue_groups", fields, { visibility: visible_to_all })

export const revenueGroups: Slice = {
  ...crudResource({
    resource: resource({
      singular: "revenue_group",
      table: revenue_groups,
      called: { by: ["name"] },
      filters: ["name", "created_at", "updated_at"],
      sorts: ["name", "created_at", "updated_at"]
    }),
    fields,
    path: "/api/v1/revenue_groups",
    access: viewManageAccess("static-data", "static-data.view", "static-data.manage")
  }),
  seed: () =>
    ["Dry Hire", "Wet Hire", "Sales", "Services"].map((name, index) =>
      createdEvent(revenue_groups, { ...initialRow(revenue_groups, fields), id: index + 1, name })
    )
}

/** Revenue groups: what income is booked under (rules/conventions 17). */
import type { Slice } from "../kernel/catalogue.ts"
import { longText, text } from "../kernel/field.ts"
import { createdEvent, initialRow, viewManageAccess, crudResource } from "../kernel/crud-resource.ts"
import { resource } from "../kernel/resource.ts"
import { visible_to_all } from "../kernel/visibility.ts"
import { table } from "../kernel/table.ts"

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

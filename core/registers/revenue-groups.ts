/** Revenue groups: what income is booked under (conventions 17). */
import type { Slice } from "../kernel/catalogue.ts"
import { prose, text } from "../kernel/field.ts"
import { createdEvent, initial, managed, register } from "../kernel/register.ts"
import { resource } from "../kernel/resource.ts"
import { open_to_all } from "../kernel/sight.ts"
import { table } from "../kernel/table.ts"

const fields = {
  name: text({ required: true, search: true }),
  description: prose({ nullable: true })
}
export const revenue_groups = table("revenue_groups", fields, { sight: open_to_all })

export const revenueGroups: Slice = {
  ...register({
    resource: resource({
      singular: "revenue_group", table: revenue_groups,
      filters: ["name", "created_at", "updated_at"], sorts: ["name", "created_at", "updated_at"]
    }),
    fields,
    path: "/api/v1/revenue_groups",
    access: managed("static-data", "static-data.view", "static-data.manage")
  }),
  seed: () => ["Dry Hire", "Wet Hire", "Sales", "Services"].map((name, index) =>
    createdEvent(revenue_groups, { ...initial(revenue_groups, fields), id: index + 1, name }))
}

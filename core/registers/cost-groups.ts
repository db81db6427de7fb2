/** Cost groups: what expenses are booked under (conventions 17). */
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
export const cost_groups = table("cost_groups", fields, { sight: open_to_all })

export const costGroups: Slice = {
  ...register({
    resource: resource({
      singular: "cost_group", table: cost_groups,
      filters: ["name", "created_at", "updated_at"], sorts: ["name", "created_at", "updated_at"]
    }),
    fields,
    path: "/api/v1/cost_groups",
    access: managed("static-data", "static-data.view", "static-data.manage")
  }),
  seed: () => ["Equipment Sub-Hire", "Crew Sub-Hire", "Transport", "Consumables", "Equipment Purchase"].map((name, index) =>
    createdEvent(cost_groups, { ...initial(cost_groups, fields), id: index + 1, name }))
}

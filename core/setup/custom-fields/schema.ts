/**
 * Tables of custom field groups and of lists of values, and the modules with custom fields (rules/conventions 17).
 */
import type { Catalogue } from "../../kernel/endpoints/endpoint.ts"
import { boolean, integer, longText, text } from "../../kernel/fields/field.ts"
import { visible_to_all } from "../../kernel/tables/visibility.ts"
import { table } from "../../kernel/tables/table.ts"

/** The interface's modules with custom fields, parts that are still to come included (rules/members-activities 5). */
const interface_modules = [
  "Member",
  "Product",
  "ProductGroup",
  "StockLevel",
  "Activity",
  "Store",
  "Opportunity",
  "Invoice",
  "PurchaseOrder"
]
/** Every module that can have custom fields: the interface's, and those that resources of the catalogue declare. */
export const modulesOf = ({ resources }: Catalogue): ReadonlyArray<string> => [
  ...new Set([...interface_modules, ...resources.flatMap(({ custom_module }) => custom_module ?? [])])
]

export const customFieldGroupFields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true }),
  sort_order: integer({ default: 0, min: 0 }),
  plugin_name: text({ nullable: true })
}
export const custom_field_groups = table("custom_field_groups", customFieldGroupFields, { visibility: visible_to_all })

export const listNameFields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true }),
  is_system: boolean({ computed: true, default: false }),
  is_hierarchical: boolean({ default: false })
}
export const list_names = table("list_names", listNameFields, {
  visibility: visible_to_all,
  uniques: [{ columns: ["name"], field: "name", message: "The name has already been taken." }]
})

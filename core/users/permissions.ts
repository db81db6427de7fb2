/** The interface's permissions, and what the system roles of a new database hold (rules/conventions 11). */
import { type Permission, permissionsOfArea } from "../kernel/catalogue.ts"

const areas: { readonly [area: string]: string } = {
  "settings": "access view manage",
  "users": "access view invite edit deactivate activate delete reset-password",
  "roles": "view manage",
  "members": "access view create edit delete",
  "opportunities": "access view create edit delete unlock_rates",
  "shortages": "view resolve ignore",
  "activities": "access view create edit delete complete",
  "invoices": "access view create edit delete issue void credit",
  "payments": "record",
  "purchase_orders": "view create edit delete send receive",
  "documents": "view create share",
  "pricing": "manage",
  "products": "access view create edit delete",
  "kits": "view manage",
  "rates": "access view create edit delete",
  "stock": "access view adjust transfer",
  "availability": "view",
  "containers": "view create edit pack seal transfer dispatch repack dissolve",
  "reports": "access view export",
  "system": "read",
  "schema": "read",
  "action-log": "view",
  "email-templates": "manage",
  "notifications": "manage",
  "custom-fields": "view manage",
  "list-values": "view manage",
  "tax-classes": "view manage",
  "static-data": "view manage",
  "webhooks": "manage",
  "costs": "view"
}
/** The interface's own. Slices that came later declare theirs; all of them are the catalogue's `permissions`. */
export const interfacePermissions: ReadonlyArray<Permission> = Object.entries(areas).flatMap(([area, actions]) =>
  permissionsOfArea(area, actions)
)
/**
 * What only endpoints of the server ask for, and came later. Declared with the others, so that devices list it too; the
 * server's slice gives it to the system roles.
 */
export const serverPermissions: ReadonlyArray<Permission> = permissionsOfArea("system", "manage")
/**
 * Enough for what the warehouse does with units of orders, as `opportunities.edit` is: never for money or the header.
 */
export const fulfil_permission = "opportunities.fulfil"
export const laterPermissions: ReadonlyArray<Permission> = permissionsOfArea("opportunities", "fulfil")
const keys = interfacePermissions.map((one) => one.key)

const all = (...areas: ReadonlyArray<string>): ReadonlyArray<string> =>
  interfacePermissions.filter((one) => areas.includes(one.area)).map((one) => one.key)
const without = (from: ReadonlyArray<string>, ...left_out: ReadonlyArray<string>): ReadonlyArray<string> =>
  from.filter((key) => !left_out.includes(key))

export interface SystemRole {
  readonly name: string
  readonly level: number
  readonly description: string
  readonly permissions: ReadonlyArray<string>
}
export const owner_level = 100
/** The system role with every permission; besides the owner, its users issue tokens and read the whole calendar. */
export const admin_role = "Admin"
/**
 * What the system roles got with the first release; `laterGrants` and slices that came later add to it. The owner
 * needs none: `users.is_owner` passes every permission.
 */
export const systemRoles: ReadonlyArray<SystemRole> = [
  { name: admin_role, level: 80, description: "Everything", permissions: keys },
  {
    name: "Operations Manager",
    level: 60,
    description: "Everything but settings, users and roles",
    permissions: without(keys, ...all("settings", "users", "roles"))
  },
  {
    name: "Sales",
    level: 40,
    description: "Customers, quotes, orders and invoices",
    permissions: [
      ...without(all("opportunities"), "opportunities.unlock_rates"),
      ...all("activities", "invoices", "members", "payments", "documents"),
      "shortages.view",
      "shortages.resolve",
      "products.view",
      "reports.view"
    ]
  },
  {
    name: "Warehouse",
    level: 35,
    description: "Stock, containers and goods in and out",
    permissions: [
      ...all("stock", "products", "containers", "kits"),
      "availability.view",
      "members.view",
      "reports.view",
      "shortages.view",
      "shortages.resolve",
      "purchase_orders.view",
      "purchase_orders.receive",
      "documents.view"
    ]
  },
  {
    name: "Read Only",
    level: 20,
    description: "Looks, changes nothing",
    permissions: without(
      interfacePermissions.filter((one) => one.action === "view" || one.action === "access").map((one) => one.key),
      "costs.view"
    )
  }
]

/**
 * What roles need for a day's work beside what the first release gave them: by later seeds, so that the roles of
 * databases from before get it as well.
 */
export const laterGrants: { readonly [role: string]: ReadonlyArray<string> } = {
  [admin_role]: [fulfil_permission],
  "Operations Manager": [fulfil_permission],
  "Sales": [fulfil_permission, "availability.view", "stock.view", "kits.view", "containers.view"],
  "Warehouse": [fulfil_permission, "opportunities.view", "activities.view"]
}
/** What a system role holds in a database of this release, without what slices of their own areas give it. */
export const permissionsOfRole = (name: string): ReadonlyArray<string> => [
  ...new Set([...(systemRoles.find((role) => role.name === name)?.permissions ?? []), ...(laterGrants[name] ?? [])])
]

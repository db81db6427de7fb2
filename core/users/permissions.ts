/** What roles can allow, and what the roles that are there from the start do allow (rules/conventions 11). */

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
export interface Permission {
  readonly key: string
  readonly area: string
  readonly action: string
}
export const permissions: ReadonlyArray<Permission> = Object.entries(areas).flatMap(([area, actions]) =>
  actions.split(" ").map((action) => ({ key: `${area}.${action}`, area, action }))
)
const keys = permissions.map((one) => one.key)
const known = new Set(keys)
export const isPermission = (key: string): boolean => known.has(key)

const all = (...areas: ReadonlyArray<string>): ReadonlyArray<string> =>
  permissions.filter((one) => areas.includes(one.area)).map((one) => one.key)
const without = (from: ReadonlyArray<string>, ...left_out: ReadonlyArray<string>): ReadonlyArray<string> =>
  from.filter((key) => !left_out.includes(key))

export interface SystemRole {
  readonly name: string
  readonly level: number
  readonly description: string
  readonly permissions: ReadonlyArray<string>
}
export const owner_level = 100
/** The role that may do everything and whose people, beside the owner, issue tokens and oversee the whole calendar. */
export const admin_role = "Admin"
/** Beside the owner, who is marked as such and may do everything. Costs are for those who run the business only. */
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
      permissions.filter((one) => one.action === "view" || one.action === "access").map((one) => one.key),
      "costs.view"
    )
  }
]

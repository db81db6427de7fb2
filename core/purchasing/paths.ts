/** Paths and rights that the endpoints of purchase orders share (interface 4.12). */
import { purchase_orders } from "./schema.ts"

export const path = "/api/v1/purchase_orders"
export const one = { id: { table: purchase_orders } } as const
export const read = { ability: "purchase_orders:read", permission: "purchase_orders.view" } as const
export const write = "purchase_orders:write"

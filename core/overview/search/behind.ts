/**
 * Reasons why stock is out of service, and suppliers of sub-hired stock: two queries each, for users who may see them.
 */
import { Effect } from "effect"
import { Store } from "../../kernel/store/store.ts"
import type { Viewer } from "../../kernel/fields/rejection.ts"
import { columnsSeen } from "../../kernel/tables/visibility.ts"
import { members } from "../../people/members/schema.ts"
import { purchase_order_items, purchase_orders } from "../../purchasing/schema.ts"
import type { OutOfService, StockLevelRow } from "../../products/stock/schema.ts"
import { service_records } from "../../warehouse/workshop/schema.ts"

/** Reasons by id of the service record. */
export type ServiceReasons = ReadonlyMap<
  number,
  {
    readonly reason: string | null
    /** Order that the stock came back from. */
    readonly opportunity_id: number | null
  }
>
export const serviceReasons = Effect.fnUntraced(function* (
  entries: ReadonlyArray<OutOfService>,
  viewer: Viewer
): Store.Reads<ServiceReasons> {
  if (entries.length === 0 || !columnsSeen(service_records, viewer)("reason")) return new Map()
  const rows = yield* Store.getMany(
    service_records,
    entries.map((one) => one.service_record_id)
  )
  return new Map(rows.map((row) => [row.id, row]))
})

export interface Supplied {
  readonly name: string | null
  readonly purchase_order: { readonly id: number; readonly number: string | null }
  /** Time it is due back at the supplier, which is the end of its stock level. */
  readonly due_back_at: string | null
}
/** Suppliers by id of the stock level. */
export const suppliedBy = Effect.fnUntraced(function* (
  units: ReadonlyArray<StockLevelRow>,
  viewer: Viewer
): Store.Reads<ReadonlyMap<number, Supplied>> {
  const sub_hired = units.filter((unit) => unit.is_sub_hired && unit.purchase_order_item_id !== null)
  const sees = columnsSeen(purchase_orders, viewer)
  if (sub_hired.length === 0 || !sees("supplier_id")) return new Map()
  const rows = new Map(
    (yield* Store.getMany(
      purchase_order_items,
      sub_hired.flatMap((unit) => unit.purchase_order_item_id ?? [])
    )).map((row) => [row.id, row.purchase_order_id])
  )
  const orders = new Map((yield* Store.getMany(purchase_orders, [...rows.values()])).map((row) => [row.id, row]))
  const suppliers = columnsSeen(members, viewer)("name")
    ? yield* Store.pickMany(
        members,
        ["id", "name"],
        [...orders.values()].flatMap(({ supplier_id }) => supplier_id ?? [])
      )
    : []
  const names = new Map(suppliers.map((row) => [row.id, row.name]))
  return new Map(
    sub_hired.flatMap((unit) => {
      const order = orders.get(rows.get(unit.purchase_order_item_id ?? 0) ?? 0)
      if (order === undefined) return []
      return [
        [
          unit.id,
          {
            name: names.get(order.supplier_id ?? 0) ?? null,
            purchase_order: { id: order.id, number: order.number },
            due_back_at: unit.ends_at
          }
        ] as const
      ]
    })
  )
})

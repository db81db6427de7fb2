/** Whom goods are promised to while a hire that is extended would want them. */
import { Effect } from "effect"
import type { LineShortage } from "../../availability/line.ts"
import type { AvailabilitySnapshot } from "../../availability/snapshot.ts"
import type { Failure } from "../../kernel/endpoint.ts"
import { Store } from "../../kernel/store/store.ts"
import { meets } from "../../values/period.ts"
import { millisOf } from "../../values/time.ts"
import { opportunities } from "../schema.ts"
import type { ShownShortage } from "./shown.ts"

/** What another order or quotation wants of a product. */
export interface PromisedTo {
  readonly opportunity_id: number
  readonly number: string | null
  readonly subject: string
  readonly product_id: number
  readonly store_id: number
  readonly quantity: number
  readonly starts_at: string
  readonly ends_at: string
}
/** Of very many it is enough to name the first. */
const named_max = 20
const read_max = 200

/** What a line wants of a product at times it did not want it before. */
export interface AddedTime {
  readonly product_id: number
  readonly store_id: number
  readonly starts_at: string
  readonly ends_at: string
}
/** One query; none where nobody else wants these products then. */
export const loadPromised = Effect.fnUntraced(function* (
  opportunity_id: number,
  snapshots: ReadonlyMap<number, AvailabilitySnapshot>,
  wanted: ReadonlyArray<AddedTime>
): Effect.fn.Return<ReadonlyArray<PromisedTo>, Failure, Store> {
  const found = new Map(
    wanted.flatMap((line) => {
      const window = { from: millisOf(line.starts_at), to: millisOf(line.ends_at) }
      return (snapshots.get(line.store_id)?.demandsOf(line.product_id) ?? []).flatMap((active) => {
        const { demand } = active
        const is_others = demand.opportunity_id !== null && demand.opportunity_id !== opportunity_id
        return is_others && demand.is_active && meets(active, window) ? [[demand.id, demand] as const] : []
      })
    })
  )
  const demands = [...found.values()]
    .toSorted((one, other) => (one.starts_at < other.starts_at ? -1 : 1))
    .slice(0, read_max)
  const ids = [...new Set(demands.flatMap((demand) => demand.opportunity_id ?? []))]
  const headers = new Map((yield* (yield* Store).getMany(opportunities, ids)).map((row) => [row.id, row]))
  return demands.flatMap((demand) => {
    const header = headers.get(demand.opportunity_id ?? 0)
    if (header === undefined) return []
    const { product_id, quantity, store_id, starts_at, ends_at } = demand
    const { id, number, subject } = header
    return [{ opportunity_id: id, number, subject, product_id, store_id, quantity, starts_at, ends_at }]
  })
})

const promisedFor = (short: LineShortage, promised: ReadonlyArray<PromisedTo>): ReadonlyArray<PromisedTo> =>
  promised.filter((one) => one.product_id === short.product_id && one.store_id === short.store_id).slice(0, named_max)
/** The shortage of a line, and whom the goods are promised to meanwhile. */
export const shownShortage = (short: LineShortage, promised: ReadonlyArray<PromisedTo>): ShownShortage => ({
  opportunity_item_id: short.opportunity_item_id,
  product_id: short.product_id,
  product_name: short.product_name,
  store_id: short.store_id,
  requested_quantity: short.requested_quantity,
  available_quantity: short.available_quantity,
  shortfall: short.shortfall,
  remaining_shortfall: short.remaining_shortfall,
  tracking_type: short.tracking_type,
  promised_to: promisedFor(short, promised).map(({ product_id: _product, store_id: _store, ...one }) => one)
})
/** `PAR 64: 4 are promised to "Gala" (0000000002) from … to ….` */
export const promisesOf = (
  short: ReadonlyArray<LineShortage>,
  promised: ReadonlyArray<PromisedTo>
): ReadonlyArray<string> =>
  short.flatMap((line) =>
    promisedFor(line, promised)
      .slice(0, 3)
      .map(
        ({ ends_at, number, opportunity_id, quantity, starts_at, subject }) =>
          `${line.product_name ?? `Product ${line.product_id}`}: ${quantity} promised to "${subject}" ` +
          `(${number ?? `opportunity ${opportunity_id}`}) from ${starts_at} to ${ends_at}.`
      )
  )

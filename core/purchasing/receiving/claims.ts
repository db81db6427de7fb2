/** Claims on a unit that is to be returned to its supplier. */
import type { DemandRow } from "../../orders/demands/schema.ts"
import type { StockLevelRow } from "../../products/stock/schema.ts"
import type { PurchaseOrderRow } from "../schema.ts"

/** Somebody has a unit, or will have it, from now on. */
export interface UnitClaim {
  readonly demand: DemandRow
  /** Who, in words. */
  readonly job: string
}
/** As refusals name an order. */
export const orderName = ({ id, number }: Pick<PurchaseOrderRow, "id" | "number">): string =>
  `Purchase order ${number ?? id}`
export const unitName = ({ id, serial_number }: Pick<StockLevelRow, "id" | "serial_number">): string =>
  serial_number === null ? `Unit ${id}` : `Unit ${serial_number}`
export const claimText = ({ demand, job }: UnitClaim): string =>
  demand.out
    ? `is out on hire with ${job}; check it in first.`
    : `is allocated to ${job} from ${demand.starts_at} to ${demand.ends_at}; release it there first.`

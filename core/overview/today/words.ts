/** Texts about the day, for terminals and wall displays. Pure. */
import type { Pieces } from "../../orders/opportunities/state/index.ts"

export const order_lists = {
  late: "Late",
  going_out: "Going out",
  coming_back: "Coming back",
  to_prepare: "To prepare",
  short: "Short"
} as const
export type OrderList = keyof typeof order_lists
/** Lists in display order: problems come first. */
export const order_list_names = [
  "late",
  "going_out",
  "coming_back",
  "to_prepare",
  "short"
] as const satisfies ReadonlyArray<OrderList>

/** Number of allocated units that are out of service: `2 to replace`; "" for none. */
export const replaceText = (to_replace: number): string => (to_replace > 0 ? `${to_replace} to replace` : "")

/** Progress of an order on a list: `7 of 12 packed`, `12 out`, `3 of 12 back`; "" without pieces to pack. */
export const leftText = (list: OrderList, { back, out, packed, wanted }: Pieces): string =>
  list === "coming_back" || list === "late"
    ? back === 0
      ? `${out} out`
      : `${back} of ${out + back} back`
    : wanted === 0
      ? ""
      : `${packed} of ${wanted} packed`

/** Where a unit is, in a few words. Pure. */
import { clockText, numberText } from "../values/short-text.ts"
import { stateWords } from "../service/service.ts"
import type { CaseWhere, Whereabouts } from "./where.ts"

const orderText = ({ order }: Pick<Whereabouts, "order">): string => {
  if (order === null) return ""
  const { id, member_name, number, subject } = order
  return `order ${numberText(number, id)} ${subject}${member_name === null ? "" : ` with ${member_name}`}`
}
/** `until Fri 4 Dec 09:00`, `expected back 14:00` on the day itself; nothing without a time. */
const whenText = (
  word: string,
  at: string | null,
  { timezone }: Pick<Whereabouts, "timezone">,
  today: string
): string => (at === null ? "" : `${word} ${clockText(at, timezone, today)}`)
const joined = (parts: ReadonlyArray<string | null>): string =>
  parts.filter((part) => part !== null && part !== "").join(", ")

/** `in repair (bent yoke), expected back Fri 4 Dec 09:00`; of a part of a bulk quantity `3 in quarantine`. */
const serviceText = (where: Whereabouts, today: string, counts: boolean): string =>
  joined(
    where.service.map(({ expected_back_at, quantity, reason, state }) =>
      joined([
        `${counts ? `${quantity} ` : ""}${stateWords[state]}${reason === null ? "" : ` (${reason})`}`,
        whenText("expected back", expected_back_at, where, today)
      ])
    )
  )
/** `sub-hired from Acme, due back Fri 4 Dec 09:00`. */
const supplierText = (where: Whereabouts, today: string): string =>
  where.supplier === null
    ? ""
    : joined([
        `sub-hired${where.supplier.name === null ? "" : ` from ${where.supplier.name}`}`,
        whenText("due back", where.supplier.due_back_at, where, today)
      ])

/** `out on order 1042 Gala with Acme until Fri 4 Dec 09:00`. */
const outText = (where: Pick<Whereabouts, "order" | "timezone">, today: string): string => {
  if (where.order === null) return "out"
  const until = whenText("until", where.order.until, where, today)
  return `out on ${orderText(where)}${until === "" ? "" : ` ${until}`}`
}
/** Of a case: at its store, or out with whom, and in which other one. */
export const caseText = (
  { inside, is_out, order, ...at }: CaseWhere & Pick<Whereabouts, "store_name" | "timezone">,
  today: string
): string =>
  joined([
    inside === null ? null : `in ${inside.name}`,
    is_out ? outText({ order, ...at }, today) : at.store_name,
    is_out || order === null ? null : `back from ${orderText({ order })}`
  ])

/**
 * `Main Warehouse, Rack 3`, `out on order 1042 Gala with Acme until Fri 4 Dec 09:00`. `today`: on the store's clock.
 */
export const whereText = (where: Whereabouts, today: string): string => {
  const { container, location, order, place, store_name, supplier } = where
  const at = joined([store_name, location])
  const inside = container === null ? null : `in ${container.name}`
  const from = order === null ? null : `back from ${orderText(where)}`
  const of_supplier = supplierText(where, today)
  switch (place) {
    case "out": {
      // A repair that is planned while it is out is told, too.
      return joined([inside, outText(where, today), serviceText(where, today, false), of_supplier])
    }
    case "returned":
      return joined([
        inside,
        `back at ${at}${order === null ? "" : ` from ${orderText(where)}`}`,
        "not checked yet",
        of_supplier
      ])
    case "prepared":
      return joined([inside, at, `prepared for ${order === null ? "an order" : orderText(where)}`, of_supplier])
    case "not_here_yet":
      return joined([`not at ${at} yet`, of_supplier])
    case "quarantine":
    case "in_repair":
      return joined([serviceText(where, today, false), inside, at, from, of_supplier])
    case "lost":
      return joined([serviceText(where, today, false), order === null ? null : `last on ${orderText(where)}`])
    case "sold":
      return "sold"
    case "gone":
      return "written off or moved away"
    case "given_back":
      return `given back to ${supplier?.name ?? "its supplier"}`
    case "in_case":
    case "in_store":
      return joined([
        inside,
        at,
        serviceText(where, today, true),
        order === null ? null : `put aside for ${orderText(where)}`,
        of_supplier
      ])
  }
}

/** Warnings about things that an extension leaves unchanged, and its effects on others; none of them refuses it. */
import { Effect } from "effect"
import type { LineShortage } from "../../availability/rules/line.ts"
import type { AvailabilitySnapshot } from "../../availability/rules/snapshot.ts"
import { Store, type Viewer } from "../../../kernel/index.ts"
import { meets } from "../../../values/period.ts"
import { millisOf } from "../../../values/time.ts"
import { checked_in, opportunities, order, type OpportunityRow } from "../tables/index.ts"
import { formatMoney } from "../../../values/money.ts"
import { counted } from "../../../values/text.ts"
import { keptText, shortageText, shortageToldText, unitName, unitsOf } from "../state/index.ts"
import type { DecisionState, Opportunity } from "../state/index.ts"
import type { ExtensionPlan, ShownShortage } from "./plan.ts"

// Other opportunities with demands for the same goods during the extension.

/** Demand of another order or quotation for a product. */
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
/** Limits of demands: named for one shortage, and read. */
const named_max = 20
const read_max = 200

/** Additional demand of a line for a product at times it did not cover before. */
export interface AddedTime {
  readonly product_id: number
  readonly store_id: number
  readonly starts_at: string
  readonly ends_at: string
}
/**
 * Other opportunities' demands for these products at these times, from the snapshots; one query for the opportunities.
 */
export const loadPromised = Effect.fnUntraced(function* (
  opportunity_id: number,
  snapshots: ReadonlyMap<number, AvailabilitySnapshot>,
  wanted: ReadonlyArray<AddedTime>
): Store.Reads<ReadonlyArray<PromisedTo>> {
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
  const headers = yield* Store.byId(opportunities, ids)
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
/** The shortage of a line, and others with demands for its goods at that time. */
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
/** Texts such as `PAR 64: 4 promised to "Gala" (0000000002) from … to ….`, at most three for each short product. */
export const promisesOf = (
  short: ReadonlyArray<LineShortage>,
  promised: ReadonlyArray<PromisedTo>
): ReadonlyArray<string> =>
  [...new Map(short.map((line) => [`${line.product_id} ${line.store_id}`, line])).values()].flatMap((line) =>
    promisedFor(line, promised)
      .slice(0, 3)
      .map(
        ({ ends_at, number, opportunity_id, quantity, starts_at, subject }) =>
          `${line.product_name ?? `Product ${line.product_id}`}: ${quantity} promised to "${subject}" ` +
          `(${number ?? `opportunity ${opportunity_id}`}) from ${starts_at} to ${ends_at}.`
      )
  )

interface Given {
  readonly state: DecisionState
  readonly plan: ExtensionPlan
  readonly after: Opportunity
  /** Lines whose shortage grew. */
  readonly short: ReadonlyArray<LineShortage>
  readonly promised: ReadonlyArray<PromisedTo>
  readonly now: string
  readonly viewer: Viewer
}

/** Phases of a job before the hire's window, and those after it. */
const before_phases = ["prep", "load", "deliver", "setup"] as const
const after_phases = ["takedown", "collect", "unload", "deprep"] as const

const phaseWarnings = ({ set }: ExtensionPlan, header: OpportunityRow): ReadonlyArray<string> => {
  const { ends_at, starts_at } = header
  const late = (phase: (typeof before_phases)[number]): string | null => header[`${phase}_ends_at`]
  const early = (phase: (typeof after_phases)[number]): string | null => header[`${phase}_starts_at`]
  const stays = (phase: string, at: string, word: string, bound: string): string =>
    `${phase} stays planned for ${at}, ${word} the hire ${bound}; give its new times along, or change them.`
  return [
    ...(set.starts_at === undefined || starts_at === null
      ? []
      : before_phases.flatMap((phase) => {
          const at = late(phase)
          return at === null || at <= starts_at ? [] : [stays(phase, at, "after", "begins")]
        })),
    ...(set.ends_at === undefined || ends_at === null
      ? []
      : after_phases.flatMap((phase) => {
          const at = early(phase)
          return at === null || at >= ends_at ? [] : [stays(phase, at, "before", "ends")]
        }))
  ]
}

/**
 * Warns of dates that contradict dispatched goods: the dates may be right, and the dispatch recorded on the wrong day.
 */
const goneWarnings = ({ after, plan, state }: Given): ReadonlyArray<string> => {
  const { ends_at, starts_at } = plan.set
  const gone = after.units.filter(
    (unit): unit is typeof unit & { dispatched_at: string } => unit.dispatched_at !== null
  )
  const text = (units: typeof gone, word: string, bound: string, way_out: string): ReadonlyArray<string> =>
    units.length === 0
      ? []
      : [
          `Went out ${word} the hire ${bound} now: ` +
            `${units.map((unit) => `${unitName(state, unit.stock_level_id)} (${unit.dispatched_at})`).join(", ")}; ` +
            `give ${way_out} where that is wrong.`
        ]
  return [
    ...(typeof starts_at !== "string"
      ? []
      : text(
          gone.filter(({ dispatched_at }) => dispatched_at < starts_at),
          "before",
          "begins",
          "an earlier start"
        )),
    ...(typeof ends_at !== "string"
      ? []
      : text(
          gone.filter(({ dispatched_at }) => dispatched_at > ends_at),
          "after",
          "ends",
          "a later end"
        ))
  ]
}

const moneyWarnings = ({ after, plan, state }: Given): ReadonlyArray<string> => {
  const { header } = state.opportunity
  const money = (minor: number): string => `${formatMoney(minor, header.currency_code)} ${header.currency_code}`
  const was = new Map(state.opportunity.lines.map((line) => [line.id, line]))
  const nets = after.lines.some((line) => line.total !== was.get(line.id)?.total)
  const rates = after.lines.flatMap((line) => {
    const before = was.get(line.id)
    return before === undefined || before.unit_price === line.unit_price || !plan.lines.has(line.id)
      ? []
      : [`${line.name} is charged at ${money(line.unit_price)} a unit now, not at ${money(before.unit_price)}.`]
  })
  return [
    ...rates,
    ...(header.deal_total !== null && nets
      ? [`A deal price of ${money(header.deal_total)} is set, so the total stays; set another one or clear it.`]
      : []),
    ...(header.invoiced && after.header.charge_total !== header.charge_total
      ? ["It is invoiced already: what changes is on no invoice yet. Make another invoice, or a credit note."]
      : [])
  ]
}

/** Warns that goods on order or hired from suppliers keep the end agreed with them. */
const supplierWarnings = ({ after, plan, state }: Given): ReadonlyArray<string> => {
  const ends_at = plan.set.ends_at
  const on_order = after.lines.filter((line) => plan.lines.has(line.id) && Number(line.on_order_quantity) > 0)
  const hired =
    typeof ends_at !== "string"
      ? []
      : [...plan.lines.keys()]
          .flatMap((id) => unitsOf(after, id))
          .filter((unit) => unit.status < checked_in)
          .flatMap((unit) => state.levels.get(unit.stock_level_id) ?? [])
          .filter((level) => level.ends_at !== null && level.ends_at < ends_at)
  const until = (id: number): string => `${unitName(state, id)} (until ${state.levels.get(id)?.ends_at ?? ""})`
  const way_out = "extend the purchase order, too (purchase-orders extend)."
  return [
    ...(on_order.length === 0
      ? []
      : [
          "On order from suppliers for the dates agreed with them: " +
            `${on_order.map(({ name }) => name).join(", ")}; ${way_out}`
        ]),
    ...(hired.length === 0
      ? []
      : [`Hired from suppliers until before the new end: ${hired.map(({ id }) => until(id)).join(", ")}; ${way_out}`])
  ]
}

/** Warns of lines that are charged in full although a part is returned. */
const returnedWarnings = ({ after, plan, state }: Given): ReadonlyArray<string> =>
  after.lines.flatMap((line) => {
    if (!plan.lines.has(line.id)) return []
    // Units of a kit's parts do not count as kits.
    const units = unitsOf(after, line.id).filter(
      (unit) => state.levels.get(unit.stock_level_id)?.product_id === line.item_id
    )
    const back =
      units.length > 0 ? units.filter(({ status }) => status >= checked_in).length : Number(line.returned_quantity)
    return back === 0 || back >= Number(line.quantity)
      ? []
      : [`${back} of ${Number(line.quantity)} ${line.name} came back; the line is charged in full for the new dates.`]
  })

/** The store's policy applies to orders only. */
const shortageOf = ({ after, short, state, viewer }: Given): string =>
  after.header.state === order ? shortageToldText(state, short, viewer) : shortageText(short)

export const warningsOf = (given: Given): ReadonlyArray<string> => {
  const { after, plan, promised, short } = given
  const own = plan.kept.filter((line) => !plan.back.includes(line))
  return [
    ...(own.length === 0 ? [] : [keptText(own, plan.set.starts_at !== undefined)]),
    ...(plan.back.length === 0
      ? []
      : [
          `${counted(plan.back.length, "line came back and is", "lines came back and are")} not charged for longer: ` +
            `${plan.back.map(({ name }) => name).join(", ")}.`
        ]),
    ...(short.length === 0 ? [] : [shortageOf(given), ...promisesOf(short, promised)]),
    ...returnedWarnings(given),
    ...supplierWarnings(given),
    ...moneyWarnings(given),
    ...goneWarnings(given),
    ...phaseWarnings(plan, after.header)
  ]
}

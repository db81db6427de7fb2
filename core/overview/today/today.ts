/** Response of `GET /today`: its lists, as far as the reader may see them (rules/today). */
import { Effect } from "effect"
import { columnsSeen, CommandRuntime, picked, settingText, Store } from "../../kernel/index.ts"
import type { Failure, Input, Settings, Viewer } from "../../kernel/index.ts"
import { mayAsk } from "../../kernel/endpoints/may-ask.ts"
import { members } from "../../people/members/schema.ts"
import { loadLinePieces, sumOfPieces, type Pieces } from "../../orders/opportunities/state/index.ts"
import { states, statusLabelOf } from "../../orders/opportunities/tables/index.ts"
import { countToReplace } from "../../orders/opportunities/units/to-replace.ts"
import { type StoreRow, stores } from "../../setup/stores.ts"
import { formatMoney } from "../../values/money.ts"
import { dayOf, instantOf, millisOf, zoneOf } from "../../values/time.ts"
import type { Day, Due, OrderOfDay } from "./orders.ts"
import {
  dayIn,
  dueBack,
  dueIn,
  isBackAt,
  isNotAllOut,
  isToGo,
  leavesAt,
  leaving,
  orders_max,
  papers_max,
  returning,
  short,
  unpaid,
  widest
} from "./orders.ts"

/** The requested or current day, and the time zone, of each store and of rows without a store. */
interface Clocks {
  readonly own: { readonly zone: string; readonly day: Day }
  readonly store: StoreRow | undefined
  readonly of: (store_id: number | null) => { readonly zone: string; readonly day: Day; readonly name: string | null }
  readonly all: ReadonlyArray<Day>
}
const clocksFor = Effect.fnUntraced(function* (
  store_id: number | undefined,
  given: string | undefined,
  { now, settings }: Pick<Input, "now" | "settings">
): Store.Reads<Clocks> {
  const rows = yield* Store.find(stores, store_id === undefined ? {} : { id: store_id })
  const company = zoneOf(settingText(settings, "company", "timezone"))
  const clock = (zone: string) => ({ zone, day: dayIn(zone, millisOf(now), given) })
  const store = store_id === undefined ? undefined : rows[0]
  const own = clock(store === undefined ? company : zoneOf(store.timezone))
  const of = new Map(rows.map((row) => [row.id, { ...clock(zoneOf(row.timezone)), name: row.name }]))
  return {
    own,
    store,
    of: (id) => of.get(id ?? 0) ?? { ...own, name: null },
    all: [own.day, ...[...of.values()].map(({ day }) => day)]
  }
})

const namesOf = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number | null>,
  viewer: Viewer
): Store.Reads<(id: number | null) => string | null> {
  if (!columnsSeen(members, viewer)("name")) return () => null
  const rows = yield* Store.pickMany(
    members,
    ["id", "name"],
    ids.flatMap((id) => id ?? [])
  )
  const names = new Map(rows.map((row) => [row.id, row.name]))
  return (id) => names.get(id ?? 0) ?? null
})

interface Told {
  readonly row: OrderOfDay
  readonly at: string | null
  readonly is_late: boolean
}
interface ListContext {
  readonly clocks: Clocks
  readonly memberName: (id: number | null) => string | null
  readonly piecesOfOrder: (id: number) => Pieces
  readonly toReplace: (id: number) => number
}
/** Output of one list of orders with their progress. */
const listOf = (
  told: ReadonlyArray<Told>,
  has_more: boolean,
  { clocks, memberName, piecesOfOrder, toReplace }: ListContext
) => ({
  count: told.length,
  more: has_more,
  orders: told
    .toSorted((one, other) => compared(one.at ?? "9", other.at ?? "9") || one.row.id - other.row.id)
    .map(({ at, is_late, row }) => ({
      ...picked(row, ["id", "number", "subject", "member_id"]),
      member_name: memberName(row.member_id),
      store_id: row.store_id,
      store_name: clocks.of(row.store_id).name,
      timezone: clocks.of(row.store_id).zone,
      state_name: states[row.state] ?? "",
      status_name: statusLabelOf(row),
      at,
      starts_at: row.starts_at,
      ends_at: row.ends_at,
      is_late,
      // Whether something is short; never for a fully dispatched order, whatever the stored flag says.
      has_shortage: row.has_shortage && isNotAllOut(piecesOfOrder(row.id)),
      to_replace: toReplace(row.id),
      ...piecesOfOrder(row.id)
    }))
})
const compared = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** Progress of each order, by id: four queries for any number; each order is summed once. */
const piecesOfOrders = (
  ids: ReadonlyArray<number>,
  settings: Settings
): Effect.Effect<(id: number) => Pieces, Failure, Store> =>
  Effect.map(loadLinePieces(ids, settings), (piecesOf) => {
    const sums = new Map([...new Set(ids)].map((id) => [id, sumOfPieces(piecesOf(id))]))
    return (id) => sums.get(id) ?? sumOfPieces([])
  })

const ordersOfDay = Effect.fnUntraced(function* (
  store_id: number | undefined,
  clocks: Clocks,
  asked: Pick<Input, "now" | "settings" | "viewer">
) {
  const bounds = widest(clocks.all)
  const out = yield* leaving(store_id, bounds)
  const back = yield* returning(store_id, bounds)
  const lacking = yield* short(store_id, bounds)
  const shown = [...out, ...back, ...lacking]
  const piecesOfOrder = yield* piecesOfOrders(
    shown.map(({ id }) => id),
    asked.settings
  )
  const memberName = yield* namesOf(
    shown.map((row) => row.member_id),
    asked.viewer
  )
  const broken = yield* countToReplace([...new Set(shown.map(({ id }) => id))], asked)
  const toReplace = (id: number): number => broken.get(id) ?? 0
  return listsOf({ out, back, lacking }, { clocks, memberName, piecesOfOrder, toReplace })
})
interface Read {
  readonly out: ReadonlyArray<OrderOfDay>
  readonly back: ReadonlyArray<OrderOfDay>
  readonly lacking: ReadonlyArray<OrderOfDay>
}
/** Whether an instant is in [from, to); false for null. */
const isWithin = (at: string | null, from: number, to: number): boolean => {
  if (at === null) return false
  const millis = millisOf(at)
  return millis >= from && millis < to
}

/** All lists, each filtered by the day of its orders' own stores. Pure. */
const listsOf = ({ back, lacking, out }: Read, of: ListContext) => {
  const dayOfStore = (row: OrderOfDay): Day => of.clocks.of(row.store_id).day
  const leaves = out
    .filter((row) => isToGo(row, of.piecesOfOrder(row.id)))
    .map((row) => ({ row, at: leavesAt(row), day: dayOfStore(row) }))
  const returns = back.map((row) => ({ row, at: isBackAt(row), day: dayOfStore(row) }))
  const told = ({ at, day, row }: (typeof leaves)[number]): Told => ({
    row,
    at,
    is_late: isWithin(at, -Infinity, day.late_before)
  })
  const due = returns.filter(({ at, day }) => isWithin(at, -Infinity, day.to))
  const isPacked = (id: number): boolean => {
    const { packed, wanted } = of.piecesOfOrder(id)
    return packed >= wanted
  }
  const going_out = leaves.filter(({ at, day }) => isWithin(at, day.not_left_from, day.to))
  const to_prepare = leaves.filter(
    ({ at, day, row }) => isWithin(at, day.not_left_from, day.prepare_to) && !isPacked(row.id)
  )
  const soon = lacking
    .filter((row) => isNotAllOut(of.piecesOfOrder(row.id)))
    .filter((row) => isWithin(row.starts_at, dayOfStore(row).from, dayOfStore(row).short_to))
  return {
    going_out: listOf(going_out.map(told), out.length > orders_max, of),
    coming_back: listOf(
      due
        .filter(({ at, day }) => isWithin(at, day.from, day.to))
        .map(told)
        .filter(({ is_late }) => !is_late),
      back.length > orders_max,
      of
    ),
    late: listOf(
      due.map(told).filter(({ is_late }) => is_late),
      back.length > orders_max,
      of
    ),
    to_prepare: listOf(to_prepare.map(told), out.length > orders_max, of),
    short: listOf(
      soon.map((row) => ({ row, at: row.starts_at, is_late: false })),
      lacking.length > orders_max,
      of
    )
  }
}

const unpaidOf = Effect.fnUntraced(function* (store_id: number | undefined, clocks: Clocks, viewer: Viewer) {
  const { rows, sums } = yield* unpaid(store_id, clocks.own.day.to)
  const memberName = yield* namesOf(
    rows.map((row) => row.member_id),
    viewer
  )
  const count = sums.reduce((sum, one) => sum + one.count, 0)
  return {
    count,
    more: count > papers_max,
    totals: sums.map(({ count: of, currency_code, outstanding }) => ({
      currency_code,
      count: of,
      outstanding: formatMoney(outstanding, currency_code)
    })),
    invoices: rows.map((row) => ({
      ...picked(row, ["id", "number", "subject"]),
      member_name: memberName(row.member_id),
      status: row.status,
      due_at: row.due_at,
      days_late: row.due_at === null ? 0 : daysFrom(dayOf(millisOf(row.due_at), clocks.own.zone), clocks.own.day.date),
      currency_code: row.currency_code,
      outstanding: formatMoney(row.amount_outstanding, row.currency_code)
    }))
  }
})
const day_millis = 86_400_000
const daysFrom = (day: string, to: string): number =>
  Math.max(0, Math.round((Date.parse(to) - Date.parse(day)) / day_millis))

const dueOf = Effect.fnUntraced(function* (due: ReadonlyArray<Due>, clocks: Clocks, viewer: Viewer) {
  const supplierName = yield* namesOf(
    due.map(({ order }) => order.supplier_id),
    viewer
  )
  return {
    count: due.length,
    purchase_orders: due
      .slice(0, papers_max)
      .map(({ at, order, pieces }) => ({
        ...picked(order, ["id", "number", "subject"]),
        supplier_name: supplierName(order.supplier_id),
        store_name: clocks.of(order.store_id).name,
        timezone: clocks.of(order.store_id).zone,
        at,
        is_late: millisOf(at) < clocks.of(order.store_id).day.from,
        pieces
      }))
  }
})

interface TodayAsked extends Pick<Input, "now" | "settings" | "viewer"> {
  readonly store_id: number | undefined
  readonly date: string | undefined
}
/** The response for one store or all, as far as the reader may see it. */
export const todayFor = Effect.fnUntraced(function* ({ date: given, store_id, ...asked }: TodayAsked) {
  const { catalogue } = yield* CommandRuntime
  const clocks = yield* clocksFor(store_id, given, asked)
  const { viewer } = asked
  const { to } = clocks.own.day
  const sees_orders = mayAsk(catalogue, "purchase_orders.list", viewer)
  return {
    date: clocks.own.day.date,
    generated_at: instantOf(millisOf(asked.now)),
    store:
      clocks.store === undefined
        ? null
        : { id: clocks.store.id, name: clocks.store.name, timezone: zoneOf(clocks.store.timezone) },
    ...(yield* ordersOfDay(store_id, clocks, asked)),
    unpaid: mayAsk(catalogue, "invoices.list", viewer) ? yield* unpaidOf(store_id, clocks, viewer) : null,
    sub_hire_back: sees_orders ? yield* dueOf(yield* dueBack(store_id, to), clocks, viewer) : null,
    sub_hire_in: sees_orders ? yield* dueOf(yield* dueIn(store_id, to), clocks, viewer) : null
  }
})
export type Today = Effect.Success<ReturnType<typeof todayFor>>

/** What somebody finds: rows of every kind they may list, the closest first (rules/search). */
import { Effect } from "effect"
import type { Failure, Input } from "../kernel/endpoint.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import { mayAsk } from "../kernel/may-ask.ts"
import { Store } from "../kernel/store/store.ts"
import type { AnyRow, RowOf, Table } from "../kernel/table.ts"
import { members } from "../members/schema.ts"
import { opportunities } from "../opportunities/schema.ts"
import { open_status_conditions, isClosed } from "../opportunities/status/statuses.ts"
import { kind_rules, type SearchKind, type SearchKindRules } from "./kinds.ts"
import { closenessOf, inOrderOfCloseness, type Match, type Sought } from "./matches.ts"
import { candidatesOf, memberIdsByContact } from "./rows.ts"
import { columnsSeen } from "../kernel/visibility.ts"

type Caller = Pick<Input, "viewer">
export interface Found {
  readonly matches: ReadonlyArray<Match>
  /** More rows hold the words than were looked at or are shown. */
  readonly is_more: boolean
}
export type FoundByKind = ReadonlyMap<SearchKind, Found>

/** Rows that are still worked with come before those that are over, where they match alike. */
const isInUse =
  (kind: SearchKind) =>
  (row: AnyRow): boolean => {
    if (kind === "orders") return !isClosed({ state: Number(row["state"]), status: Number(row["status"]) })
    if (kind === "members" || kind === "products") return row["is_active"] === true
    if (kind === "units")
      return row["given_back_at"] === null && row["is_gone"] !== true && row["service_state"] !== "lost"
    return row["status"] !== "dissolved" && row["status"] !== "voided" && row["status"] !== "cancelled"
  }

const foundOf = Effect.fnUntraced(function* (
  rules: SearchKindRules,
  sought: Sought,
  { viewer }: Caller,
  limit: number
): Effect.fn.Return<Found, Failure, Store> {
  const { is_more, rows } = yield* candidatesOf(rules, sought)
  const sees = columnsSeen(rules.table, viewer)
  const matches = rows.flatMap((row) => {
    const closeness = closenessOf(rules.table, row, sought, rules.codes, sees)
    return closeness === undefined ? [] : [{ row, closeness }]
  })
  const reached = rules.kind === "members" ? yield* reachedBy(sought, matches) : []
  const all = [...matches, ...reached].sort(inOrderOfCloseness(isInUse(rules.kind)))
  return { matches: yield* whole(rules.table, all.slice(0, limit)), is_more: is_more || all.length > limit }
})
/** With whole rows: of those that are looked at only these are shown. */
const whole = Effect.fnUntraced(function* (
  table: Table,
  matches: ReadonlyArray<Match>
): Effect.fn.Return<ReadonlyArray<Match>, Failure, Store> {
  const rows = yield* (yield* Store).getMany(
    table,
    matches.map(({ row }) => Number(row[table.key]))
  )
  const by_id = new Map(rows.map((row): [unknown, AnyRow] => [(row as AnyRow)[table.key], row]))
  return matches.flatMap(({ closeness, row: { [table.key]: id } }) => {
    const row = by_id.get(id)
    return row === undefined ? [] : [{ row, closeness }]
  })
})

/** Members found by an e-mail address or a telephone number only. Whoever lists members sees both. */
const reachedBy = Effect.fnUntraced(function* (sought: Sought, known: ReadonlyArray<Match>) {
  const { by_email, by_phone } = yield* memberIdsByContact(sought)
  const there = new Set(known.map(({ row }) => row["id"]))
  const store = yield* Store
  const rows = (yield* store.pickMany(members, ["id", "is_active", "deleted_at"], [...by_phone, ...by_email])).filter(
    (row) => row.deleted_at === null && !there.has(row.id)
  )
  return rows.map((row): Match => ({ row, closeness: by_phone.includes(row.id) ? 1 : 2 }))
})

/** Members whose open orders are found with them: of a common name the closest. */
const members_with_orders_max = 5
const ordersOf = Effect.fnUntraced(function* (
  found: Found,
  orders: Found,
  limit: number
): Effect.fn.Return<Found, Failure, Store> {
  const member_id = found.matches.slice(0, members_with_orders_max).map(({ row }) => Number(row["id"]))
  if (member_id.length === 0 || orders.matches.length >= limit) return orders
  const store = yield* Store
  const open = yield* Effect.forEach(open_status_conditions, ({ state, status }) =>
    store.find(
      opportunities,
      { member_id, deleted_at: null, state: Number(state), status: status as ReadonlyArray<number> },
      { order: ["-starts_at"], limit: limit + 1 }
    )
  )
  const there = new Set(orders.matches.map(({ row }) => row["id"]))
  const theirs = open
    .flat()
    .filter((row) => !there.has(row.id))
    .map((row): Match => ({ row, closeness: 3 }))
  const all = [...orders.matches, ...theirs]
  return { matches: all.slice(0, limit), is_more: orders.is_more || all.length > limit }
})

/** Every kind the caller may list, at most `limit` rows of each. */
export const findAll = Effect.fnUntraced(function* (
  sought: Sought,
  caller: Caller,
  { kinds, limit }: { readonly kinds: ReadonlySet<SearchKind>; readonly limit: number }
): Effect.fn.Return<FoundByKind, Failure, Store | CommandRuntime> {
  const { catalogue } = yield* CommandRuntime
  const found = new Map<SearchKind, Found>()
  for (const rules of kind_rules)
    if (kinds.has(rules.kind) && mayAsk(catalogue, rules.list, caller.viewer))
      found.set(rules.kind, yield* foundOf(rules, sought, caller, limit))
  const [people, orders] = [found.get("members"), found.get("orders")]
  if (people !== undefined && orders !== undefined) found.set("orders", yield* ordersOf(people, orders, limit))
  return found
})

/** The rows of one kind as rows of its table: what was selected by it. */
export const rowsFound = <T extends Table>(
  found: FoundByKind,
  kind: SearchKind,
  _table: T
): ReadonlyArray<Match<RowOf<T> & AnyRow>> =>
  (found.get(kind)?.matches ?? []) as ReadonlyArray<Match<RowOf<T> & AnyRow>>

/** What a search answers: the rows that were found, as whoever asks may see them (rules/search). */
import { Effect } from "effect"
import { invoices } from "../billing/schema.ts"
import type { Input } from "../kernel/endpoint.ts"
import { invalidField } from "../kernel/rejection.ts"
import { columnsSeen } from "../kernel/visibility.ts"
import { Store } from "../kernel/store/store.ts"
import { members } from "../members/schema.ts"
import { opportunities } from "../opportunities/schema.ts"
import { states, statusLabelOf } from "../opportunities/status/statuses.ts"
import { containers } from "../packing/schema.ts"
import { products } from "../products/schema.ts"
import { purchase_orders } from "../procurement/schema.ts"
import { readCode } from "../scanning/read-code.ts"
import { stock_levels } from "../stock/schema.ts"
import { stores, zoneOf } from "../stores/stores.ts"
import { millisOf } from "../values/time.ts"
import { dayOf } from "../values/zone.ts"
import { findAll, type FoundByKind, rowsFound } from "./find.ts"
import { search_kinds, type SearchKind } from "./kinds.ts"
import { soughtIn } from "./matches.ts"
import { casesWhere, whereaboutsOf } from "./where.ts"
import { caseText, whereText } from "./words.ts"

/** Names of members and stores that rows refer to: two queries for all of them. */
const namesFor = Effect.fnUntraced(function* (found: FoundByKind, { viewer }: Pick<Input, "viewer">) {
  const store = yield* Store
  const ids = [
    ...rowsFound(found, "orders", opportunities).map(({ row }) => row.member_id),
    ...rowsFound(found, "invoices", invoices).map(({ row }) => row.member_id),
    ...rowsFound(found, "purchase_orders", purchase_orders).map(({ row }) => row.supplier_id)
  ]
  const sees = columnsSeen(members, viewer)
  const people = sees("name")
    ? yield* store.pickMany(
        members,
        ["id", "name"],
        ids.flatMap((id) => id ?? [])
      )
    : []
  const names = new Map(people.map((one) => [one.id, one.name]))
  const places = new Map((yield* store.find(stores, {})).map((one) => [one.id, one]))
  return {
    member: (id: number | null): string | null => names.get(id ?? 0) ?? null,
    store: (id: number | null) => places.get(id ?? 0)
  }
})
const exactly = ({ closeness }: { readonly closeness: number }): boolean => closeness === 0

const unitsShown = Effect.fnUntraced(function* (found: FoundByKind, { now, viewer }: Pick<Input, "now" | "viewer">) {
  const units = rowsFound(found, "units", stock_levels)
  const where = yield* whereaboutsOf(
    units.map(({ row }) => row),
    viewer,
    now
  )
  const names = new Map(
    (yield* (yield* Store).pickMany(
      products,
      ["id", "name"],
      units.map(({ row }) => row.product_id)
    )).map((one) => [one.id, one.name])
  )
  return units.flatMap((match) => {
    const { id, asset_number, barcode, item_name, product_id, quantity_held, serial_number } = match.row
    const at = where.get(id)
    return at === undefined
      ? []
      : [
          {
            id,
            is_exact: exactly(match),
            product_id,
            product_name: names.get(product_id) ?? null,
            item_name,
            asset_number,
            serial_number,
            barcode,
            quantity_held,
            where: { text: whereText(at, dayOf(millisOf(now), at.timezone)), ...at }
          }
        ]
  })
})

const casesShown = Effect.fnUntraced(function* (
  found: FoundByKind,
  names: Names,
  { now, viewer }: Pick<Input, "now" | "viewer">
) {
  const cases = rowsFound(found, "containers", containers)
  const where = yield* casesWhere(
    cases.map(({ row }) => row),
    viewer
  )
  return cases.flatMap((match) => {
    const { barcode, id, name, status, store_id } = match.row
    const at = where.get(id)
    const store_name = names.store(store_id)?.name ?? null
    const timezone = zoneOf(names.store(store_id))
    return at === undefined
      ? []
      : [
          {
            id,
            is_exact: exactly(match),
            name,
            barcode,
            status,
            store_name,
            where: { text: caseText({ ...at, store_name, timezone }, dayOf(millisOf(now), timezone)), ...at }
          }
        ]
  })
})

const counted = (found: FoundByKind) => ({
  total: [...found.values()].reduce((sum, { matches }) => sum + matches.length, 0),
  more: [...found].flatMap(([kind, { is_more }]) => (is_more ? [kind] : []))
})

type Names = Effect.Success<ReturnType<typeof namesFor>>
const othersShown = (found: FoundByKind, names: Names) => ({
  orders: rowsFound(found, "orders", opportunities).map((match) => {
    const { ends_at, id, member_id, number, reference, starts_at, state, store_id, subject } = match.row
    return {
      id,
      is_exact: exactly(match),
      number,
      subject,
      reference,
      member_id,
      member_name: names.member(member_id),
      store_name: names.store(store_id)?.name ?? null,
      timezone: zoneOf(names.store(store_id)),
      state_name: states[state] ?? "",
      status_name: statusLabelOf(match.row),
      starts_at,
      ends_at
    }
  }),
  members: rowsFound(found, "members", members).map((match) => ({
    id: match.row.id,
    is_exact: exactly(match),
    name: match.row.name,
    membership_type: match.row.membership_type,
    account_number: match.row.account_number,
    is_active: match.row.is_active,
    is_on_stop: match.row.is_on_stop
  })),
  products: rowsFound(found, "products", products).map((match) => ({
    id: match.row.id,
    is_exact: exactly(match),
    name: match.row.name,
    sku: match.row.sku,
    barcode: match.row.barcode,
    product_type: match.row.product_type,
    is_active: match.row.is_active
  })),
  invoices: rowsFound(found, "invoices", invoices).map((match) => ({
    id: match.row.id,
    is_exact: exactly(match),
    number: match.row.number,
    subject: match.row.subject,
    member_name: names.member(match.row.member_id),
    status: match.row.status,
    timezone: zoneOf(names.store(match.row.store_id)),
    due_at: match.row.due_at
  })),
  purchase_orders: rowsFound(found, "purchase_orders", purchase_orders).map((match) => ({
    id: match.row.id,
    is_exact: exactly(match),
    number: match.row.number,
    subject: match.row.subject,
    supplier_name: names.member(match.row.supplier_id),
    status: match.row.status
  }))
})

/** 422 on `q` without a word in it. Without `kinds` every kind. */
export const searchFor = Effect.fnUntraced(function* (
  text: string,
  input: Pick<Input, "now" | "settings" | "viewer">,
  { kinds, limit }: { readonly kinds: ReadonlyArray<string> | null; readonly limit: number }
) {
  const sought = soughtIn(text)
  if (sought.words.length === 0) return yield* invalidField("q", "Say what to look for.")
  const asked = new Set((kinds ?? Object.keys(search_kinds)) as ReadonlyArray<SearchKind>)
  let found = yield* findAll(sought, input, { kinds: asked, limit })
  // A label may say more than the code, as the address of a page or in elements: what it says is looked for by itself.
  for (const code of readCode(text).texts) {
    if (counted(found).total > 0) break
    if (code !== sought.text) found = yield* findAll(soughtIn(code), input, { kinds: asked, limit })
  }
  const names = yield* namesFor(found, input)
  const units = yield* unitsShown(found, input)
  const cases = yield* casesShown(found, names, input)
  return { query: sought.text, ...counted(found), units, containers: cases, ...othersShown(found, names) }
})

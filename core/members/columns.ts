/** Columns of saved views of members that are no keys of answers: e-mail, phone, address (rules/conventions 6). */
import { Effect } from "effect"
import type { ViewColumn, ViewColumns } from "../kernel/custom-view.ts"
import type { Json } from "../kernel/json.ts"
import { Store } from "../kernel/store/store.ts"
import type { AnyRow } from "../kernel/table.ts"
import { countries } from "../reference-data/countries.ts"
import { addresses, emails, phones } from "./schema.ts"

type Contact = { readonly member_id: number; readonly is_primary: boolean }
/** By member, the primary contact record, or the first where none is primary. */
const firstOf = <C extends Contact>(found: ReadonlyArray<C>): ReadonlyMap<unknown, C> => {
  const first = new Map<unknown, C>()
  for (const one of found) {
    const earlier = first.get(one.member_id)
    if (earlier === undefined || (one.is_primary && !earlier.is_primary)) first.set(one.member_id, one)
  }
  return first
}
const idsOf = (rows: ReadonlyArray<AnyRow>): ReadonlyArray<number> =>
  rows.map((row) => row["id"]).filter((id) => typeof id === "number")
const order = { order: ["id"] }
const email: ViewColumn = (rows) =>
  Effect.gen(function* () {
    const first = firstOf(yield* (yield* Store).find(emails, { member_id: idsOf(rows) }, order))
    return (row) => first.get(row["id"])?.address ?? null
  })
const phone: ViewColumn = (rows) =>
  Effect.gen(function* () {
    const first = firstOf(yield* (yield* Store).find(phones, { member_id: idsOf(rows) }, order))
    return (row) => first.get(row["id"])?.number ?? null
  })
const primaryAddresses = (rows: ReadonlyArray<AnyRow>) =>
  Effect.gen(function* () {
    return firstOf(yield* (yield* Store).find(addresses, { member_id: idsOf(rows), is_primary: true }, order))
  })
const city: ViewColumn = (rows) =>
  Effect.map(primaryAddresses(rows), (first) => (row) => first.get(row["id"])?.city ?? null)
const country: ViewColumn = (rows) =>
  Effect.gen(function* () {
    const first = yield* primaryAddresses(rows)
    const found = yield* (yield* Store).getMany(
      countries,
      [...first.values()].flatMap((address) => address.country_id ?? [])
    )
    const names = new Map(found.map((one) => [one.id, one.name]))
    return (row): Json => names.get(first.get(row["id"])?.country_id ?? 0) ?? null
  })
/** Always null: the interface names charges of members as columns, and members have none. */
const nothing: ViewColumn = () => Effect.succeed(() => null)

export const memberColumns: ViewColumns = {
  email,
  phone,
  city,
  country,
  tags: "tag_list",
  is_bookable: "bookable",
  cost_per_hour: "hour_cost",
  cost_per_day: "day_cost",
  cost_per_distance: "distance_cost",
  charge_per_hour: nothing,
  charge_per_day: nothing,
  charge_per_distance: nothing
}

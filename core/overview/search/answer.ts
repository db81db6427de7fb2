/** Results of a search: the found rows, as the caller may see them (rules/search). */
import { numberText } from "../../values/text.ts"
import { casesWhere, type CaseWhere, type Whereabouts, whereaboutsOf } from "./where.ts"
import { Effect } from "effect"
import { invoices } from "../../billing/state/tables.ts"
import { columnsSeen, type Input, invalidField, picked, type Settings, Store, type Table } from "../../kernel/index.ts"
import { members } from "../../people/members/schema.ts"
import { opportunities, states, statusLabelOf } from "../../orders/opportunities/tables/index.ts"
import { containers } from "../../products/packing.ts"
import { products } from "../../products/products/schema.ts"
import { purchase_orders } from "../../purchasing/schema.ts"
import { readCode } from "../../warehouse/scanning/read-code.ts"
import { stateWords, stock_levels } from "../../products/stock/schema.ts"
import { stores } from "../../setup/stores.ts"
import { clockText, dayOf, millisOf, zoneOf } from "../../values/time.ts"
import { findAll, type FoundByKind, rowsFound, soughtIn } from "./find.ts"
import type { SearchKind, SearchKindRules } from "./kinds.ts"
import { numbering_group } from "../../setup/settings/groups.ts"

// How each kind is searched.

const rulesOf = (
  kind: SearchKind,
  table: Table,
  rules: Partial<Pick<SearchKindRules, "codes" | "begins" | "numbered" | "in_use" | "list">>
): SearchKindRules => ({
  kind,
  table,
  codes: [],
  begins: undefined,
  numbered: undefined,
  in_use: ["status"],
  list: `${kind}.list`,
  ...rules
})

/** In the order in which they are searched. */
const kind_rules: ReadonlyArray<SearchKindRules> = [
  rulesOf("units", stock_levels, {
    codes: ["asset_number", "serial_number", "barcode"],
    in_use: ["given_back_at", "is_gone", "service_state", "product_id"],
    list: "stock_levels.list"
  }),
  rulesOf("containers", containers, { codes: ["barcode", "name"], begins: "name" }),
  rulesOf("orders", opportunities, {
    codes: ["number", "reference"],
    begins: "subject",
    numbered: "number",
    in_use: ["state", "status"],
    list: "opportunities.list"
  }),
  rulesOf("members", members, { codes: ["account_number", "name"], begins: "name", in_use: ["is_active"] }),
  rulesOf("products", products, {
    codes: ["sku", "barcode", "name"],
    begins: "name",
    in_use: ["is_active", "is_containerable"]
  }),
  rulesOf("invoices", invoices, { codes: ["number", "reference"], begins: "subject", numbered: "number" }),
  rulesOf("purchase_orders", purchase_orders, { codes: ["number"], begins: "number", numbered: "number" })
]

// Describes where a unit is, as text. Pure.

const orderText = ({ order }: Pick<Whereabouts, "order">): string => {
  if (order === null) return ""
  const { id, member_name, number, subject } = order
  return `order ${numberText(number, id)} ${subject}${member_name === null ? "" : ` with ${member_name}`}`
}
/**
 * A time with a word before it: `until Fri 4 Dec 09:00`, or `expected back 14:00` on the same day; "" without a time.
 */
const whenText = (
  word: string,
  at: string | null,
  { timezone }: Pick<Whereabouts, "timezone">,
  today: string
): string => (at === null ? "" : `${word} ${clockText(at, timezone, today)}`)
const joined = (parts: ReadonlyArray<string | null>): string =>
  parts.filter((part) => part !== null && part !== "").join(", ")

/**
 * Describes stock out of service: `in repair (bent yoke), expected back Fri 4 Dec 09:00`; bulk with quantity: `3 in
 * quarantine`.
 */
const serviceText = (where: Whereabouts, today: string, counts: boolean): string =>
  joined(
    where.service.map(({ expected_back_at, quantity, reason, state }) =>
      joined([
        `${counts ? `${quantity} ` : ""}${stateWords[state]}${reason === null ? "" : ` (${reason})`}`,
        whenText("expected back", expected_back_at, where, today)
      ])
    )
  )
/** Describes the supplier: `sub-hired from Acme, due back Fri 4 Dec 09:00`; "" for own stock. */
const supplierText = (where: Whereabouts, today: string): string =>
  where.supplier === null
    ? ""
    : joined([
        `sub-hired${where.supplier.name === null ? "" : ` from ${where.supplier.name}`}`,
        whenText("due back", where.supplier.due_back_at, where, today)
      ])

/** Describes the order a unit is out on: `out on order 1042 Gala with Acme until Fri 4 Dec 09:00`. */
const outText = (where: Pick<Whereabouts, "order" | "timezone">, today: string): string => {
  if (where.order === null) return "out"
  const until = whenText("until", where.order.until, where, today)
  return `out on ${orderText(where)}${until === "" ? "" : ` ${until}`}`
}
/** Describes where a case is: in which outer case, and at its store or out with a customer. */
const caseText = (
  { inside, is_out, order, ...at }: CaseWhere & Pick<Whereabouts, "store_name" | "timezone">,
  today: string
): string =>
  joined([
    inside === null ? null : `in ${inside.name}`,
    is_out ? outText({ order, ...at }, today) : at.store_name,
    is_out || order === null ? null : `back from ${orderText({ order })}`
  ])

/**
 * Describes where a unit is: `Main Warehouse, Rack 3` or `out on order 1042 Gala with Acme until Fri 4 Dec 09:00`.
 * `today`: current date at the store.
 */
export const whereText = (where: Whereabouts, today: string): string => {
  const { container, location, order, place, store_name, supplier } = where
  const at = joined([store_name, location])
  const inside = container === null ? null : `in ${container.name}`
  const from = order === null ? null : `back from ${orderText(where)}`
  const of_supplier = supplierText(where, today)
  switch (place) {
    case "out": {
      // Includes a repair planned while the unit is out.
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

/** Names of members and stores that the rows refer to: two queries for any number. */
const namesFor = Effect.fnUntraced(function* (found: FoundByKind, { viewer }: Pick<Input, "viewer">) {
  const ids = [
    ...rowsFound(found, "orders", opportunities).map(({ row }) => row.member_id),
    ...rowsFound(found, "invoices", invoices).map(({ row }) => row.member_id),
    ...rowsFound(found, "purchase_orders", purchase_orders).map(({ row }) => row.supplier_id)
  ]
  const sees = columnsSeen(members, viewer)
  const people = sees("name")
    ? yield* Store.pickMany(
        members,
        ["id", "name"],
        ids.flatMap((id) => id ?? [])
      )
    : []
  const names = new Map(people.map((one) => [one.id, one.name]))
  const places = new Map((yield* Store.find(stores, {})).map((one) => [one.id, one]))
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
    (yield* Store.pickMany(
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
    const timezone = zoneOf(names.store(store_id)?.timezone)
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
      timezone: zoneOf(names.store(store_id)?.timezone),
      state_name: states[state] ?? "",
      status_name: statusLabelOf(match.row),
      starts_at,
      ends_at
    }
  }),
  members: rowsFound(found, "members", members).map((match) => ({
    id: match.row.id,
    is_exact: exactly(match),
    ...picked(match.row, ["name", "membership_type", "account_number", "is_active", "is_on_stop"])
  })),
  products: rowsFound(found, "products", products).map((match) => ({
    id: match.row.id,
    is_exact: exactly(match),
    ...picked(match.row, ["name", "sku", "barcode", "product_type", "is_active"])
  })),
  invoices: rowsFound(found, "invoices", invoices).map((match) => ({
    id: match.row.id,
    is_exact: exactly(match),
    number: match.row.number,
    subject: match.row.subject,
    member_name: names.member(match.row.member_id),
    status: match.row.status,
    timezone: zoneOf(names.store(match.row.store_id)?.timezone),
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

/** Prefixes that users may leave out of numbers. Numbers of one store are typed in full. */
const prefixesIn = (settings: Settings): ReadonlyArray<string> =>
  Object.entries(settings[numbering_group] ?? {}).flatMap(([key, value]) =>
    key.endsWith(".prefix") && typeof value === "string" && value !== "" && !value.includes("{store}") ? [value] : []
  )

/** Searches the `kinds`, by default all; 422 on `q` if it contains no word. */
export const searchFor = Effect.fnUntraced(function* (
  text: string,
  input: Pick<Input, "now" | "settings" | "viewer">,
  { kinds, limit }: { readonly kinds: ReadonlyArray<SearchKind> | null; readonly limit: number }
) {
  const prefixes = prefixesIn(input.settings)
  const sought = soughtIn(text, prefixes)
  if (sought.words.length === 0) return yield* invalidField("q", "Say what to look for.")
  const rules = kind_rules.filter(({ kind }) => kinds?.includes(kind) !== false)
  let found = yield* findAll(sought, input, { kinds: rules, limit })
  // A scanned label may hold more than the code, such as a URL or GS1 elements: its texts are tried in turn.
  for (const code of readCode(text).texts) {
    if (counted(found).total > 0) break
    if (code !== sought.text) found = yield* findAll(soughtIn(code, prefixes), input, { kinds: rules, limit })
  }
  const names = yield* namesFor(found, input)
  const units = yield* unitsShown(found, input)
  const cases = yield* casesShown(found, names, input)
  return { query: sought.text, ...counted(found), units, containers: cases, ...othersShown(found, names) }
})

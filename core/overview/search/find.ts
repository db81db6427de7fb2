/** Search: rows of every kind the user may list, best matches first (rules/search). */
import { bindings, caseFoldedName, columnsNamed, columnsSeen, CommandRuntime, foldCase } from "../../kernel/index.ts"
import { isSearchable, quote, referredRows, Store } from "../../kernel/index.ts"
import type { AnyRow, Bindings, Input, RowOf, StoreRead, StoreShape, Table, Viewer } from "../../kernel/index.ts"
import type { OutOfService, StockLevelRow } from "../../products/stock/schema.ts"
import { purchase_order_items, purchase_orders } from "../../purchasing/schema.ts"
import { codeForms, numberForms } from "../../values/text.ts"
import {
  compacted,
  foldForSearch,
  keptWords,
  matchSql,
  searchedTextOf,
  searchWords
} from "../../kernel/store/search-index.ts"
import { Effect } from "effect"
import { emails, members, phones } from "../../people/members/schema.ts"
import { service_records } from "../../warehouse/workshop/schema.ts"
import type { SearchKind, SearchKindRules } from "./kinds.ts"
import { mayAsk } from "../../kernel/endpoints/may-ask.ts"
import { isClosed, open_status_conditions, opportunities } from "../../orders/opportunities/tables/index.ts"
import { products } from "../../products/products/schema.ts"

// Details of units: reasons for being out of service, and suppliers.

/** Reasons by id of the service record. */
export type ServiceReasons = ReadonlyMap<
  number,
  {
    readonly reason: string | null
    /** Order that the stock came back from. */
    readonly opportunity_id: number | null
  }
>
export const serviceReasons = Effect.fnUntraced(function* (
  entries: ReadonlyArray<OutOfService>,
  viewer: Viewer
): Store.Reads<ServiceReasons> {
  if (entries.length === 0 || !columnsSeen(service_records, viewer)("reason")) return new Map()
  return yield* referredRows(service_records, entries, "service_record_id")
})

export interface Supplied {
  readonly name: string | null
  readonly purchase_order: { readonly id: number; readonly number: string | null }
  /** Time it is due back at the supplier, which is the end of its stock level. */
  readonly due_back_at: string | null
}
/** Suppliers by id of the stock level. */
export const suppliedBy = Effect.fnUntraced(function* (
  units: ReadonlyArray<StockLevelRow>,
  viewer: Viewer
): Store.Reads<ReadonlyMap<number, Supplied>> {
  const sub_hired = units.filter((unit) => unit.is_sub_hired && unit.purchase_order_item_id !== null)
  const sees = columnsSeen(purchase_orders, viewer)
  if (sub_hired.length === 0 || !sees("supplier_id")) return new Map()
  const rows = yield* referredRows(purchase_order_items, sub_hired, "purchase_order_item_id")
  const orders = yield* referredRows(purchase_orders, [...rows.values()], "purchase_order_id")
  const suppliers = columnsSeen(members, viewer)("name")
    ? yield* Store.pickMany(
        members,
        ["id", "name"],
        [...orders.values()].flatMap(({ supplier_id }) => supplier_id ?? [])
      )
    : []
  const names = new Map(suppliers.map((row) => [row.id, row.name]))
  return new Map(
    sub_hired.flatMap((unit) => {
      const order = orders.get(rows.get(unit.purchase_order_item_id ?? 0)?.purchase_order_id ?? 0)
      if (order === undefined) return []
      return [
        [
          unit.id,
          {
            name: names.get(order.supplier_id ?? 0) ?? null,
            purchase_order: { id: order.id, number: order.number },
            due_back_at: unit.ends_at
          }
        ] as const
      ]
    })
  )
})

// Ranks how well a row matches a search. Pure.

interface Sought {
  /** The given text, trimmed. */
  readonly text: string
  readonly words: ReadonlyArray<string>
  /** Words with accents as an index may hold them, by the word without accents. */
  readonly kept: ReadonlyMap<string, string>
  /** Last digits of a telephone number, so that `+44 7700 …` finds `07700 …`; undefined for other texts. */
  readonly phone: string | undefined
  /** Document numbers that the text may mean. */
  readonly numbers: ReadonlyArray<string>
}
/** Minimum digits of a telephone number, and how many of its last ones are compared. */
const phone_digits_min = 6
const phone_digits_told_by = 9

/** Prepares a search text for matching. `prefixes`: of document numbers, as users may omit them. */
export const soughtIn = (given: string, prefixes: ReadonlyArray<string> = []): Sought => {
  const text = given.trim()
  const digits = compacted(text)
  return {
    text,
    words: searchWords(text),
    kept: keptWords(text),
    numbers: numberForms(text, prefixes),
    phone: /^\d+$/.test(digits) && digits.length >= phone_digits_min ? digits.slice(-phone_digits_told_by) : undefined
  }
}

/**
 * Rank of a match, best first. 0: equals a code or number; 1: begins a text, as whole words; 2: begins a text; 3: every
 * word begins a word of the texts; 4: contains every word.
 */
type Closeness = 0 | 1 | 2 | 3 | 4
interface Match<R extends AnyRow = AnyRow> {
  readonly row: R
  readonly closeness: Closeness
}

/** Rank of a row, by columns its reader may see; undefined if it does not match. */
const closenessOf = (
  table: Table,
  row: AnyRow,
  { numbers, text, words }: Sought,
  codes: ReadonlyArray<string>,
  visible: (column: string) => boolean
): Closeness | undefined => {
  if (table.searched === undefined) return undefined
  const folded = foldForSearch(text)
  const is_code = codes.some((name) => {
    const value = row[name]
    return visible(name) && typeof value === "string" && (foldForSearch(value) === folded || numbers.includes(value))
  })
  if (is_code) return 0
  const found_in = searchedTextOf(table.searched, row, visible)
  const texts = found_in.split("\n")
  const begin_so = texts.filter((one) => one.startsWith(folded))
  if (begin_so.length > 0) return begin_so.some((one) => !/^[\p{L}\p{N}]/u.test(one.slice(folded.length))) ? 1 : 2
  if (!words.every((word) => found_in.includes(word))) return undefined
  const begun = texts.flatMap((one) => one.split(/[^\p{L}\p{N}]+/u))
  return words.every((word) => begun.some((one) => one.startsWith(word))) ? 3 : 4
}

/** Sorts matches by rank, then rows in use, goods before cases, and newest first. */
const inOrderOfCloseness =
  <R extends AnyRow>(isInUse: (row: R) => boolean, isCase: (row: R) => boolean) =>
  (one: Match<R>, other: Match<R>): number =>
    one.closeness - other.closeness ||
    Number(isInUse(other.row)) - Number(isInUse(one.row)) ||
    Number(isCase(one.row)) - Number(isCase(other.row)) ||
    Number(other.row["id"]) - Number(one.row["id"])

// Reads matching rows: a fixed number of queries for each kind, for any number of rows.

/** Maximum rows read per kind and condition; if more match, the newest. */
export const candidates_max = 200

const notDeleted = (table: Table): string => (table.soft_delete ? ` and ${quote("deleted_at")} is null` : "")

/** Columns for ranking and sorting, by kind; complete rows are read only for the result. */
const looked_at = new WeakMap<SearchKindRules, string>()
const columnsLookedAt = (rules: SearchKindRules): string => {
  let list = looked_at.get(rules)
  if (list === undefined) {
    const { columns = [], compact = [] } = rules.table.searched ?? {}
    const names = new Set([rules.table.key, ...columns, ...compact, ...rules.codes, ...rules.in_use])
    looked_at.set(rules, (list = columnsNamed([...names])))
  }
  return list
}

const rowsWhere = (
  store: StoreShape,
  rules: SearchKindRules,
  condition: string,
  { values }: Bindings,
  rows_max = candidates_max
): StoreRead<ReadonlyArray<AnyRow>> => {
  const { table } = rules
  return Effect.map(
    store.run(
      `select ${columnsLookedAt(rules)} from ${quote(table.name)} where (${condition})${notDeleted(table)} ` +
        `order by ${quote(table.key)} desc limit ${rows_max}`,
      values
    ),
    (rows) => rows.map((row): AnyRow => store.decode(table, row))
  )
}

/**
 * Rows with exactly this code or number. Each column is looked up in its own index: for conditions joined by `or`,
 * SQLite misjudges columns that are mostly null, and scans the table.
 */
const byCode = ({ codes, numbered, table }: SearchKindRules, { numbers, text }: Sought, { bind }: Bindings): string => {
  const key = quote(table.key)
  const having = codes.map((name) => {
    const field = table.columns[name]
    const is_folded = field !== undefined && isSearchable(field) && isIndexed(table, caseFoldedName(name))
    const forms_of_number = name !== numbered ? [] : is_folded ? numbers.map(foldCase) : numbers
    const forms = [...(is_folded ? [foldCase(text)] : codeForms(text)), ...forms_of_number]
    const column = quote(is_folded ? caseFoldedName(name) : name)
    return `select ${key} from ${quote(table.name)} where ${column} in (${forms.map(bind).join(", ")})`
  })
  return `${key} in (${having.join(" union all ")})`
}
const isIndexed = (table: Table, column: string): boolean => table.indexes.some(([first]) => first === column)

/** Condition for words too short for the index of word parts: a column that begins with the first word. */
const byBeginning = (
  { begins }: SearchKindRules,
  words: ReadonlyArray<string>,
  { bind }: Bindings
): string | undefined => {
  const [word] = words
  if (begins === undefined || word === undefined) return undefined
  const column = quote(caseFoldedName(begins))
  return `${column} >= ${bind(word)} and ${column} < ${bind(`${word}\u{10ffff}`)}`
}

/** Rows of one kind that may match, by code or by words; the caller ranks them. */
const candidatesOf = Effect.fnUntraced(function* (rules: SearchKindRules, sought: Sought) {
  const store = yield* Store
  const { table } = rules
  const coded = bindings(store.dialect)
  const by_code = rules.codes.length === 0 ? [] : yield* rowsWhere(store, rules, byCode(rules, sought, coded), coded)
  const worded = bindings(store.dialect)
  const options = { limit: candidates_max, bind: worded.bind, kept: sought.kept }
  const match = matchSql(table, store.dialect, sought.words, options)
  const condition = match?.sql ?? byBeginning(rules, sought.words, worded)
  const found = condition === undefined ? [] : yield* rowsWhere(store, rules, condition, worded, match?.rows_max)
  // A shorter list is whole, and its ranking leaves out rows without the words.
  const is_cut = match !== undefined && found.length >= candidates_max
  const by_words = (is_cut ? found.filter(match.holds) : found).slice(0, candidates_max)
  return {
    rows: [...new Map([...by_code, ...by_words].map((row) => [row["id"], row])).values()],
    is_more: by_words.length >= candidates_max
  }
})

/** Ids of members by contact: an e-mail address with the words, or a telephone number with these last digits. */
const memberIdsByContact = Effect.fnUntraced(function* ({ kept, phone, words }: Sought) {
  const store = yield* Store
  const ids = (table: typeof emails | typeof phones, sought: ReadonlyArray<string>) => {
    const bound = bindings(store.dialect)
    const match = matchSql(table, store.dialect, sought, { limit: candidates_max, bind: bound.bind, kept })
    return match === undefined
      ? Effect.succeed([])
      : Effect.map(
          store.run<{ member_id: number }>(
            `select distinct member_id from ${quote(table.name)} where ${match.sql}`,
            bound.values
          ),
          (rows) => rows.map(({ member_id }) => Number(member_id))
        )
  }
  return { by_email: yield* ids(emails, words), by_phone: phone === undefined ? [] : yield* ids(phones, [phone]) }
})

type Caller = Pick<Input, "viewer">
interface Found {
  readonly matches: ReadonlyArray<Match>
  /** Whether more rows match than were returned. */
  readonly is_more: boolean
}
export type FoundByKind = ReadonlyMap<SearchKind, Found>

/** Whether a row is still in use; such rows come before others of the same rank. */
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
): Store.Reads<Found> {
  const { is_more, rows } = yield* candidatesOf(rules, sought)
  const sees = columnsSeen(rules.table, viewer)
  const matches = rows.flatMap((row) => {
    const closeness = closenessOf(rules.table, row, sought, rules.codes, sees)
    return closeness === undefined ? [] : [{ row, closeness }]
  })
  const reached = rules.kind === "members" ? yield* reachedBy(sought, matches) : []
  const cases = rules.kind === "units" ? yield* casesAmong(matches) : new Set()
  const isCase = (row: AnyRow): boolean => row["is_containerable"] === true || cases.has(row["product_id"])
  const all = [...matches, ...reached].sort(inOrderOfCloseness(isInUse(rules.kind), isCase))
  return { matches: yield* whole(rules.table, all.slice(0, limit)), is_more: is_more || all.length > limit }
})
/** Ids of these units' products that are cases. Only needed to rank units of different products. */
const casesAmong = Effect.fnUntraced(function* (matches: ReadonlyArray<Match>): Store.Reads<ReadonlySet<unknown>> {
  const product_ids = [...new Set(matches.map(({ row }) => Number(row["product_id"])))]
  if (product_ids.length < 2) return new Set()
  const found = yield* Store.pickMany(products, ["id", "is_containerable"], product_ids)
  return new Set(found.flatMap((one) => (one.is_containerable ? [one.id] : [])))
})
/** Reads the complete rows of the matches in the result. */
const whole = Effect.fnUntraced(function* (
  table: Table,
  matches: ReadonlyArray<Match>
): Store.Reads<ReadonlyArray<Match>> {
  const rows = yield* Store.getMany(
    table,
    matches.map(({ row }) => Number(row[table.key]))
  )
  const by_id = new Map(rows.map((row): [unknown, AnyRow] => [row[table.key], row]))
  return matches.flatMap(({ closeness, row: { [table.key]: id } }) => {
    const row = by_id.get(id)
    return row === undefined ? [] : [{ row, closeness }]
  })
})

/** Members found only by an e-mail address or telephone number; users who may list members may see both. */
const reachedBy = Effect.fnUntraced(function* (sought: Sought, known: ReadonlyArray<Match>) {
  const { by_email, by_phone } = yield* memberIdsByContact(sought)
  const there = new Set(known.map(({ row }) => row["id"]))
  const rows = (yield* Store.pickMany(members, ["id", "is_active", "deleted_at"], [...by_phone, ...by_email])).filter(
    (row) => row.deleted_at === null && !there.has(row.id)
  )
  return rows.map((row): Match => ({ row, closeness: by_phone.includes(row.id) ? 1 : 3 }))
})

/** Open orders of this many best matching members are included. */
const members_with_orders_max = 5
const ordersOf = Effect.fnUntraced(function* (found: Found, orders: Found, limit: number): Store.Reads<Found> {
  const member_id = found.matches.slice(0, members_with_orders_max).map(({ row }) => Number(row["id"]))
  if (member_id.length === 0 || orders.matches.length >= limit) return orders
  const open = yield* Effect.forEach(open_status_conditions, ({ state, status }) =>
    Store.find(
      opportunities,
      { member_id, deleted_at: null, state: Number(state), status: status ?? null },
      { order: ["-starts_at"], limit: limit + 1 }
    )
  )
  const there = new Set(orders.matches.map(({ row }) => row["id"]))
  const theirs = open
    .flat()
    .filter((row) => !there.has(row.id))
    .map((row): Match => ({ row, closeness: 4 }))
  const all = [...orders.matches, ...theirs]
  return { matches: all.slice(0, limit), is_more: orders.is_more || all.length > limit }
})

/** Matches of each of the kinds that the caller may list, at most `limit` rows per kind. */
export const findAll = Effect.fnUntraced(function* (
  sought: Sought,
  caller: Caller,
  { kinds, limit }: { readonly kinds: ReadonlyArray<SearchKindRules>; readonly limit: number }
): CommandRuntime.Reads<FoundByKind> {
  const { catalogue } = yield* CommandRuntime
  const found = new Map<SearchKind, Found>()
  for (const rules of kinds)
    if (mayAsk(catalogue, rules.list, caller.viewer))
      found.set(rules.kind, yield* foundOf(rules, sought, caller, limit))
  const [people, orders] = [found.get("members"), found.get("orders")]
  if (people !== undefined && orders !== undefined) found.set("orders", yield* ordersOf(people, orders, limit))
  return found
})

/** Matches of one kind, typed as rows of its table. */
export const rowsFound = <T extends Table>(
  found: FoundByKind,
  kind: SearchKind,
  _table: T
): ReadonlyArray<Match<RowOf<T> & AnyRow>> =>
  (found.get(kind)?.matches ?? []) as ReadonlyArray<Match<RowOf<T> & AnyRow>>

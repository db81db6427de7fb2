/** Reading the rows that answer what somebody looks for: two queries for each kind, however many rows there are. */
import { Effect } from "effect"
import type { StoreRead } from "../kernel/endpoint.ts"
import { matchSql } from "../kernel/store/search-index.ts"
import { type Bindings, bindings, columnsNamed, quote } from "../kernel/store/statement.ts"
import { Store, type StoreShape } from "../kernel/store/store.ts"
import { type AnyRow, caseFoldedName, foldCase, isSearchable, type Table } from "../kernel/table.ts"
import { emails, phones } from "../members/schema.ts"
import type { SearchKindRules } from "./kinds.ts"
import { codeForms } from "../scanning/read-code.ts"
import { numberForms } from "../values/short-text.ts"
import type { Sought } from "./matches.ts"

/** Rows of one kind that are looked at: of more, the newest. */
export const candidates_max = 200

const notDeleted = (table: Table): string => (table.soft_delete ? ` and ${quote("deleted_at")} is null` : "")

/** What rows are matched and put in order by; those that are shown are read whole. */
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
  { values }: Bindings
): StoreRead<ReadonlyArray<AnyRow>> => {
  const { table } = rules
  return Effect.map(
    store.run(
      `select ${columnsLookedAt(rules)} from ${quote(table.name)} where (${condition})${notDeleted(table)} ` +
        `order by ${quote(table.key)} desc limit ${candidates_max}`,
      values
    ),
    (rows) => rows.map((row): AnyRow => store.decode(table, row))
  )
}

/**
 * A code or a number is just this, whatever its length. Each column is looked up in its own index: joined by `or`,
 * SQLite takes a column that is null nearly everywhere for one that finds nearly everything, and reads the whole table.
 */
const byCode = ({ codes, numbered, table }: SearchKindRules, { text }: Sought, { bind }: Bindings): string => {
  const key = quote(table.key)
  const having = codes.map((name) => {
    const field = table.columns[name]
    const is_folded = field !== undefined && isSearchable(field) && isIndexed(table, caseFoldedName(name))
    const forms = [...(is_folded ? [foldCase(text)] : codeForms(text)), ...(name === numbered ? numberForms(text) : [])]
    const column = quote(is_folded ? caseFoldedName(name) : name)
    return `select ${key} from ${quote(table.name)} where ${column} in (${forms.map(bind).join(", ")})`
  })
  return `${key} in (${having.join(" union all ")})`
}
const isIndexed = (table: Table, column: string): boolean => table.indexes.some(([first]) => first === column)

/** Short words are in no index of parts: they are found where a name begins with them. */
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

/** Candidates of one kind: rows with the code, and rows that hold the words; the caller looks closer. */
export const candidatesOf = Effect.fnUntraced(function* (rules: SearchKindRules, sought: Sought) {
  const store = yield* Store
  const { table } = rules
  const coded = bindings(store.dialect)
  const by_code = rules.codes.length === 0 ? [] : yield* rowsWhere(store, rules, byCode(rules, sought, coded), coded)
  const worded = bindings(store.dialect)
  const condition =
    matchSql(table, store.dialect, sought.words, { limit: candidates_max, bind: worded.bind, kept: sought.kept }) ??
    byBeginning(rules, sought.words, worded)
  const by_words = condition === undefined ? [] : yield* rowsWhere(store, rules, condition, worded)
  return {
    rows: [...new Map([...by_code, ...by_words].map((row) => [row["id"], row])).values()],
    is_more: by_words.length >= candidates_max
  }
})

/** Members by what they are reached by: an address with the words, or the end of a telephone number. */
export const memberIdsByContact = Effect.fnUntraced(function* ({ kept, phone, words }: Sought) {
  const store = yield* Store
  const ids = (table: typeof emails | typeof phones, sought: ReadonlyArray<string>) => {
    const bound = bindings(store.dialect)
    const condition = matchSql(table, store.dialect, sought, { limit: candidates_max, bind: bound.bind, kept })
    return condition === undefined
      ? Effect.succeed([])
      : Effect.map(
          store.run<{ member_id: number }>(
            `select distinct member_id from ${quote(table.name)} where ${condition}`,
            bound.values
          ),
          (rows) => rows.map(({ member_id }) => Number(member_id))
        )
  }
  return { by_email: yield* ids(emails, words), by_phone: phone === undefined ? [] : yield* ids(phones, [phone]) }
})

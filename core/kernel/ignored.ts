/** What of a query string a list does not offer and therefore leaves out of account: named in `meta.ignored`. */
import type { JsonObject } from "./json.ts"
import { includesOf, type Query, snakeCase, splitPredicate, valueOf } from "./query.ts"
import type { Includes } from "./resource-types.ts"

/** What a list makes of a query string. */
export interface Offered {
  /** Whether it filters by this field, as `q[<field>_<predicate>]` names it. */
  readonly filters: (field: string) => boolean
  /** Whether the order asked for, if any, is one of its own. */
  readonly is_sorted: boolean
  readonly includes: Includes
  /** A saved view is applied: its columns take the place of includes. */
  readonly has_view?: boolean
}

/** Parts of the query as it came, without filters' values: `q[colour_eq]`, `sort=colour`, `include=colour`. */
export const ignoredOf = (query: Query, { filters, has_view, includes, is_sorted }: Offered): ReadonlyArray<string> => {
  const ignored: Array<string> = []
  for (const [key] of query) {
    if (key !== "q" && !key.startsWith("q[")) continue
    if (isAlternativeSort(key)) continue
    const name = /^q\[([^[\]]+)\](\[\d*\])?$/.exec(key)?.[1]
    const split = name === undefined ? undefined : splitPredicate(name)
    if (split === undefined || !filters(split.name)) ignored.push(key)
  }
  const sort = sortAsked(query)
  if (sort !== undefined && !is_sorted) ignored.push(`sort=${sort}`)
  for (const name of includesOf(query)) {
    const [first = ""] = name.split(".")
    if (has_view === true || !Object.keys(includes).some((one) => one === first || snakeCase(one) === first))
      ignored.push(`include=${name}`)
  }
  return [...new Set(ignored)]
}
const isAlternativeSort = (key: string): boolean => key === "q[s]" || key === "q[s][]" || key === "q[s][0]"
const sortAsked = (query: Query): string | undefined => {
  const sort = valueOf(query, "sort") ?? query.find(([key]) => isAlternativeSort(key))?.[1]
  return sort === undefined || sort.trim() === "" ? undefined : sort
}

/** As a part of `meta`: absent where nothing was ignored. */
export const ignoredMeta = (ignored: ReadonlyArray<string>): JsonObject => (ignored.length === 0 ? {} : { ignored })

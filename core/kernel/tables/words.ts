/** Names of declarations in sentences of descriptions. */
import { spokenNumber } from "../../values/text.ts"
import type { Table } from "./table.ts"

/** "a user" and "a unit" sound otherwise than they are written. */
export const articleOf = (words: string): string => (/^([aeio]|u(?!ser|ni))/.test(words) ? "an" : "a")
export const capitalised = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)
/** A name in words, or the name of one row of a table: "activity participant". */
export const wordsOf = (named: string | Pick<Table, "entity">): string =>
  (typeof named === "string" ? named : named.entity).replaceAll("_", " ")
/** A row as people name it: `order 12 Own gig`, `product Lamp`; by its id where it has no name, or lacks its number. */
export const rowWords = (
  table: Table,
  {
    key,
    name,
    number = null
  }: { readonly key: string | number; readonly name: string | null; readonly number?: string | null }
): string => {
  const spoken = number === null ? undefined : spokenNumber(number)
  const by =
    spoken ?? ("number" in table.columns || name === null ? (typeof key === "number" ? `id ${key}` : key) : undefined)
  return [table.word, by, name === number ? undefined : name]
    .filter((one) => one !== undefined && one !== null)
    .join(" ")
}
/** "an activity participant" */
export const oneOf = (table: Pick<Table, "entity">): string => `${articleOf(wordsOf(table))} ${wordsOf(table)}`

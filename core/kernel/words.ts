/** Words for what is declared, in sentences of descriptions. */
import type { Table } from "./table.ts"

/** "a user" and "a unit" sound otherwise than they are written. */
export const articleOf = (words: string): string => (/^([aeio]|u(?!ser|ni))/.test(words) ? "an" : "a")
export const capitalised = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)
/** A name as people read it, or what one row of a table is called: "activity participant". */
export const wordsOf = (named: string | Pick<Table, "entity">): string =>
  (typeof named === "string" ? named : named.entity).replaceAll("_", " ")
/** "an activity participant" */
export const oneOf = (table: Pick<Table, "entity">): string => `${articleOf(wordsOf(table))} ${wordsOf(table)}`

/** Words for what is declared, in sentences of descriptions. */
import type { Table } from "./table.ts"

/** "a user" and "a unit" sound otherwise than they are written. */
export const articleOf = (words: string): string => (/^([aeio]|u(?!ser|ni))/.test(words) ? "an" : "a")
export const capitalised = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)
/** What one row of a table is called: "activity participant". */
export const wordsOf = (table: Pick<Table, "entity">): string => table.entity.replaceAll("_", " ")
/** "an activity participant" */
export const oneOf = (table: Pick<Table, "entity">): string => `${articleOf(wordsOf(table))} ${wordsOf(table)}`

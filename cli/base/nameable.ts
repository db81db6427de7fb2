/** Names that users may use for rows instead of ids, as declared by resources. */
import { catalogue } from "../../core/catalogue.ts"
import type { Catalogue, Query } from "../../core/kernel/index.ts"

export interface NameableTable {
  /** Word for a single row in messages. */
  readonly word: string
  readonly path: string
  readonly plural: string
  /** Columns with names of a row, in the order of search. */
  readonly by: ReadonlyArray<string>
  /** Filter for rows in use, if earlier rows may have the same name. */
  readonly in_use?: Query
}

type Named = Pick<Catalogue, "endpoints" | "resources">
const nameableIn = ({ endpoints, resources }: Named): ReadonlyArray<readonly [table: string, NameableTable]> =>
  resources.flatMap(({ called, plural, table: { name, word } }) => {
    const list = endpoints.find((endpoint) => endpoint.name === `${plural}.list`)
    return called === undefined || list === undefined ? [] : [[name, { ...called, word, path: list.path, plural }]]
  })
/** Tables whose rows users can name, by table. */
export const nameable_tables = new Map<string, NameableTable>(nameableIn(catalogue))
/** Adds tables of server-only resources, once their endpoints are loaded. */
export const alsoNameable = (of_server: Named): void => {
  for (const [table, how] of nameableIn(of_server)) nameable_tables.set(table, how)
}
export const isNameableTable = (table: string): boolean => nameable_tables.has(table)

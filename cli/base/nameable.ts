/** Names that users may use for rows instead of ids, as declared by resources. */
import { catalogue } from "../../core/catalogue.ts"
import type { Catalogue } from "../../core/kernel/endpoints/endpoint.ts"
import type { Query } from "../../core/kernel/lists/query.ts"

export interface NameableTable {
  /** Users' word for one row. */
  readonly word: string
  readonly path: string
  readonly plural: string
  /** Columns that name a row, in the order they are tried. */
  readonly by: ReadonlyArray<string>
  /** A filter for rows in use, where earlier rows may have had the same name. */
  readonly in_use?: Query
}

type Named = Pick<Catalogue, "endpoints" | "resources">
const nameableIn = ({ endpoints, resources }: Named): ReadonlyArray<readonly [table: string, NameableTable]> =>
  resources.flatMap(({ called, plural, table: { name, word } }) => {
    const list = endpoints.find((endpoint) => endpoint.name === `${plural}.list`)
    return called === undefined || list === undefined ? [] : [[name, { ...called, word, path: list.path, plural }]]
  })
/** Tables whose rows users can name, by table name. */
export const nameable_tables = new Map<string, NameableTable>(nameableIn(catalogue))
/** Server-only rows have names as well, once their endpoints are loaded. */
export const alsoNameable = (of_server: Named): void => {
  for (const [table, how] of nameableIn(of_server)) nameable_tables.set(table, how)
}
export const isNameableTable = (table: string): boolean => nameable_tables.has(table)

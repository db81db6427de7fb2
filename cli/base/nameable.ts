/** Names that users may use for rows instead of ids, as declared by resources. */
import { catalogue } from "../../core/catalogue.ts"
import type { Catalogue, Query, Resource } from "../../core/kernel/index.ts"

/** The first resource that `holds`, among those loaded, or else among all. */
export const resourceWhere = (holds: (resource: Resource) => boolean): Resource | undefined =>
  catalogue.loaded.resources.find(holds) ?? catalogue.resources.find(holds)

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
type NamedTables = ReadonlyMap<string, NameableTable>
const nameableIn = ({ endpoints, resources }: Named): NamedTables =>
  new Map(
    resources.flatMap(({ called, plural, table: { name, word } }) => {
      const list = endpoints.find((endpoint) => endpoint.name === `${plural}.list`)
      return called === undefined || list === undefined
        ? []
        : [[name, { ...called, word, path: list.path, plural }] as const]
    })
  )
let of_server: NamedTables = new Map()
/** Adds tables of server-only resources, once their endpoints are loaded. */
export const alsoNameable = (named: Named): void => {
  of_server = nameableIn(named)
}
const known = new WeakMap<Catalogue, NamedTables>()
const namedIn = (loaded: Catalogue): NamedTables => {
  const tables = known.get(loaded) ?? nameableIn(loaded)
  known.set(loaded, tables)
  return tables
}
const isTableOf = ({ resources }: Catalogue, table: string): boolean =>
  resources.some((one) => one.table.name === table)
/** How users name rows of a table; undefined if they cannot. */
export const nameableTable = (table: string): NameableTable | undefined =>
  of_server.get(table) ?? namedIn(isTableOf(catalogue.loaded, table) ? catalogue.loaded : catalogue.whole).get(table)
/** All tables whose rows users can name. */
export const nameableTables = (): NamedTables => new Map([...namedIn(catalogue.whole), ...of_server])

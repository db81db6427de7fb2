/** Table declarations: columns, indexes, and constraints enforced by the database. */
import type { ColumnValues, Field, Fields, JsonObject, ReferenceRule, ValuesOf } from "../fields/field.ts"
import { id as idField, timestamp } from "../fields/field.ts"
import type { Viewer } from "../fields/rejection.ts"
import { spokenNumber } from "../../values/text.ts"

/** A row's key: an id, or text for tables with their own key. */
export type Key = number | string

interface Unique {
  readonly columns: ReadonlyArray<string>
  /** The input field of the error, and the message of the 422. */
  readonly field: string
  readonly message: string
  /** SQL condition of the rows that count; by default all do. */
  readonly where?: string
}
/** A partial index: rows outside it cost nothing to write. */
interface PartialIndex {
  readonly columns: ReadonlyArray<string>
  /** SQL condition that begins with a column's name. */ readonly where: string
}
/**
 * Texts by which users find rows: any part of a word, ignoring case and accents. The database maintains the index in
 * the transaction that writes the rows, so rebuilds, merges and erasures need no extra code.
 */
interface SearchedTexts {
  readonly columns: ReadonlyArray<string>
  /** Columns that can also be found without blanks and signs: telephone numbers. */
  readonly compact?: ReadonlyArray<string>
  /** No person's erasure reaches these texts: deleted ones may stay in SQLite's index (see `dropDeletedTexts`). */
  readonly never_erased?: true
}
/** Two rows with `active` true and the same key may not overlap in [from, to). */
interface NoOverlap {
  readonly name: string
  readonly key: string
  readonly from: string
  readonly to: string
  readonly active: string
}

/** Options of a table declaration. */
interface TableTraits {
  /** Singular name, the prefix of streams and event types. Default: the name without its last letter. */
  readonly entity: string
  readonly soft_delete: boolean
  readonly indexes: ReadonlyArray<ReadonlyArray<string>>
  readonly partial_indexes: ReadonlyArray<PartialIndex>
  readonly uniques: ReadonlyArray<Unique>
  readonly no_overlap: ReadonlyArray<NoOverlap>
  readonly searched: SearchedTexts | undefined
  /** Columns by which a server keeps counts of the live rows: with few values each, for tables that grow for years. */
  readonly counted_by: ReadonlyArray<string>
  readonly stream: RowStream | undefined
  /** Few rows, rarely changed, read by many responses: a server may cache them. */
  readonly reference: boolean
  /** Inserting an existing key keeps the stored row: for records of events that may repeat. */
  readonly on_conflict_ignore: boolean
  /** Who sees which rows and columns. Default: only users who may see everything. */
  readonly visibility: Visibility | undefined
  /** References that columns cannot declare, as the table depends on another column. */
  readonly references: ReadonlyArray<ReferenceByType>
  readonly merged_by: MergedBy | undefined
  /**
   * Columns that name a row in messages: the first with a value counts; for a reference, the name of that row. Default:
   * `name`, if there is such a column.
   */
  readonly named_by: ReadonlyArray<string>
  /** Word for a row in messages, if not the entity's name. */
  readonly word: string
  /**
   * Ids that a device leases at once; it goes offline with at least half of them, enough for an evening of quotes and
   * packing. Default 50, for rows rarely created in the field.
   */
  readonly lease_block_size: number
  readonly occupancy: Occupancy | undefined
  /** Internal columns, hidden when changes of a row are displayed. */
  readonly bookkeeping: ReadonlyArray<string>
  /** Rows that detail changes of other rows, such as a ledger: devices report differences in those alone. */
  readonly is_detail: boolean
  /** Derived columns: a change of them is no change by a user. */
  readonly follows: ReadonlyArray<string>
  /**
   * Instants whose date matters to users: a warning is given if the server's clock gives another date than the
   * device's.
   */
  readonly days: ReadonlyArray<string>
  /** Columns concerned when a field of another name is refused: `{ state: ["status"] }`. */
  readonly refused_as: { readonly [field: string]: ReadonlyArray<string> }
  /** Its events may change permissions, so streaming readers of the journal are authorized again after one. */
  readonly changes_reader: boolean
  /** Set if rows name files. Both `uuid` and `sha256` need an index. */
  readonly file: FileColumns | undefined
  /** Events of its rows are in the stream of the row that `references` name, and are erased with it. */
  readonly in_streams_of_references: boolean
  /** The lock of a row's stream locks the row as well, so that `lockRows` can lock any number of them (Postgres). */
  readonly locked_by_row: boolean
}
export interface Table<F extends Fields = Fields> extends TableTraits {
  readonly name: string
  /** All columns, including the key and stamps. */
  readonly columns: F
  readonly key: string
}
/**
 * Columns by which a row names a file: signed URLs use the uuid. Its content is stored separately, by its SHA-256, as
 * long as a row names it; rows marked as deleted do not count.
 */
export interface FileColumns {
  readonly uuid: string
  readonly sha256: string
  readonly name: string
  readonly mime_type: string
  readonly size_bytes: string
}
/**
 * Rows of the table hold something exclusively for a time. When a command is refused because it requested the same, the
 * conflict names these rows as the reason. All but `wanted` are columns of the table.
 */
export interface Occupancy {
  /** Boolean: whether the row holds it now. */
  readonly active: string
  /** Reference to the single thing it holds; null if it holds a quantity of a kind. */
  readonly thing: string
  /** The reference to the kind of thing. */
  readonly kind: string
  readonly quantity: string
  readonly from: string
  readonly to: string
  /** References to the holder, the row it is held for; the first that is not null counts. */
  readonly holders: ReadonlyArray<string>
  /**
   * Rows of `table` request things of the kind in their column `kind`, for the holder in their column `holder`.
   * `field`: error key of a refusal for a shortage.
   */
  readonly wanted: { readonly field: string; readonly table: string; readonly holder: string; readonly kind: string }
}
/**
 * The event that merges one row into another. `from` and `into`: keys of its data; `doubled`: key of the holders it
 * deletes, by table (`merge_once_per`).
 */
export interface MergedBy {
  readonly event: string
  readonly from: string
  readonly into: string
  readonly doubled?: string
}
/** `column` names a row of `table` while the `where` columns have these values. */
interface ReferenceByType {
  readonly column: string
  readonly where: ColumnValues
  readonly table: string
  readonly rule: ReferenceRule
}
/** Stream of the rows' events, if not their own: that of the row in their `column`. */
interface RowStream {
  readonly entity: string
  readonly column: string
}
export type RowOf<T extends Table> = ValuesOf<T["columns"]>
export type AnyRow = JsonObject
/**
 * The columns that are present. Of a generic table TypeScript does not know that optional columns are absent, never
 * undefined (`exactOptionalPropertyTypes`).
 */
export const present = (columns: Partial<AnyRow>): AnyRow => columns as AnyRow
/** The key of a row, which every row has, with the type that tables declare keys with. */
export const keyOf = (table: Table, row: AnyRow): Key => row[table.key] as Key
/** A row of a table known at run time only, of those that have ids. */
export const withId = (row: AnyRow): AnyRow & { readonly id: number } => ({ ...row, id: Number(row["id"]) })

/**
 * Any of these permissions is enough; `members.*` means any of the area except `access`, which opens a page but no
 * data.
 */
export type Audience = "everyone" | ReadonlyArray<string>
interface GrantedColumns {
  readonly to: Audience
  readonly columns: ReadonlyArray<string>
}
export interface Visibility {
  /** Users who see full rows through endpoints. */
  readonly all_columns: Audience
  /** Columns that rules and responses about other rows need, besides the key, creation time and deletion flag. */
  readonly granted_columns?: ReadonlyArray<GrantedColumns>
  /** Rows that belong to a user, or are hidden from them, by key. */
  readonly by_key?: (key: Key, viewer: Viewer) => "whole" | "none" | undefined
  /**
   * Responses about other rows show single rows of this table to users who may not see it. Only the server can do so,
   * as the other rows decide which ones are visible.
   */
  readonly shown_by_reference?: true
  /** Row-level visibility: all or nothing. Events of such tables contain full rows. */
  readonly by_row?: (row: AnyRow, viewer: Viewer) => boolean
  /** Columns that `by_row` reads, if few: changes of many rows at once include them. */
  readonly says_by?: ReadonlyArray<string>
}
export type Stamped = {
  readonly id: Field<number>
  readonly created_at: Field<string>
  readonly updated_at: Field<string>
  readonly deleted_at: Field<string | null>
}
/** Texts in custom fields are folded too, as they have the same filters as columns. */
const searchableDocument = (name: string, field: Field): Field =>
  name === "custom_fields" && field.type.kind === "json" ? { ...field, type: { ...field.type, search: true } } : field
const stamps = { created_at: timestamp({ computed: true }), updated_at: timestamp({ computed: true }) } as const

const defaults: Omit<TableTraits, "entity" | "named_by" | "word"> = {
  soft_delete: false,
  indexes: [],
  partial_indexes: [],
  uniques: [],
  no_overlap: [],
  searched: undefined,
  counted_by: [],
  stream: undefined,
  reference: false,
  on_conflict_ignore: false,
  visibility: undefined,
  references: [],
  merged_by: undefined,
  lease_block_size: 50,
  occupancy: undefined,
  bookkeeping: [],
  is_detail: false,
  follows: [],
  days: [],
  refused_as: {},
  changes_reader: false,
  file: undefined,
  in_streams_of_references: false,
  locked_by_row: false
}

/** Names of the tables whose rows are locked with their streams, by entity. */
export const tables_locked_by_row = new Map<string, string>()

/** A table with its own key and only these columns. */
export const plainTable = <F extends Fields>(
  name: string,
  key: keyof F & string,
  columns: F,
  options: Partial<TableTraits> = {}
): Table<F> => {
  const { entity = name.slice(0, -1) } = options
  if (options.locked_by_row === true) tables_locked_by_row.set(entity, name)
  const named_by = "name" in columns ? ["name"] : []
  return { ...defaults, entity, named_by, word: entity.replaceAll("_", " "), ...options, name, key, columns }
}

/** The fields that are columns. Mostly all: their object is used as it is, as every process declares every table. */
const storedFields = <F extends Fields>(fields: F): F => {
  const entries = Object.entries(fields)
  if (entries.every(([column, field]) => !field.input_only && searchableDocument(column, field) === field))
    return fields
  const stored = entries.filter(([, field]) => !field.input_only)
  return Object.fromEntries(stored.map(([column, field]) => [column, searchableDocument(column, field)])) as F
}

/** A table of an entity: `id`, the stored fields, and stamps of creation, change and deletion. */
export const table = <F extends Fields>(
  name: string,
  fields: F,
  options: Partial<TableTraits> = {}
): Table<F & Stamped> => {
  const columns = {
    id: idField(),
    ...storedFields(fields),
    ...stamps,
    deleted_at: timestamp({ computed: true, nullable: true })
  }
  return plainTable(name, "id", columns, options)
}

export const isSearchable = (field: Field): boolean =>
  (field.type.kind === "text" || field.type.kind === "json") && field.type.search === true
/** Name of a searchable column's case-folded column, for filters that ignore case. */
export const caseFoldedName = (column: string): string => `${column}_folded`
/** Lower case of the NFC form, computed here so that both databases agree. */
export const foldCase = (value: string): string => value.normalize("NFC").toLowerCase()
/** Value of the case-folded column: the text, or a document's texts, folded. */
export const caseFoldedValue = (field: Field, value: unknown): unknown =>
  field.type.kind !== "json"
    ? foldCase(String(value))
    : Object.fromEntries(
        Object.entries(value as object).flatMap(([key, one]) => (typeof one === "string" ? [[key, foldCase(one)]] : []))
      )

// Words for tables and fields in generated sentences.

/** "a user", "a unit": the article follows the sound. */
export const articleOf = (words: string): string => (/^([aeio]|u(?!ser|ni))/.test(words) ? "an" : "a")
export const capitalised = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)
/** A name or a table's entity in words: "activity participant". */
export const wordsOf = (named: string | Pick<Table, "entity">): string =>
  (typeof named === "string" ? named : named.entity).replaceAll("_", " ")
/** A row for messages: `order 12 Own gig`, `product Lamp`; by id if it has no name or number. */
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

// Row changes as data: produced by projections, applied in one place, reverted by replicas.

export type Where = { readonly [column: string]: string | number | boolean | null | ReadonlyArray<string | number> }
export type RowChange =
  | { readonly op: "insert"; readonly table: Table; readonly row: AnyRow }
  | { readonly op: "update"; readonly table: Table; readonly key: Key; readonly set: AnyRow }
  | { readonly op: "delete"; readonly table: Table; readonly key: Key }
  | { readonly op: "update_where"; readonly table: Table; readonly where: Where; readonly set: AnyRow }
  | { readonly op: "delete_where"; readonly table: Table; readonly where: Where }

export const insert = <T extends Table>(table: T, row: RowOf<T>): RowChange => ({ op: "insert", table, row })
export const update = <T extends Table>(table: T, key: Key, set: Partial<RowOf<T>>): RowChange => ({
  op: "update",
  table,
  key,
  set: present(set)
})
export const insertRow = (table: Table, row: Partial<AnyRow>, at: string): RowChange => ({
  op: "insert",
  table,
  row: { ...present(row), created_at: at, updated_at: at, deleted_at: null }
})
export const updateRow = (table: Table, key: Key, set: Partial<AnyRow>, at: string): RowChange =>
  update(table, key, { ...present(set), updated_at: at })
export const remove = (table: Table, key: Key): RowChange => ({ op: "delete", table, key })
export const updateWhere = <T extends Table>(table: T, where: Where, set: Partial<RowOf<T>>): RowChange => ({
  op: "update_where",
  table,
  where,
  set: present(set)
})
export const removeWhere = (table: Table, where: Where): RowChange => ({ op: "delete_where", table, where })

/** Tables, declared once: columns, the indexes lists need, and the constraints that the database enforces. */
import type { ColumnValues, Field, Fields, ReferenceRule, ValuesOf } from "../fields/field.ts"
import { id as idField, timestamp } from "../fields/field.ts"
import type { Viewer } from "../fields/rejection.ts"
import { spokenNumber } from "../../values/text.ts"

/** A row's key: an id, or a text where the table chose one. */
export type Key = number | string

interface Unique {
  readonly columns: ReadonlyArray<string>
  /** The input field to blame, and the message of the 422. */
  readonly field: string
  readonly message: string
  /** Only rows with this boolean column true (or, for nullable columns, rows that have a value) count. */
  readonly where?: string
}
/** A partial index: writing rows outside it costs nothing. */
interface PartialIndex {
  readonly columns: ReadonlyArray<string>
  /** A boolean column, or a column `is not null`. */ readonly where: string
}
/**
 * Texts by which users find rows: any part of a word, ignoring case and accents. The database maintains the index in
 * the transaction that writes the rows, so rebuilds, merges and erasures need no extra code.
 */
interface SearchedTexts {
  readonly columns: ReadonlyArray<string>
  /** Columns that are found without the blanks and signs people write in them as well: telephone numbers. */
  readonly compact?: ReadonlyArray<string>
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
  /** Singular name, with which streams and event types begin. Default: the name without its last letter. */
  readonly entity: string
  readonly soft_delete: boolean
  readonly indexes: ReadonlyArray<ReadonlyArray<string>>
  readonly partial_indexes: ReadonlyArray<PartialIndex>
  readonly uniques: ReadonlyArray<Unique>
  readonly no_overlap: ReadonlyArray<NoOverlap>
  readonly searched: SearchedTexts | undefined
  readonly stream: RowStream | undefined
  /** Few rows, rarely changed, read by many responses: a server may cache them. */
  readonly reference: boolean
  /** An existing row with the same key stays: for records of events that may repeat. */
  readonly on_conflict_ignore: boolean
  /** Who may see which rows and columns. Default: only users who may see everything. */
  readonly visibility: Visibility | undefined
  /** References its columns cannot declare alone: the table they name depends on another column. */
  readonly references: ReadonlyArray<ReferenceByType>
  readonly merged_by: MergedBy | undefined
  /**
   * Columns that name a row to people: the first that says something does; one that refers to another row gives what
   * that is called. Default: `name`, where there is such a column.
   */
  readonly named_by: ReadonlyArray<string>
  /** Readable name of a row, if it differs from the entity's. */
  readonly word: string
  /**
   * How many ids a device leases at once. Half of it is the least a device leaves the network with: enough for a long
   * evening of quotes and packing. Default 50, for what is rarely made in the field.
   */
  readonly lease_block_size: number
  readonly occupancy: Occupancy | undefined
  /** Columns the rules keep for themselves: left out where changes of a row are shown to people. */
  readonly bookkeeping: ReadonlyArray<string>
  /** Columns derived from other work: changing them is no change by a user. */
  readonly follows: ReadonlyArray<string>
  /** Instants whose date matters to users: reported if the server's clock gives another one. */
  readonly days: ReadonlyArray<string>
  /** Columns that a refusal of a field of another name is about: `{ state: ["status"] }`. */
  readonly refused_as: { readonly [field: string]: ReadonlyArray<string> }
  /** Its events may change permissions: followers of the journal are checked again after one. */
  readonly changes_reader: boolean
  /** Its rows name files. Both `uuid` and `sha256` need an index. */
  readonly file: FileColumns | undefined
  /** Its rows' events stand in the stream of the row that `references` name, and are erased with it. */
  readonly in_streams_of_references: boolean
}
export interface Table<F extends Fields = Fields> extends TableTraits {
  readonly name: string
  /** Every column, the key and the stamps included. */
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
  /** The reference to the single thing it holds; null where it holds a quantity of a kind. */
  readonly thing: string
  /** The reference to the kind of thing. */
  readonly kind: string
  readonly quantity: string
  readonly from: string
  readonly to: string
  /** References to the holder; the first that is not null counts. */
  readonly holders: ReadonlyArray<string>
  /**
   * Rows of `table` belonging to a holder (by their column `holder`) say in `kind` what it requests. `field`: the key
   * of the refusal's errors about a shortage.
   */
  readonly wanted: { readonly field: string; readonly table: string; readonly holder: string; readonly kind: string }
}
/**
 * The event that merges one row into another, and the keys of its data that name the row that goes and the row that
 * stays; `doubled` is the key under which it names, by table, the holders that are deleted (`merge_once_per`).
 */
export interface MergedBy {
  readonly event: string
  readonly from: string
  readonly into: string
  readonly doubled?: string
}
/** `column` names a row of `table` wherever the `where` columns have these values. */
interface ReferenceByType {
  readonly column: string
  readonly where: ColumnValues
  readonly table: string
  readonly rule: ReferenceRule
}
/** The stream its rows' events belong to when it is not their own: that of the row their `column` points at. */
interface RowStream {
  readonly entity: string
  readonly column: string
}
export type RowOf<T> = T extends Table<infer F> ? ValuesOf<F> : never
export type AnyRow = { readonly [column: string]: unknown }

/**
 * Any one of these permissions is enough; `members.*` is any of an area but `access`, which opens a page and no data.
 */
export type Audience = "everyone" | ReadonlyArray<string>
interface GrantedColumns {
  readonly to: Audience
  readonly columns: ReadonlyArray<string>
}
export interface Visibility {
  /** Users to whom endpoints show full rows. */
  readonly all_columns: Audience
  /** Columns that rules and answers about other rows need, besides the key, the creation time and the deletion flag. */
  readonly granted_columns?: ReadonlyArray<GrantedColumns>
  /** Rows that are a person's own, or not for them, by their key. */
  readonly by_key?: (key: Key, viewer: Viewer) => "whole" | "none" | undefined
  /**
   * Answers about other rows show single rows of this table to users who may not see the table: only the server gives
   * such answers, as other rows decide which ones are shown.
   */
  readonly shown_by_reference?: true
  /** Row-level visibility: all or nothing. Events of such tables contain full rows. */
  readonly by_row?: (row: AnyRow, viewer: Viewer) => boolean
  /** The columns `by_row` reads, where it reads few: changes of many rows at once name them. */
  readonly says_by?: ReadonlyArray<string>
}
export interface Stamped extends Fields {
  readonly id: Field<number>
  readonly created_at: Field<string>
  readonly updated_at: Field<string>
  readonly deleted_at: Field<string | null>
}
/** Custom fields are filtered like columns, so their texts are folded too. */
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
  stream: undefined,
  reference: false,
  on_conflict_ignore: false,
  visibility: undefined,
  references: [],
  merged_by: undefined,
  lease_block_size: 50,
  occupancy: undefined,
  bookkeeping: [],
  follows: [],
  days: [],
  refused_as: {},
  changes_reader: false,
  file: undefined,
  in_streams_of_references: false
}

/** A table with a key of its own choosing and exactly these columns. */
export const plainTable = <F extends Fields>(
  name: string,
  key: keyof F & string,
  columns: F,
  options: Partial<TableTraits> = {}
): Table<F> => {
  const { entity = name.slice(0, -1) } = options
  const named_by = "name" in columns ? ["name"] : []
  return { ...defaults, entity, named_by, word: entity.replaceAll("_", " "), ...options, name, key, columns }
}

/** A table of an entity: an `id`, the declared fields that are stored, when it was created, changed and deleted. */
export const table = <F extends Fields>(
  name: string,
  fields: F,
  options: Partial<TableTraits> = {}
): Table<F & Stamped> => {
  const stored = Object.entries(fields)
    .filter(([, field]) => !field.input_only)
    .map(([column, field]) => [column, searchableDocument(column, field)])
  const columns = {
    id: idField(),
    ...(Object.fromEntries(stored) as F),
    ...stamps,
    deleted_at: timestamp({ computed: true, nullable: true })
  }
  return plainTable(name, "id", columns, options)
}

export const isSearchable = (field: Field): boolean =>
  (field.type.kind === "text" || field.type.kind === "json") && field.type.search === true
/** The case-folded column beside a searchable one: filters that ignore case use it. */
export const caseFoldedName = (column: string): string => `${column}_folded`
/** Unicode case folding in one place, the same on both engines. */
export const foldCase = (value: string): string => value.normalize("NFC").toLowerCase()
/** Value of the case-folded column: the text, or a document's texts, folded. */
export const caseFoldedValue = (field: Field, value: unknown): unknown =>
  field.type.kind !== "json"
    ? foldCase(String(value))
    : Object.fromEntries(
        Object.entries(value as object).flatMap(([key, one]) => (typeof one === "string" ? [[key, foldCase(one)]] : []))
      )

// Names of declarations in sentences of descriptions.

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
  set
})
/** Inserts a row made at `at`. */
export const insertRow = (table: Table, row: AnyRow, at: string): RowChange => ({
  op: "insert",
  table,
  row: { ...row, created_at: at, updated_at: at, deleted_at: null }
})
/** Sets columns of a row at `at`. */
export const updateRow = (table: Table, key: Key, set: AnyRow, at: string): RowChange =>
  update(table, key, { ...set, updated_at: at })
export const remove = (table: Table, key: Key): RowChange => ({ op: "delete", table, key })
export const updateWhere = <T extends Table>(table: T, where: Where, set: Partial<RowOf<T>>): RowChange => ({
  op: "update_where",
  table,
  where,
  set
})
export const removeWhere = (table: Table, where: Where): RowChange => ({ op: "delete_where", table, where })

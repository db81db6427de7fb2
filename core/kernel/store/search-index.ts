/**
 * Trigram index for {@link SearchedTexts}, which finds any part of a word. SQLite: an FTS5 table that triggers update;
 * Postgres: a pg_trgm index over an expression. Search words of fewer than three characters are left out.
 */
import { caseFoldedName, foldCase, isSearchable, type Table } from "../tables/table.ts"

export type Dialect = "sqlite" | "pg"

const indexed_word_min = 3
/** Separates the texts of a row; no searched word contains it. */
const separator = "\n"
const written_in_numbers = [" ", "-", "/", "(", ")", ".", "+"]
export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`
/** Accents of Latin, Greek and Cyrillic letters; in other scripts marks are part of the letter. */
const accents = /[\u0300-\u036f]+/g
/** Letters without a removable accent that people type differently. */
const typed_as = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ı: "i", ς: "σ" } as const
/** Inverts the groups: `lettersAs({ e: "éè" })` is `{ é: "e", è: "e" }`. */
const lettersAs = (groups: { readonly [found_as: string]: string }): { readonly [sign: string]: string } =>
  Object.fromEntries(Object.entries(groups).flatMap(([as, signs]) => [...signs].map((sign) => [sign, as])))
/** Accents that SQLite's index, which covers most Latin letters, does not remove. */
const accented = lettersAs({
  ...{ a: "ǡ", ae: "ǣǽ", o: "ǿ", ʒ: "ǯ" },
  ...{ α: "ά", ε: "έ", η: "ή", ι: "ίϊΐ", ο: "ό", υ: "ύϋΰ", ω: "ώ", ϒ: "ϓϔ" },
  ...{ а: "ӑӓ", г: "ѓ", е: "ѐёӗ", ж: "ӂӝ", з: "ӟ", и: "ѝйӣӥ", к: "ќ", о: "ӧ", у: "ўӯӱӳ", ч: "ӵ", ы: "ӹ", э: "ӭ" },
  ...{ і: "ї", ә: "ӛ", ө: "ӫ", ѵ: "ѷ" }
})
/** Replacements of letters in SQLite's index. */
const in_place = { ...typed_as, ...accented }
/** Polytonic Greek: too many letters to replace in each row, so they are not folded. */
const polytonic = /[\u1f00-\u1fff]/
/** Adds capitals, for columns without a case-folded column. */
const inAnyCase = (letters: { readonly [sign: string]: string }): { readonly [sign: string]: string } => ({
  ...letters,
  ẞ: "ss",
  ...Object.fromEntries(
    Object.entries(letters).flatMap(([sign, as]) => {
      const capital = sign.toUpperCase()
      return capital !== sign && capital.toLowerCase() === sign ? [[capital, as]] : []
    })
  )
})

/** Case and accents folded, as both engines' indexes fold them. */
export const foldForSearch = (text: string): string =>
  replacedIn(foldCase(text).normalize("NFD").replace(accents, "").normalize("NFC"), typed_as)
const replacedIn = (text: string, letters: { readonly [sign: string]: string }): string =>
  Object.entries(letters).reduce((rest, [sign, as]) => rest.replaceAll(sign, as), text)
/** SQL that makes the same replacements. */
const replacedSql = (sql: string, letters: { readonly [sign: string]: string }): string =>
  Object.entries(letters).reduce((rest, [sign, as]) => `replace(${rest}, '${sign}', '${as}')`, sql)
/** The text without the blanks and signs people write in numbers. */
export const compacted = (text: string): string =>
  written_in_numbers.reduce((rest, sign) => rest.replaceAll(sign, ""), text)

/** Searchable text of a row as indexed, from these columns. */
export const searchedTextOf = (
  { columns, compact = [] }: NonNullable<Table["searched"]>,
  row: { readonly [column: string]: unknown },
  visible: (column: string) => boolean = () => true
): string => {
  const textOf = (name: string): string => (visible(name) && typeof row[name] === "string" ? row[name] : "")
  return [...columns.map(textOf), ...compact.map((name) => compacted(textOf(name)))].map(foldForSearch).join(separator)
}

const searchTable = ({ name }: Table): string => `${name}_search`
/** Rows whose texts changed since they were indexed, with the texts that the index has. SQLite. */
const changedTable = (table: Table): string => `${searchTable(table)}_changed`
/** Erased texts must leave the index at once; others may wait until several have changed. */
const indexesLater = ({ searched }: Table): boolean => searched?.never_erased === true
const changed_max = 64
/** Tables of a table's search index (SQLite); on Postgres the first is an index. */
export const searchTables = (table: Table): ReadonlyArray<string> =>
  table.searched === undefined ? [] : [searchTable(table), ...(indexesLater(table) ? [changedTable(table)] : [])]

const sourceOf = (table: Table, name: string, dialect: Dialect, prefix: string): string => {
  const field = table.columns[name]
  if (field === undefined) throw new Error(`table ${table.name} has no column ${name} to search`)
  const column = `${prefix}${quote(isSearchable(field) ? caseFoldedName(name) : name)}`
  return `coalesce(${dialect === "pg" && !isSearchable(field) ? `lower(${column})` : column}, '')`
}
const textSql = (table: Table, dialect: Dialect, prefix = ""): string => {
  const { columns = [], compact = [] } = table.searched ?? {}
  const parts = [
    ...columns.map((name) => sourceOf(table, name, dialect, prefix)),
    ...compact.map((name) =>
      written_in_numbers.reduce(
        (rest, sign) => `replace(${rest}, '${sign}', '')`,
        sourceOf(table, name, dialect, prefix)
      )
    )
  ]
  return parts.join(` || ${dialect === "pg" ? "chr(10)" : "char(10)"} || `)
}
const foldedSql = (table: Table): string =>
  replacedSql(
    `normalize(regexp_replace(normalize(${textSql(table, "pg")}, nfd), '[\\u0300-\\u036f]', '', 'g'), nfc)`,
    typed_as
  )
const sqliteSql = (table: Table, prefix = ""): string => {
  const text = textSql(table, "sqlite", prefix)
  const { columns = [], compact = [] } = table.searched ?? {}
  const is_folded = [...columns, ...compact].every((name) => {
    const field = table.columns[name]
    return field !== undefined && isSearchable(field)
  })
  const replaced = replacedSql(text, is_folded ? in_place : inAnyCase(in_place))
  // Most texts contain none of these letters; one test skips all replacements.
  return `case when ${text} glob '*[À-῾]*' then ${replaced} else ${text} end`
}

/** The statements that create a table's search index; none if the table is not searched. */
export const searchIndex = (table: Table, dialect: Dialect): ReadonlyArray<string> =>
  table.searched === undefined ? [] : dialect === "pg" ? trigramIndex(table) : searchTableStatements(table)

const trigramIndex = (table: Table): ReadonlyArray<string> => [
  `create extension if not exists pg_trgm`,
  `create index ${quote(searchTable(table))} on ${quote(table.name)} using gin ((${foldedSql(table)}) gin_trgm_ops)`
]

const searchTableStatements = (table: Table): ReadonlyArray<string> => {
  const search = quote(searchTable(table))
  const changed = quote(changedTable(table))
  const key = quote(table.key)
  const columns = [...(table.searched?.columns ?? []), ...(table.searched?.compact ?? [])]
  const is_later = indexesLater(table)
  const trigger = (verb: string): string => `create trigger ${quote(`${searchTable(table)}_${verb}`)} after ${verb}`
  const old = sqliteSql(table, "old.")
  const add = `insert into ${search} (rowid, words) values (new.${key}, ${sqliteSql(table, "new.")})`
  const indexed = is_later ? `coalesce((select words from ${changed} where id = old.${key}), ${old})` : old
  const take = `insert into ${search} (${search}, rowid, words) values ('delete', old.${key}, ${indexed})`
  const forget = is_later ? `; delete from ${changed} where id = old.${key}` : ""
  const note =
    `insert into ${changed} (id, words) select old.${key}, ${old} ` +
    `where not exists (select 1 from ${changed} where id = old.${key})`
  const on = `on ${quote(table.name)}`
  const texts = [...new Set(columns)].map(quote).join(", ")
  return [
    `create virtual table ${search} using fts5 (words, content='', tokenize='trigram remove_diacritics 1')`,
    ...(is_later
      ? [
          `create table ${changed} (id integer primary key, words text not null)`,
          // On the table, so that releases without such notes drop it too; before, as the next note follows it.
          `create trigger ${quote(`${changedTable(table)}_many`)} before update of ${texts} ${on} ` +
            `when (select count(*) from ${changed}) >= ${changed_max} begin ${indexChanged(table).join("; ")}; end`
        ]
      : // Removes deleted text from the index's pages at once, not at the next merge: erasures rely on it. It makes a
        // change of a text five times as expensive.
        [`insert into ${search} (${search}, rank) values ('secure-delete', 1)`]),
    `insert into ${search} (rowid, words) select ${key}, ${sqliteSql(table)} from ${quote(table.name)}`,
    `${trigger("insert")} ${on} begin ${add}; end`,
    `${trigger("delete")} ${on} begin ${take}${forget}; end`,
    `${trigger("update")} of ${texts} ${on} begin ${is_later ? note : `${take}; ${add}`}; end`
  ]
}
/** Indexes the changed texts. By ascending rows, as the index is written whenever a lower one follows. */
const indexChanged = (table: Table): ReadonlyArray<string> => {
  const search = quote(searchTable(table))
  const changed = quote(changedTable(table))
  const key = quote(table.key)
  return [
    `insert into ${search} (${search}, rowid, words) select verb, id, words from (` +
      `select 'delete' as verb, id, words from ${changed} union all ` +
      `select null, ${key}, ${sqliteSql(table)} from ${quote(table.name)} where ${key} in (select id from ${changed})` +
      `) order by id, verb is null`,
    `delete from ${changed}`
  ]
}
/** Merges an index in which deleted texts may stay: for rows that somebody may no longer see. SQLite. */
export const dropDeletedTexts = (table: Table): ReadonlyArray<string> => {
  const search = quote(searchTable(table))
  return indexesLater(table) ? [...indexChanged(table), `insert into ${search} (${search}) values ('optimize')`] : []
}
/** Drops an existing index first: for a table that replaced another. SQLite. */
export const searchIndexAnew = (table: Table): ReadonlyArray<string> => [
  ...searchTables(table).map((name) => `drop table if exists ${quote(name)}`),
  ...searchIndex(table, "sqlite")
]

const wordsIn = (text: string): ReadonlyArray<string> => text.split(/\s+/).filter((word) => word !== "")
/** The words of a search text, folded. */
export const searchWords = (text: string): ReadonlyArray<string> => [...new Set(wordsIn(foldForSearch(text)))]
/** Words with accents that SQLite's index keeps: folded → indexed. */
export const keptWords = (text: string): ReadonlyMap<string, string> =>
  new Map(
    wordsIn(foldCase(text))
      .filter((word) => polytonic.test(word))
      .map((word) => [foldForSearch(word), replacedIn(word, in_place)])
  )

interface MatchOptions {
  readonly limit: number
  readonly bind: (value: unknown) => string
  /** Accented words that the index keeps, from {@link keptWords}. */
  readonly kept?: ReadonlyMap<string, string>
}
/** A search by words. */
interface Matching {
  /** Condition on the key: the newest rows that match, and on SQLite those whose changed texts are not indexed. */
  readonly sql: string
  readonly rows_max: number
  /** Whether a row contains the words, as the condition does not look for them in changed ones. */
  readonly holds: (row: { readonly [column: string]: unknown }) => boolean
}
/**
 * Finds the newest `limit` rows that contain every word of three characters or more and are not deleted. Undefined if
 * there is no such word.
 */
export const matchSql = (
  table: Table,
  dialect: Dialect,
  words: ReadonlyArray<string>,
  { limit, bind, kept }: MatchOptions
): Matching | undefined => {
  const long = words.filter((word) => [...word].length >= indexed_word_min)
  if (long.length === 0) return undefined
  const key = quote(table.key)
  const exact = { rows_max: limit, holds: () => true }
  if (dialect === "sqlite") {
    const search = quote(searchTable(table))
    const either = (word: string): string => [word, kept?.get(word) ?? []].flat().map(quote).join(" OR ")
    const match = long.map((word) => `(${either(word)})`).join(" AND ")
    const own = `select 1 from ${quote(table.name)} own where own.${key} = ${search}.rowid and own.deleted_at is null`
    const there = table.soft_delete ? ` and exists (${own})` : ""
    const found = `select rowid from ${search} where ${search} match ${bind(match)}${there}`
    const newest = `order by rowid desc limit ${limit}`
    const { searched } = table
    if (searched === undefined || !indexesLater(table)) return { sql: `${key} in (${found} ${newest})`, ...exact }
    const changed = `select id from ${quote(changedTable(table))}`
    const is_unchanged = `rowid not in (${changed})`
    return {
      sql: `${key} in (select * from (${found} and ${is_unchanged} ${newest}) union all ${changed})`,
      rows_max: limit + changed_max,
      holds: (row) => {
        const text = searchedTextOf(searched, row)
        return long.every((word) => text.includes(word))
      }
    }
  }
  const like = long.map((word) => `${foldedSql(table)} like ${bind(`%${word.replace(/[\\%_]/g, "\\$&")}%`)}`)
  const condition = [...like, ...(table.soft_delete ? ["deleted_at is null"] : [])].join(" and ")
  const found = `select ${key} from ${quote(table.name)} where ${condition} order by ${key} desc limit ${limit}`
  return { sql: `${key} in (${found})`, ...exact }
}

/** Letters that SQLite's search index finds: all that names are written with, as on Postgres. */
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { integer, text } from "../../../../core/kernel/fields/field.ts"
import {
  dropDeletedTexts,
  foldForSearch,
  keptWords,
  matchSql,
  searchIndex
} from "../../../../core/kernel/store/search-index.ts"
import { foldCase, plainTable } from "../../../../core/kernel/tables/table.ts"

const european = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u
/** All letters of these scripts, upper and lower case. */
const letters = Array.from({ length: 0x2000 }, (_, at) => String.fromCodePoint(at)).filter(
  (sign) => sign > "\u00bf" && european.test(sign) && /\p{L}/u.test(sign)
)
const is_polytonic = /[\u1f00-\u1fff]/

const indexOf = (is_folded: boolean) => {
  const name = text({ search: is_folded })
  const table = plainTable("pieces", "id", { id: integer(), name }, { searched: { columns: ["name"] } })
  const db = new DatabaseSync(":memory:")
  db.exec("create table pieces (id integer primary key, name text, name_folded text)")
  for (const statement of searchIndex(table, "sqlite")) db.exec(statement)
  const insert = db.prepare("insert into pieces values (?, ?, ?)")
  letters.forEach((sign, id) => insert.run(id, `ab${sign}cd`, foldCase(`ab${sign}cd`)))
  return (words: string): ReadonlyArray<number> => {
    const bound: Array<string> = []
    const bind = (value: unknown): string => `?${bound.push(String(value))}`
    const kept = keptWords(words)
    const condition = matchSql(table, "sqlite", [foldForSearch(words)], { limit: 10_000, bind, kept })?.sql ?? "false"
    return db
      .prepare(`select id from pieces where ${condition}`)
      .all(...bound)
      .map(({ id }) => Number(id))
  }
}
const notFound = (
  found: (words: string) => ReadonlyArray<number>,
  as: (sign: string) => string,
  among: typeof letters
) => among.filter((sign) => !found(`ab${as(sign)}cd`).includes(letters.indexOf(sign)))

describe("the search index of SQLite", () => {
  it("finds every letter of Latin, Greek and Cyrillic in either case", () => {
    const found = indexOf(true)
    expect(letters.length).toBeGreaterThan(1_300)
    expect(notFound(found, (sign) => sign, letters)).toEqual([])
    expect(notFound(found, (sign) => foldCase(sign), letters)).toEqual([])
  })
  it("finds letters without their accents, except polytonic Greek", () => {
    const modern = letters.filter((sign) => !is_polytonic.test(sign.normalize("NFC")))
    expect(notFound(indexOf(true), foldForSearch, modern)).toEqual([])
  })
  it("finds accented letters with and without their accents in columns without a folded copy", () => {
    const accented = letters.filter(
      (sign) => sign.normalize("NFC") === sign && !is_polytonic.test(sign) && foldForSearch(sign) !== foldCase(sign)
    )
    expect(notFound(indexOf(false), (sign) => sign, accented)).toEqual([])
    expect(notFound(indexOf(false), foldForSearch, accented)).toEqual([])
  })
  it("keeps nothing of a changed text in its pages, except for tables that are never erased", () => {
    const keeps = [{}, { never_erased: true as const }].map((more) => {
      const searched = { columns: ["name"], ...more }
      const table = plainTable("pieces", "id", { id: integer(), name: text() }, { searched })
      const db = new DatabaseSync(":memory:")
      db.exec("create table pieces (id integer primary key, name text)")
      for (const statement of searchIndex(table, "sqlite")) db.exec(statement)
      db.exec("insert into pieces values (1, 'lamp'); insert into pieces values (2, 'qzx')")
      db.exec("update pieces set name = 'lamp' where id = 2")
      const found = db.prepare("select count(*) as rows from pieces_search where pieces_search match 'qzx'").get()
      const pages = db.prepare("select block from pieces_search_data").all()
      const holds = pages.some(({ block }) => block instanceof Uint8Array && Buffer.from(block).includes("qzx"))
      return { rows: found?.["rows"], holds }
    })
    expect(keeps).toEqual([
      { rows: 0, holds: false },
      { rows: 1, holds: true }
    ])
  })

  describe("of a table that is never erased", () => {
    const opened = () => {
      const searched = { columns: ["name"], never_erased: true as const }
      const table = plainTable("pieces", "id", { id: integer(), name: text() }, { searched })
      const db = new DatabaseSync(":memory:")
      db.exec("create table pieces (id integer primary key, name text)")
      for (const statement of searchIndex(table, "sqlite")) db.exec(statement)
      const insert = db.prepare("insert into pieces values (?, ?)")
      for (let id = 1; id <= 200; id++) insert.run(id, `lamp ${id}`)
      const found = (word: string, limit = 1_000): ReadonlyArray<number> => {
        const bound: Array<string> = []
        const bind = (value: unknown): string => `?${bound.push(String(value))}`
        const match = matchSql(table, "sqlite", [word], { limit, bind })!
        return db
          .prepare(`select id, name from pieces where ${match.sql} order by id desc limit ${match.rows_max}`)
          .all(...bound)
          .filter(match.holds)
          .slice(0, limit)
          .map(({ id }) => Number(id))
      }
      return { db, table, found, rows: (sql: string) => db.prepare(sql).all().length }
    }

    it("finds changed rows by their new texts alone, before and after these are indexed", () => {
      const { db, table, found, rows } = opened()
      db.exec("update pieces set name = 'spot' where id in (3, 7); update pieces set name = 'flood' where id = 7")
      const seen = () => [found("spot"), found("flood"), found("lamp").length, found("lamp", 196), found("lamp", 195)]
      const before = seen()
      expect(before.slice(0, 3)).toEqual([[3], [7], 198])
      expect(rows("select 1 from pieces_search where pieces_search match 'spot'")).toBe(0)
      for (const statement of dropDeletedTexts(table)) db.exec(statement)
      expect(seen()).toEqual(before)
      expect(rows("select 1 from pieces_search where pieces_search match 'spot'")).toBe(1)
      expect(rows("select 1 from pieces_search where pieces_search match 'lamp'")).toBe(198)
    })
    it("finds the rows of a transaction that was rolled back as they were", () => {
      const { db, found } = opened()
      db.exec("begin; update pieces set name = 'spot'; rollback")
      expect([found("spot").length, found("lamp").length]).toEqual([0, 200])
    })
    it("finds a changed row no longer once it is deleted, and a row made again by its new text", () => {
      const { db, found, rows } = opened()
      db.exec("update pieces set name = 'spot' where id = 3; delete from pieces where id = 3")
      expect([found("spot"), found("lamp").length, rows("select 1 from pieces_search_changed")]).toEqual([[], 199, 0])
      db.exec("insert into pieces values (3, 'flood')")
      expect([found("flood"), rows("select 1 from pieces_search where pieces_search match 'lamp'")]).toEqual([[3], 199])
    })
    it("can be set aside by a release that knows no notes of changed texts", () => {
      const { db } = opened()
      db.exec("drop table pieces_search")
      const triggers = db.prepare("select name from sqlite_master where tbl_name = 'pieces' and type = 'trigger'").all()
      for (const { name } of triggers) db.exec(`drop trigger "${String(name)}"`)
      db.exec("alter table pieces rename to before_pieces")
    })
    it("indexes changed texts once several rows have some", () => {
      const { db, found, rows } = opened()
      db.exec("update pieces set name = 'spot ' || id where id <= 63; update pieces set name = 'spot' where id <= 63")
      expect([found("spot").length, rows("select 1 from pieces_search_changed")]).toEqual([63, 63])
      db.exec("update pieces set name = 'spot' where id = 64")
      expect([found("spot").length, rows("select 1 from pieces_search_changed")]).toEqual([64, 64])
      db.exec("update pieces set name = 'spot 65' where id = 65")
      expect([found("spot").length, rows("select 1 from pieces_search_changed")]).toEqual([65, 1])
      db.exec("update pieces set name = 'flood'")
      expect([found("flood").length, found("spot"), rows("select 1 from pieces_search_changed")]).toEqual([200, [], 9])
      db.exec("insert into pieces_search (pieces_search) values ('integrity-check')")
    })
  })
})

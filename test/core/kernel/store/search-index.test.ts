/** Letters that SQLite's search index finds: all that names are written with, as on Postgres. */
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { integer, text } from "../../../../core/kernel/fields/field.ts"
import { foldForSearch, keptWords, matchSql, searchIndex } from "../../../../core/kernel/store/search-index.ts"
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
    const condition = matchSql(table, "sqlite", [foldForSearch(words)], { limit: 10_000, bind, kept }) ?? "false"
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
      { rows: 0, holds: true }
    ])
  })
})

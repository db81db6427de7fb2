import fc from "fast-check"
import { Effect } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { insert, removeWhere } from "../../../core/kernel/tables/table.ts"
import { predicates, type Query } from "../../../core/kernel/lists/query.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { blank, type LampRow, lamps, openShop, type Shop, shop_opened } from "./lamp-shop.ts"
import { customFields, rackEvents, record } from "./lamp-stock.ts"
import { type Asked, columns, foundIn, type Kind } from "./query-oracle.ts"
import { plays_everything } from "../../app.ts"
import { words } from "../../words.ts"

let sqlite: Shop, pg: Shop
beforeAll(async () => {
  sqlite = await openShop("sqlite")
  pg = await openShop("pg")
  for (const shop of [sqlite, pg]) await shop.run(record([...customFields, ...rackEvents]))
})
afterAll(async () => {
  await sqlite.close()
  await pg.close()
})

const texts = [
  "",
  "a",
  "A",
  "ab",
  "Ab%",
  "a_b",
  "a\\b",
  "b",
  "ä",
  "Ä",
  "a\u0308",
  "ÄRGER",
  "ß",
  "SS",
  "ss",
  "İ",
  "i\u0307",
  "I",
  "ı",
  "É",
  "e\u0301",
  "Σ",
  "σ",
  "Z",
  "zz",
  "1",
  "10",
  "9",
  "'",
  '"',
  "🔦",
  "ﬁ",
  "Ⅷ"
]
const aWord = fc
  .oneof(
    { weight: 4, arbitrary: fc.constantFrom(...texts) },
    { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 4 }) }
  )
  .filter((text) => text.isWellFormed() && !text.includes("\u0000"))
const orNull = <A>(some: fc.Arbitrary<A>): fc.Arbitrary<A | null> => fc.option(some, { freq: 3 })
const aNumber = (scale: number): fc.Arbitrary<string> =>
  fc.integer({ min: -300, max: 300 }).map((n) => (n / 100).toFixed(scale))
const aDay = fc.constantFrom("2026-01-01", "2026-01-02", "2026-03-29", "1999-12-31")
const aTime = fc.constantFrom(
  "2026-01-01T00:00:00.000Z",
  "2026-01-01T10:30:00.001Z",
  "2026-01-02T00:00:00.000Z",
  "1999-12-31T23:59:59.999Z"
)
const aTag = fc.constantFrom("a", "A", "ä", "a,b", '"', "\\", "[]", "null", "1")

const aRow = fc.record({
  name: aWord,
  label: orNull(aWord),
  bay: orNull(fc.constantFrom("a", "A", "B_", "%", "", "10", "9")),
  kind: orNull(fc.constantFrom("rental", "sale", "loss_and_damage")),
  method: orNull(fc.constantFrom(1, 2)),
  is_active: orNull(fc.boolean()),
  count: orNull(fc.integer({ min: -3, max: 12 })),
  weight: orNull(aNumber(2)),
  price: orNull(fc.integer({ min: -200, max: 300 })),
  bought_on: orNull(aDay),
  seen_at: orNull(aTime),
  tag_list: fc.array(aTag, { maxLength: 3 }),
  rack_id: orNull(fc.constantFrom(1, 2, 3)),
  custom_fields: fc.record(
    {
      101: orNull(aNumber(4)),
      102: orNull(aWord.filter((text) => text !== "")),
      103: orNull(fc.boolean()),
      104: orNull(fc.constantFrom(11, 12, 13)),
      105: orNull(fc.array(fc.constantFrom(11, 12, 13), { maxLength: 3 })),
      108: orNull(aDay),
      109: orNull(aTime)
    },
    { requiredKeys: [] }
  )
})
const valuesOf: { readonly [K in Kind]: ReadonlyArray<string> } = {
  text: ["%", "_", "\\", "ärger", "ä", "a,b"],
  choice: ["rental", "SALE", "Loss & Damage", "LossAndDamage", "damage", "r"],
  code: ["1", "2", "3", "Bulk", "serialised"],
  boolean: ["true", "false", "t", "f", "0", "1", "TRUE"],
  integer: ["1", "2", "-3", "10", "1.0", "99999999999999999999"],
  decimal: words("0 1.5 -0.25 1.005 -1.0049999999999999999 99999999999999999999 +2 1.00000000000000000001"),
  money: ["0", "1", "-0.5", "1.25", "0.001"],
  date: ["2026-01-01", "2026-01-02T23:00:00Z", "0000-01-01"],
  timestamp: ["2026-01-01", "2026-01-01T10:30:00.001Z", "2026-01-01T02:00:00+02:00"],
  tags: ["a", "A", "a,b", '"', "ä", "[]"],
  listed: ["11", "cold", "GRÖSSE", "größe", "Warm", "14"],
  "listed many": ["12", "COLD", "Größe", "nothing"]
}
const anAsked: fc.Arbitrary<Asked> = fc
  .constantFrom(...Object.keys(columns))
  .chain((name) =>
    fc.record({
      name: fc.constant(name),
      predicate: fc.constantFrom(...predicates),
      array: fc.boolean(),
      values: fc.array(
        fc.oneof(
          { weight: 6, arbitrary: fc.constantFrom(...valuesOf[columns[name]!.kind]) },
          { weight: 2, arbitrary: columns[name]!.kind === "text" ? aWord : fc.constantFrom("x", "0") },
          { weight: 1, arbitrary: fc.constantFrom("", "rubbish", "\u0000", "' or 1=1 --") }
        ),
        { minLength: 1, maxLength: 3 }
      )
    })
  )
const sortable = Object.entries(columns)
  .filter(([, column]) => column.sort !== undefined)
  .map(([name]) => name)
const aSort = fc.option(
  fc.tuple(fc.constantFrom("", "-"), fc.constantFrom(...sortable)).map((parts) => parts.join("")),
  { nil: undefined }
)
const aQuestion = fc.record({
  conditions: fc.uniqueArray(anAsked, { maxLength: 3, selector: ({ name, predicate }) => `${name}_${predicate}` }),
  sort: aSort
})

const inQuery = ({
  conditions,
  sort
}: {
  readonly conditions: ReadonlyArray<Asked>
  readonly sort: string | undefined
}): Query => [
  ...conditions.flatMap(({ name, predicate, values, array }) =>
    values.map((value) => [`q[${name}_${predicate}]${array ? "[]" : ""}`, value] as const)
  ),
  ...(sort === undefined ? [] : [["sort", sort] as const]),
  ["per_page", "100"]
]
const shelve = (rows: ReadonlyArray<LampRow>) =>
  Effect.flatMap(Store, (store) => store.apply([removeWhere(lamps, {}), ...rows.map((row) => insert(lamps, row))]))

it("both engines return the rows that the conventions define, in the same order, for any query", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(aRow, { minLength: 1, maxLength: 15 }),
      fc.array(aQuestion, { minLength: 4, maxLength: 12 }),
      async (drawn, questions) => {
        const rows = drawn.map((row, at): LampRow => ({
          ...blank,
          ...row,
          custom_fields: row.custom_fields as LampRow["custom_fields"],
          id: at + 1,
          created_at: shop_opened,
          updated_at: shop_opened,
          deleted_at: null
        }))
        await sqlite.run(shelve(rows))
        await pg.run(shelve(rows))
        for (const question of questions) {
          const query = inQuery(question)
          const expected = foundIn(rows, question.conditions, question.sort)
          expect({ question, on: "sqlite", found: await sqlite.found(query) }).toEqual({
            question,
            on: "sqlite",
            found: expected
          })
          expect({ question, on: "pg", found: await pg.found(query) }).toEqual({ question, on: "pg", found: expected })
        }
      }
    ),
    { numRuns: plays_everything ? 120 : 60 }
  )
})

import { Effect } from "effect"
import { DatabaseSync, StatementSync } from "node:sqlite"
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest"
import {
  boolean,
  code,
  date,
  decimal,
  integer,
  type Json,
  json,
  list,
  money,
  text,
  timestamp
} from "../../../../core/kernel/fields/field.ts"
import { createTable } from "../../../../core/kernel/store/statement.ts"
import { rememberingRows, Store, unremembered } from "../../../../core/kernel/store/store.ts"
import {
  type AnyRow,
  insert,
  plainTable,
  remove,
  removeWhere,
  type RowChange,
  type Table,
  table,
  update,
  updateWhere
} from "../../../../core/kernel/tables/table.ts"
import { visible_to_all } from "../../../../core/kernel/tables/visibility.ts"
import { both_engines } from "../../../app.ts"
import { words } from "../../../words.ts"
import { openShop } from "../lamp-shop.ts"

const cells = plainTable("cells", "id", {
  id: integer({ max: Number.MAX_SAFE_INTEGER }),
  text: text({ nullable: true, search: true }),
  code: code({ 1: "One", 2: "Two" }, { nullable: true }),
  flag: boolean({ nullable: true }),
  amount: money({ nullable: true }),
  fine: decimal({ scale: 6, nullable: true }),
  whole: decimal({ scale: 0, nullable: true }),
  day: date({ nullable: true }),
  at: timestamp({ nullable: true }),
  any: json<Json>({ form: "any", nullable: true }),
  tags: list(text(), { default: [] })
})
const bulbs = table(
  "bulbs",
  { name: text(), price: decimal({ scale: 2 }) },
  { visibility: visible_to_all, soft_delete: true }
)
type Cell = { readonly [K in keyof typeof cells.columns]?: unknown } & { readonly id: number }

describe.each(both_engines)("rows on %s", (engine) => {
  const opening = openShop(engine)
  const withStore = async <A>(use: (store: Store["Service"]) => Effect.Effect<A, unknown>): Promise<A> =>
    (await opening).run(Effect.flatMap(Store, use))
  beforeEach(() =>
    withStore((store) =>
      Effect.gen(function* () {
        for (const one of [cells, bulbs]) {
          yield* store.run(`drop table if exists ${one.name}`)
          for (const statement of createTable(one as unknown as Table, store.dialect)) yield* store.run(statement)
        }
      })
    )
  )
  afterAll(async () => (await opening).close())
  const apply = (...changes: ReadonlyArray<RowChange>) => withStore((store) => store.apply(changes))
  const cell = (row: Cell): RowChange => insert(cells as unknown as Table, row as never)
  const found = (order?: ReadonlyArray<string>) =>
    withStore((store) => store.find(cells, {}, order === undefined ? {} : { order })) as Promise<ReadonlyArray<AnyRow>>
  const column = async (name: string, ...values: ReadonlyArray<unknown>): Promise<ReadonlyArray<unknown>> => {
    await apply(...values.map((value, at) => cell({ id: at + 1, [name]: value })))
    return (await found()).map((row) => row[name])
  }

  it.each<[string, ReadonlyArray<unknown>]>([
    ["text", ["", " a ", "ÄRGER", "İ", "🔦", "'; drop table cells; --", "\\", "%", "a\nb", "x".repeat(255), null]],
    ["code", [1, 2, null]],
    ["flag", [true, false, null]],
    ["amount", [0, 1, -1, 2_147_483_647, 9_007_199_254_740_991, null]],
    ["fine", ["0.000000", "0.000001", "-0.000001", "999999999999.999999", "-1000000000000.000000", null]],
    ["whole", ["0", "-7", "1000000000000", null]],
    ["day", ["0001-01-01", "2024-02-29", "9999-12-31", null]],
    [
      "at",
      [
        "0001-01-01T00:00:00.000Z",
        "1969-12-31T23:59:59.999Z",
        "2026-03-29T01:30:00.001Z",
        "2199-01-01T00:00:00.000Z",
        null
      ]
    ],
    ["any", [{}, [], { a: { b: [1, "2", null, true] } }, { "ä": '"' }, "text", "123", "null", "", null]],
    ["any", [0, -1.5, 1e21, 9_007_199_254_740_993, 1e-7, true, false]],
    ["tags", [[], ["a", "a", ""], ["null", "[]", '"']]]
  ])("keep every value of the column %s", async (name, values) => {
    expect(await column(name, ...values)).toEqual(values)
  })
  it("are committed or rolled back by a condition on the result, which is returned either way", async () => {
    const work = (id: number) =>
      withStore((store) => store.rolledBack(Effect.as(store.apply([cell({ id })]), id), (result) => result === 2))
    expect([await work(1), await work(2), (await found()).map((row) => row["id"])]).toEqual([1, 2, [2]])
  })
  it("keep ids up to 2^53 - 1", async () => {
    await apply(cell({ id: Number.MAX_SAFE_INTEGER }), cell({ id: 1 }))
    expect((await found()).map((row) => row["id"])).toEqual([1, Number.MAX_SAFE_INTEGER])
  })
  it("are stored alike if inserted alone, together or as values of some columns", async () => {
    const row = { text: "Ä", code: 2, flag: true, amount: -7, fine: "0.500000", whole: "3", any: [1.5, "x"], day: null }
    const values = [...Object.values(row), "of a column that is not there"]
    const stored = await withStore((store) =>
      Effect.gen(function* () {
        yield* store.apply([cell({ id: 1, ...row })])
        yield* store.apply([cell({ id: 2, ...row }), cell({ id: 3, ...row })])
        yield* store.insertValues(
          cells as unknown as Table,
          [...Object.keys(row), "other", "id"],
          [
            [...values, 4],
            [...values, 5]
          ]
        )
        const typed = Object.keys(row).map((name) =>
          store.dialect === "pg" ? `"${name}"::text as "${name}"` : `typeof("${name}") || "${name}" as "${name}"`
        )
        return yield* store.run(`select text_folded, tags, ${typed.join(", ")} from cells order by id`)
      })
    )
    expect(stored).toHaveLength(5)
    expect(stored).toEqual(stored.map(() => stored[0]))
    const [first] = await found()
    expect(first).toMatchObject({ ...row, tags: [] })
  })
  it("get the column's default or null for absent values", async () => {
    await apply(cell({ id: 1 }))
    expect(await found()).toEqual([
      {
        id: 1,
        text: null,
        code: null,
        flag: null,
        amount: null,
        fine: null,
        whole: null,
        day: null,
        at: null,
        any: null,
        tags: []
      }
    ])
  })
  it.each<[string, ReadonlyArray<unknown>, ReadonlyArray<number>, ReadonlyArray<number>]>([
    ["amount", [2, null, -1, 2], [3, 1, 4, 2], [2, 1, 4, 3]],
    ["text", ["b", "B", null, "a"], [2, 4, 1, 3], [3, 1, 4, 2]],
    ["flag", [true, null, false, true], [3, 1, 4, 2], [2, 1, 4, 3]],
    ["fine", ["10.000000", "9.000000", null, "-10.000000"], [4, 2, 1, 3], [3, 1, 2, 4]]
  ])(
    "sort by %s with null last (first when descending) and equal values by key",
    async (name, values, upwards, downwards) => {
      await column(name, ...values)
      expect((await found([name])).map((row) => row["id"])).toEqual(upwards)
      expect((await found([`-${name}`])).map((row) => row["id"])).toEqual(downwards)
    }
  )
  it("are inserted, updated and deleted in the given order, by key or condition", async () => {
    const many = Array.from({ length: 300 }, (_, at) => cell({ id: at + 1, amount: at }))
    await apply(
      ...many,
      update(cells, 5, { amount: -5 }),
      remove(cells as unknown as Table, 6),
      cell({ id: 6, amount: -6 }),
      updateWhere(cells, { amount: [0, 1] }, { flag: true, text: "Ä" }),
      removeWhere(cells as unknown as Table, { amount: 299, flag: null }),
      update(cells, 1, {}),
      updateWhere(cells, { id: [] }, { amount: 1 })
    )
    const rows = await found()
    expect(rows.map((row) => row["id"])).toEqual(Array.from({ length: 299 }, (_, at) => at + 1))
    expect(rows.filter((row) => row["flag"] === true).map((row) => [row["id"], row["text"]])).toEqual([
      [1, "Ä"],
      [2, "Ä"]
    ])
    expect([rows[4]!["amount"], rows[5]!["amount"]]).toEqual([-5, -6])
    expect(await withStore((store) => store.run("select id from cells where text_folded = 'ä' order by id"))).toEqual([
      { id: 1 },
      { id: 2 }
    ])
  })
  it("are returned as they were before a change", async () => {
    await apply(cell({ id: 1, amount: 1 }), cell({ id: 2, amount: 1 }), cell({ id: 3 }))
    const images = (change: RowChange) =>
      withStore((store) =>
        Effect.map(store.imagesBefore(change), (found) => found.map(({ key, row }) => [key, row?.["amount"]]))
      )
    expect(await images(updateWhere(cells, { amount: 1 }, { amount: 9 }))).toEqual([
      [1, 1],
      [2, 1]
    ])
    expect(await images(remove(cells as unknown as Table, 3))).toEqual([[3, null]])
    expect(await images(remove(cells as unknown as Table, 4))).toEqual([])
    expect(await images(cell({ id: 4, amount: 4 }))).toEqual([[4, undefined]])
  })
  it("read by key equal the stored ones after every kind of change in the same transaction", async () => {
    const values: Cell = {
      id: 1,
      text: "Ä",
      code: 2,
      flag: true,
      amount: -5,
      fine: "1.5",
      whole: "7",
      day: "2026-02-03"
    }
    await apply(cell({ id: 2, text: "two" }))
    const written = await withStore((store) =>
      store.transaction(
        rememberingRows(
          Effect.gen(function* () {
            const get = (id: number) => store.get(cells, id)
            const stored = (id: number) => Effect.map(store.find(cells, { id }), ([row]) => row)
            yield* store.apply([
              cell({ ...values, at: "2026-02-03T04:05:06.700Z", any: { b: 1, a: [2] }, tags: ["x"] }),
              update(cells, 2, { amount: 12, any: null, text: "Zwei" })
            ])
            const pairs = [
              [yield* get(1), yield* stored(1)],
              [yield* get(2), yield* stored(2)],
              [yield* get(2), yield* get(2)]
            ]
            const changed: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
              store.apply([updateWhere(cells, { id: 1 }, { amount: 1 })]),
              store.apply([update(cells, 1, { text: "once" }), update(cells, 2, { text: "more" })]),
              store.apply([update(cells, 1, { text: "alone" })]),
              store.transaction(store.apply([update(cells, 1, { text: "within" })])),
              store.transaction(store.apply([updateWhere(cells, { id: 1 }, { amount: 2 })])),
              store.apply([update(cells, 1, { amount: 4 })]),
              Effect.exit(
                store.transaction(Effect.andThen(store.apply([update(cells, 1, { text: "not" })]), Effect.fail("back")))
              ),
              store.apply([update(cells, 1, { amount: 5 })]),
              store.run("update cells set amount = 3"),
              store.apply([remove(cells as unknown as Table, 1)])
            ]
            for (const change of changed) {
              yield* change
              pairs.push([yield* get(1), yield* stored(1)])
            }
            return pairs
          })
        )
      )
    )
    expect(written).toHaveLength(13)
    for (const [known, stored] of written) expect(known).toEqual(stored)
    expect(written.map(([known]) => known?.amount)).toEqual([-5, 12, 12, 1, 1, 1, 1, 2, 4, 4, 5, 3, undefined])
    expect(written.map(([known]) => known?.text).slice(3, 9)).toEqual(words("Ä once alone within within within"))
  })
  it("known to a transaction equal the stored ones after updates of every kind of column", async () => {
    const sets: ReadonlyArray<Cell> = [
      { text: "Straße 5", code: 2, flag: false, amount: Number.MAX_SAFE_INTEGER, day: "2026-02-03" },
      { fine: "1.5", whole: "7", at: "2026-02-03T04:05:06.700Z" },
      { fine: "-1234567890123.000001", whole: "-1234567890123456789", any: "5", tags: ["5", ""] },
      { any: 5, tags: [] },
      { any: { b: 1.5, a: [null, true, { c: "ä" }] }, flag: true, amount: -5 },
      { any: [], text: "5" },
      { text: null, code: null, flag: null, amount: null, fine: null, whole: null, day: null, at: null, any: null }
    ].map((set) => ({ ...set, id: 1 }))
    const pairs = await withStore((store) =>
      store.transaction(
        rememberingRows(
          Effect.gen(function* () {
            yield* store.apply([cell({ id: 1 })])
            return yield* Effect.forEach(sets, (set) =>
              Effect.andThen(
                store.apply([update(cells as unknown as Table, 1, set as Partial<AnyRow>)]),
                Effect.all([store.get(cells, 1), unremembered(store.get(cells, 1))])
              )
            )
          })
        )
      )
    )
    for (const [known, stored] of pairs) expect(known).toStrictEqual(stored)
    expect(pairs.map(([known]) => known?.whole)).toEqual([
      null,
      "7",
      ...Array.from({ length: 4 }, () => "-1234567890123456789"),
      null
    ])
  })
  it("are found once by a condition in a command on SQLite, until their table is written", async () => {
    const at = "2026-02-03T04:05:06.700Z"
    const bulb = (id: number, name: string): RowChange =>
      insert(bulbs, { id, name, price: "1.50", created_at: at, updated_at: at, deleted_at: null })
    const found = await withStore((store) =>
      store.transaction(
        rememberingRows(
          Effect.gen(function* () {
            const names = Effect.map(store.find(bulbs, { price: "1.50" }), (rows) =>
              rows.map(({ name }) => name).join()
            )
            const changed: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
              store.apply([bulb(1, "made")]),
              store.apply([update(bulbs, 1, { name: "changed" })]),
              store.run("update bulbs set name = 'by hand' where id = 1"),
              Effect.exit(
                store.transaction(
                  Effect.andThen(
                    store.apply([update(bulbs, 1, { name: "taken back" })]),
                    Effect.andThen(names, Effect.fail(0))
                  )
                )
              ),
              store.transaction(store.apply([bulb(2, "within")])),
              store.apply([update(bulbs, 2, { price: "2.00" })]),
              store.apply([removeWhere(bulbs, { price: "1.50" })])
            ]
            const seen = [yield* names]
            for (const change of changed) seen.push(yield* Effect.andThen(change, names))
            const reads = vi.spyOn(StatementSync.prototype, "all")
            yield* Effect.all([names, names, names])
            const read = reads.mock.calls.length
            reads.mockRestore()
            return { read, seen }
          })
        )
      )
    )
    expect(found.seen).toEqual(["", "made", "changed", "by hand", "by hand", "by hand,within", "by hand", ""])
    expect(found.read).toBe(0)
  })
  it("are known on SQLite after another row was deleted by its key", async () => {
    const at = "2026-02-03T04:05:06.700Z"
    for (const id of [1, 2])
      await apply(insert(bulbs, { id, name: "one", price: "1.50", created_at: at, updated_at: at, deleted_at: null }))
    const found = await withStore((store) =>
      store.transaction(
        rememberingRows(
          Effect.gen(function* () {
            yield* store.find(bulbs, { price: "1.50" })
            yield* store.apply([remove(bulbs as unknown as Table, 1)])
            const reads = vi.spyOn(StatementSync.prototype, "all")
            const kept = yield* store.get(bulbs, 2)
            const read = reads.mock.calls.length
            reads.mockRestore()
            return { kept: kept?.name, read, deleted: yield* store.get(bulbs, 1) }
          })
        )
      )
    )
    expect(found).toEqual({ kept: "one", read: 0, deleted: undefined })
  })
  it("are read again within a transaction on Postgres, where other transactions may have changed them", async () => {
    await apply(cell({ id: 1, text: "before" }), cell({ id: 2, text: "other" }))
    const read = await withStore((store) =>
      store.transaction(
        rememberingRows(
          Effect.gen(function* () {
            const texts = Effect.map(Effect.all([store.get(cells, 1), store.getMany(cells, [1, 2])]), ([row, rows]) => [
              row?.text,
              ...rows.map(({ text }) => text)
            ])
            const before = yield* texts
            if (engine === "pg") yield* Effect.promise(() => apply(update(cells, 1, { text: "after" })))
            return [before, yield* texts]
          })
        )
      )
    )
    const now = engine === "pg" ? "after" : "before"
    expect(read).toEqual([
      ["before", "before", "other"],
      [now, now, "other"]
    ])
  })
  it("read again for an answer equal the stored ones, after changes of this and other transactions", async () => {
    const at = "2026-02-03T04:05:06.700Z"
    const bulb = (id: number, price = "1.50"): RowChange =>
      insert(bulbs, { id, name: `B${id % 7}`, price, created_at: at, updated_at: at, deleted_at: null })
    await apply(...Array.from({ length: 200 }, (_, index) => bulb(index + 1)))
    const reads = await withStore((store) =>
      store.transaction(
        rememberingRows(
          Effect.gen(function* () {
            const first = store.find(bulbs, {}, { order: ["name", "id"], again: true })
            const answer = store.find(bulbs, { price: "1.50" }, { order: ["-name", "id"] })
            const [{ length }] = [yield* first]
            const others = (...changes: ReadonlyArray<RowChange>) =>
              engine === "pg" ? [Effect.promise(() => apply(...changes))] : []
            const changed: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
              Effect.void,
              store.apply([update(bulbs, 1, { name: "own" }), bulb(300)]),
              ...others(update(bulbs, 2, { name: "other's" })),
              ...others(bulb(301)),
              ...others(remove(bulbs as unknown as Table, 3), update(bulbs, 4, { price: "2.00" })),
              Effect.exit(
                store.transaction(
                  Effect.andThen(
                    store.apply([update(bulbs, 5, { name: "not" })]),
                    Effect.andThen(answer, Effect.fail(0))
                  )
                )
              ),
              store.transaction(Effect.andThen(store.apply([update(bulbs, 5, { name: "within" })]), answer)),
              store.apply([update(bulbs, 6, { price: "2.00" })]),
              Effect.andThen(store.run("update bulbs set name = 'by hand' where id = 7"), first),
              store.apply([updateWhere(bulbs, { id: [8, 9] }, { name: "both" })]),
              store.apply([remove(bulbs as unknown as Table, 10)])
            ]
            const found: Array<readonly [ReadonlyArray<AnyRow>, ReadonlyArray<AnyRow>]> = []
            for (const change of changed) {
              yield* change
              found.push([yield* answer, yield* unremembered(answer)])
            }
            return { length, found }
          })
        )
      )
    )
    expect(reads.length).toBe(200)
    for (const [known, stored] of reads.found) expect(known).toEqual(stored)
    expect(reads.found.at(-1)![1].length).toBe(engine === "pg" ? 198 : 199)
  })
  it("are returned once each for 12,000 keys, repeated keys among them", async () => {
    await apply(...Array.from({ length: 20 }, (_, at) => cell({ id: at + 1 })))
    const keys = [...Array.from({ length: 12_000 }, (_, at) => at + 10), 3, 3]
    const ids = await withStore((store) =>
      Effect.map(store.getMany(cells, keys), (rows) => rows.map((row) => row.id).sort((a, b) => a - b))
    )
    expect(ids).toEqual([3, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
    expect(await withStore((store) => store.getMany(cells, []))).toEqual([])
  })
  it("are read by 1 to 100 keys with 13 statements for several keys on SQLite", async () => {
    await apply(cell({ id: 1 }), cell({ id: 90 }))
    const prepare = vi.spyOn(DatabaseSync.prototype, "prepare")
    for (let length = 1; length <= 100; length++) {
      const keys = Array.from({ length }, (_, at) => at + 1)
      const rows = await withStore((store) => store.getMany(cells, keys))
      expect(rows.map(({ id }) => id)).toEqual(length < 90 ? [1] : [1, 90])
    }
    const several = prepare.mock.calls.filter(([sql]) => sql.includes(`"id" in (`))
    prepare.mockRestore()
    expect(several.length).toBe(engine === "pg" ? 0 : 13)
  })
  it("cannot be filtered by an unknown column", async () => {
    await expect(withStore((store) => store.find(cells, { nonsense: 1 }))).rejects.toThrow("no column nonsense")
  })
})

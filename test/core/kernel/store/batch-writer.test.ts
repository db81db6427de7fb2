import { Effect } from "effect"
import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import { boolean, decimal, integer, type Json, json, text, timestamp } from "../../../../core/kernel/fields/field.ts"
import { createTable } from "../../../../core/kernel/store/statement.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { plainTable, type RowChange, type Table } from "../../../../core/kernel/tables/table.ts"
import { both_engines } from "../../../app.ts"
import { openShop } from "../lamp-shop.ts"

const columns = {
  id: integer(),
  name: text({ nullable: true, search: true }),
  size: integer({ default: 3 }),
  amount: decimal({ scale: 2, default: "1.00" }),
  note: text({ nullable: true, default: "none" }),
  lit: boolean({ default: false }),
  about: json<Json>({ form: "any", nullable: true }),
  seen_at: timestamp({ nullable: true })
}
const tables: ReadonlyArray<Table> = ["left_cells", "right_cells"].map(
  (name) => plainTable(name, "id", columns) as unknown as Table
)

const seats = plainTable(
  "seats",
  "id",
  { id: integer(), place: integer(), name: text() },
  { uniques: [{ columns: ["place"], field: "place", message: "The place is taken." }] }
)

const set = fc.record(
  {
    name: fc.option(fc.constantFrom("Ärger", "b")),
    size: fc.integer({ min: 1, max: 3 }),
    amount: fc.constantFrom("0.00", "-2.50"),
    note: fc.option(fc.constant("seen")),
    lit: fc.boolean(),
    about: fc.constantFrom<Json>(null, { deep: ["Ä", 1.5, null] }, "text", [], 7),
    seen_at: fc.constantFrom(null, "2026-07-01T08:00:00.000Z")
  },
  { requiredKeys: [] }
)
const key = fc.integer({ min: 1, max: 4 })
const size = fc.integer({ min: 1, max: 3 })
const where = fc.oneof(
  fc.record({ size }),
  fc.record({ size, lit: fc.boolean() }),
  fc.record({ lit: fc.boolean() }),
  fc.record({ note: fc.constantFrom("none", "seen") }),
  fc.record({ name: fc.constant("b") }),
  fc.record({ note: fc.constant(null), size }),
  fc.record({ size: fc.array(size) })
)
const change: fc.Arbitrary<RowChange> = fc
  .constantFrom(...tables)
  .chain((table): fc.Arbitrary<RowChange> =>
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.tuple(key, set).map(([id, row]): RowChange => ({ op: "insert", table, row: { ...row, id } }))
      },
      {
        weight: 4,
        arbitrary: fc.tuple(key, set).map(([id, row]): RowChange => ({ op: "update", table, key: id, set: row }))
      },
      { weight: 2, arbitrary: key.map((id): RowChange => ({ op: "delete", table, key: id })) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(where, set)
          .map(([where, row]): RowChange => ({ op: "update_where", table, where, set: row }))
      },
      { weight: 3, arbitrary: where.map((where): RowChange => ({ op: "delete_where", table, where })) }
    )
  )

/** Changes without inserts of an existing key, which are always refused. */
const possible = (changes: ReadonlyArray<RowChange>): ReadonlyArray<RowChange> => {
  const there = new Map<Table, Set<unknown>>(tables.map((table) => [table, new Set()]))
  return changes.filter((one) => {
    const keys = there.get(one.table)!
    if (one.op === "insert") {
      if (keys.has(one.row["id"])) return false
      keys.add(one.row["id"])
    }
    if (one.op === "delete") keys.delete(one.key)
    return true
  })
}

describe.each(both_engines)("batched row changes on %s", (engine) => {
  const opening = openShop(engine)
  afterAll(async () => (await opening).close())

  const ready = opening.then(async (shop) => {
    await shop.run(
      Effect.flatMap(Store, (store) =>
        Effect.forEach(
          [...tables, seats].flatMap((table) => createTable(table, store.dialect)),
          (text) => store.run(text)
        )
      )
    )
    return shop
  })
  const left = async (changes: ReadonlyArray<ReadonlyArray<RowChange>>) =>
    (await ready).run(
      Effect.gen(function* () {
        const store = yield* Store
        for (const table of tables) yield* store.run(`delete from ${table.name}`)
        for (const some of changes) yield* store.apply(some)
        return yield* Effect.forEach(tables, (table) => store.run(`select * from ${table.name} order by id`))
      })
    )

  it("leave the same rows as single changes, existing rows included", async () => {
    const lists = fc.tuple(fc.array(change, { maxLength: 20 }), fc.array(change, { maxLength: 30 }))
    await fc.assert(
      fc.asyncProperty(lists, async ([first, second]) => {
        const all = possible([...first, ...second])
        const before = all.filter((one) => first.includes(one)),
          after = all.filter((one) => !first.includes(one))
        expect(await left([before, after])).toEqual(await left(all.map((one) => [one])))
      }),
      { numRuns: engine === "sqlite" ? 300 : 60, seed: 4480 }
    )
  })
  it("leave the same rows as single changes for 150 similar updates", async () => {
    const [table] = tables
    const rows = Array.from({ length: 150 }, (_, at) => ({ id: at + 1, name: `Row ${at}` }))
    const changes = rows.map(({ id }): RowChange => ({
      op: "update",
      table: table!,
      key: id,
      set:
        id % 3 === 0
          ? { size: id, name: `ÄNDERUNG ${id}` }
          : { about: { id }, amount: `${id}.50`, lit: id % 2 === 0, seen_at: "2026-07-01T08:00:00.000Z" }
    }))
    const fill = rows.map((row): RowChange => ({ op: "insert", table: table!, row }))
    expect(await left([fill, changes])).toEqual(await left([fill, ...changes.map((one) => [one])]))
  })
  it.each([2, 80])(
    "leave the same rows as single inserts for %i rows, whichever columns have one value",
    async (count) => {
      const texts = ["", "null", 'a "b" \\ {c},', "\u001e", "line\nÄ"]
      const documents: ReadonlyArray<Json> = [
        null,
        "",
        "\u001e",
        [],
        {},
        { deep: ['"', "\u001e\n", null, 1.5] },
        7,
        false
      ]
      const value = <A>(all: ReadonlyArray<A>, at: number): A => all[at % all.length]!
      const rowsOf = (varying: (name: string) => number): ReadonlyArray<RowChange> =>
        Array.from({ length: count }, (_, at) => {
          const at_of = (name: string): number => at * varying(name)
          const row = {
            id: at + 1,
            name: value(["Ärger", null, "b"], at_of("name")),
            size: 5 + at_of("size"),
            amount: value(["0.00", "-2.50", "12345678901234.25"], at_of("amount")),
            note: value(texts, at_of("note")),
            lit: value([true, false], at_of("lit")),
            about: value(documents, 5 + at_of("about")),
            seen_at: value(["2026-07-01T08:00:00.000Z", null], at_of("seen_at"))
          }
          return { op: "insert", table: tables[0]!, row }
        })
      const names = Object.keys(columns)
      // More different statements than are kept.
      for (const all of [
        rowsOf(() => 0),
        rowsOf(() => 1),
        ...names.map((name) => rowsOf((one) => Number(one === name)))
      ])
        expect(await left([all])).toEqual(await left(all.map((one) => [one])))
    }
  )
  it("keep the order of changes where a unique constraint depends on it", async () => {
    const seated = (id: number, place: number): RowChange => ({ op: "update", table: seats, key: id, set: { place } })
    const named = (id: number, name: string): RowChange => ({ op: "update", table: seats, key: id, set: { name } })
    const rows = await (
      await ready
    ).run(
      Effect.gen(function* () {
        const store = yield* Store
        yield* store.apply(
          [1, 2].map((id): RowChange => ({ op: "insert", table: seats, row: { id, place: id, name: "" } }))
        )
        // Each takes the position the one before has left.
        yield* store.apply([
          named(1, "Ann"),
          seated(1, 3),
          named(2, "Bob"),
          seated(2, 1),
          named(1, "Anna"),
          seated(1, 2)
        ])
        return yield* store.find(seats, {})
      })
    )
    expect(rows).toEqual([
      { id: 1, place: 2, name: "Anna" },
      { id: 2, place: 1, name: "Bob" }
    ])
  })
  it("reject a second row with the same key, and write neither", async () => {
    const [table] = tables
    const twice = [
      { id: 999, name: "one" },
      { id: 999, name: "two" }
    ].map((row): RowChange => ({ op: "insert", table: table!, row }))
    const shop = await ready
    const rows = await shop.run(
      Effect.gen(function* () {
        const store = yield* Store
        const exit = yield* Effect.exit(store.transaction(store.apply(twice)))
        expect(exit._tag).toBe("Failure")
        return yield* store.find(table!, { id: 999 })
      })
    )
    expect(rows).toEqual([])
  })
})

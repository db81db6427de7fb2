import { Effect } from "effect"
import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import type { RowChange } from "../../../core/kernel/change.ts"
import { decimal, integer, text } from "../../../core/kernel/field.ts"
import { createTable } from "../../../core/kernel/store/dialect.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { plainTable, type Table } from "../../../core/kernel/table.ts"
import { engines } from "../../app.ts"
import { openShop } from "./lamp-shop.ts"

const columns = {
  id: integer(), name: text({ nullable: true, search: true }), size: integer({ default: 3 }), amount: decimal({ scale: 2, default: "1.00" }), note: text({ nullable: true, default: "none" })
}
const tables: ReadonlyArray<Table> = ["left_cells", "right_cells"].map((name) => plainTable(name, "id", columns) as unknown as Table)

const set = fc.record({
  name: fc.option(fc.constantFrom("Ärger", "b")), size: fc.integer({ min: 1, max: 3 }), amount: fc.constantFrom("0.00", "-2.50"), note: fc.option(fc.constant("seen"))
}, { requiredKeys: [] })
const key = fc.integer({ min: 1, max: 4 })
const where = fc.record({ size: fc.integer({ min: 1, max: 3 }) })
const change: fc.Arbitrary<RowChange> = fc.constantFrom(...tables).chain((table): fc.Arbitrary<RowChange> => fc.oneof(
  { weight: 4, arbitrary: fc.tuple(key, set).map(([id, row]): RowChange => ({ op: "insert", table, row: { ...row, id } })) },
  { weight: 4, arbitrary: fc.tuple(key, set).map(([id, row]): RowChange => ({ op: "update", table, key: id, set: row })) },
  { weight: 2, arbitrary: key.map((id): RowChange => ({ op: "delete", table, key: id })) },
  { weight: 1, arbitrary: fc.tuple(where, set).map(([where, row]): RowChange => ({ op: "update_where", table, where, set: row })) },
  { weight: 1, arbitrary: where.map((where): RowChange => ({ op: "delete_where", table, where })) }
))

/** Without inserts of a key that is there: those are refused either way. */
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

describe.each(engines)("carrying out row changes together on %s", (engine) => {
  const opening = openShop(engine)
  afterAll(async () => (await opening).close())

  it("leaves the rows that carrying them out one by one leaves", async () => {
    const shop = await opening
    await shop.run(Effect.flatMap(Store, (store) => Effect.forEach(tables.flatMap((table) => createTable(table, store.dialect)), (text) => store.run(text))))
    const left = (changes: ReadonlyArray<ReadonlyArray<RowChange>>) => shop.run(Effect.gen(function*() {
      const store = yield* Store
      for (const table of tables) yield* store.run(`delete from ${table.name}`)
      for (const some of changes) yield* store.apply(some)
      return yield* Effect.forEach(tables, (table) => store.run(`select * from ${table.name} order by id`))
    }))
    await fc.assert(fc.asyncProperty(fc.array(change, { maxLength: 30 }).map(possible), async (changes) => {
      expect(await left([changes])).toEqual(await left(changes.map((one) => [one])))
    }), { numRuns: engine === "sqlite" ? 300 : 60, seed: 4480 })
  })
  it("refuses a second row of one key, and leaves none of them", async () => {
    const [table] = tables
    const twice = [{ id: 9, name: "one" }, { id: 9, name: "two" }].map((row): RowChange => ({ op: "insert", table: table!, row }))
    const shop = await opening
    const rows = await shop.run(Effect.gen(function*() {
      const store = yield* Store
      const exit = yield* Effect.exit(store.transaction(store.apply(twice)))
      expect(exit._tag).toBe("Failure")
      return yield* store.find(table!, { id: 9 })
    }))
    expect(rows).toEqual([])
  })
})

/** Counts kept by triggers equal a count of the rows after any changes, also concurrent ones. */
import { Data, Effect } from "effect"
import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import { boolean, integer, timestamp } from "../../../../core/kernel/fields/field.ts"
import { countStatements } from "../../../../core/kernel/store/kept-counts.ts"
import { createTable } from "../../../../core/kernel/store/statement.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { plainTable, type RowChange, type Table } from "../../../../core/kernel/tables/table.ts"
import { both_engines } from "../../../app.ts"
import { openShop } from "../lamp-shop.ts"

const cells = plainTable(
  "counted_cells",
  "id",
  {
    id: integer(),
    size: integer({ nullable: true }),
    lit: boolean({ default: false }),
    seen: integer({ default: 0 }),
    deleted_at: timestamp({ nullable: true })
  },
  { soft_delete: true, counted_by: ["lit", "size"], on_conflict_ignore: true }
) as unknown as Table
const some_time = "2026-07-01T08:00:00.000Z"

const id = fc.integer({ min: 1, max: 12 })
const size = fc.constantFrom(null, 1, 2)
const set = fc.record(
  { size, lit: fc.boolean(), seen: fc.nat(3), deleted_at: fc.constantFrom(null, some_time) },
  { requiredKeys: [] }
)
const where = fc.oneof(
  fc.record({ size }),
  fc.record({ lit: fc.boolean() }),
  fc.record({ deleted_at: fc.constant(null) })
)
const change: fc.Arbitrary<RowChange> = fc.oneof(
  fc.tuple(id, set).map(([key, row]): RowChange => ({ op: "insert", table: cells, row: { ...row, id: key } })),
  fc.tuple(id, set).map(([key, row]): RowChange => ({ op: "update", table: cells, key, set: row })),
  id.map((key): RowChange => ({ op: "delete", table: cells, key })),
  fc.tuple(where, set).map(([one, row]): RowChange => ({ op: "update_where", table: cells, where: one, set: row })),
  where.map((one): RowChange => ({ op: "delete_where", table: cells, where: one }))
)
class TakenBack extends Data.TaggedError("TakenBack") {}
/** Applies the changes in one transaction, which may be rolled back. */
const written = (changes: ReadonlyArray<RowChange>, is_taken_back = false) =>
  Store.transaction(
    Effect.andThen(
      Store.apply(changes),
      Effect.suspend(() => (is_taken_back ? Effect.fail(new TakenBack()) : Effect.void))
    )
  ).pipe(Effect.catchTag("TakenBack", () => Effect.void))
const added = (key: number, row: { readonly [column: string]: unknown } = {}): RowChange => ({
  op: "insert",
  table: cells,
  row: { id: key, size: 1, ...row }
})
const counts = (from: string, count: string) =>
  Effect.map(
    Store.run<{ size: unknown; lit: boolean; rows: unknown }>(
      `select size, lit, ${count} as rows from ${from} group by size, lit having ${count} <> 0`
    ),
    (rows) => rows.map((row) => `${row.size}, ${row.lit}: ${Number(row.rows)}`).sort()
  )
const kept = counts("counted_cells_counts", "sum(rows)")
const counted = counts("counted_cells where deleted_at is null", "count(*)")

describe.each(both_engines)("the kept counts of a table on %s", (engine) => {
  const ready = openShop(engine).then(async (shop) => {
    await shop.run(
      Effect.flatMap(Store, ({ dialect, run }) =>
        Effect.forEach([...createTable(cells, dialect), ...countStatements(cells, dialect)], (text) => run(text))
      )
    )
    return shop
  })
  afterAll(async () => (await ready).close())
  const emptied = Store.run("delete from counted_cells")

  it("equal the number of its rows after any transactions, rolled back ones included", async () => {
    const shop = await ready
    const transactions = fc.array(fc.tuple(fc.array(change, { maxLength: 6 }), fc.boolean()), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(transactions, async (all) => {
        await shop.run(emptied)
        for (const [changes, is_taken_back] of all) {
          await shop.run(written(changes, is_taken_back))
          expect(await shop.run(kept)).toEqual(await shop.run(counted))
        }
      }),
      { numRuns: engine === "sqlite" ? 80 : 30, seed: 4480 }
    )
  })
  it("equal the number of its rows after concurrent writers, and take fewer than 800 rows themselves", async () => {
    const shop = await ready
    await shop.run(emptied)
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let at = 0; at < 60; at++) {
        const key = 100 * (writer + 1) + at
        await shop.run(written([added(key, { lit: at % 2 === 0 })], at % 5 === 0))
        await shop.run(written([{ op: "update", table: cells, key, set: { size: at % 3 } }], at % 7 === 0))
      }
    })
    await Promise.all(writers)
    expect(await shop.run(kept)).toEqual(await shop.run(counted))
    const [{ rows } = { rows: Infinity }] = await shop.run(
      Store.run<{ rows: number }>("select count(*) as rows from counted_cells_counts")
    )
    // Unmerged, 8 writers leave about a thousand.
    expect(rows).toBeLessThan(800)
  })
  it.runIf(engine === "sqlite")("are changed without reading those of other groups", async () => {
    const change = 'update counted_cells_counts set "rows" = "rows" + 1 where "size" is ? and "lit" is ?'
    const plan = await (await ready).run(Store.run<{ detail: string }>(`explain query plan ${change}`, [1, true]))
    expect(plan.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/^SEARCH counted_cells_counts USING INDEX .*\(.*=\? AND .*=\?\)$/)
    ])
  })
  it.runIf(engine === "pg")("let a writer commit while another is counting the same group", async () => {
    const shop = await ready
    await shop.run(emptied)
    await shop.run(
      Store.transaction(
        Effect.gen(function* () {
          yield* Store.apply([added(1)])
          yield* Effect.promise(() => shop.run(written([added(2)])))
          expect(yield* kept).toEqual(["1, false: 2"])
        })
      )
    )
    expect(await shop.run(kept)).toEqual(["1, false: 2"])
  })
  it("include rows that existed before the counts were added", async () => {
    const shop = await ready
    await shop.run(emptied)
    await shop.run(written([added(1), added(2, { deleted_at: some_time }), added(3, { size: null })]))
    await shop.run(
      Effect.flatMap(Store, ({ dialect, run }) =>
        Effect.gen(function* () {
          for (const verb of ["insert", "update", "delete"])
            yield* run(`drop trigger counted_cells_counts_${verb}${dialect === "pg" ? " on counted_cells" : ""}`)
          yield* run("drop table counted_cells_counts")
          yield* Effect.forEach(countStatements(cells, dialect), (text) => run(text))
        })
      )
    )
    expect(await shop.run(kept)).toEqual(["1, false: 1", "null, false: 1"])
  })
})

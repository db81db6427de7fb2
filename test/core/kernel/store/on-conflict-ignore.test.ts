import { Effect } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { integer, text } from "../../../../core/kernel/fields/field.ts"
import { createTable } from "../../../../core/kernel/store/statement.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { plainTable, type RowChange, type Table } from "../../../../core/kernel/tables/table.ts"
import { both_engines } from "../../../app.ts"
import { openShop } from "../lamp-shop.ts"

const notes = plainTable(
  "first_notes",
  "id",
  { id: integer(), note: text() },
  { on_conflict_ignore: true }
) as unknown as Table
const noted = (id: number, note: string): RowChange => ({ op: "insert", table: notes, row: { id, note } })

describe.each(both_engines)("a table with on_conflict_ignore on %s", (engine) => {
  const opening = openShop(engine)
  afterAll(async () => (await opening).close())

  it("keeps the first row of a key, in one batch or later", async () => {
    const shop = await opening
    const rows = await shop.run(
      Effect.gen(function* () {
        const store = yield* Store
        for (const statement of createTable(notes, store.dialect)) yield* store.run(statement)
        yield* store.apply([noted(1, "first"), noted(1, "again"), noted(2, "first")])
        yield* store.apply([noted(2, "later")])
        yield* store.apply([noted(1, "later"), noted(2, "later"), noted(3, "first")])
        return yield* store.run("select id, note from first_notes order by id")
      })
    )
    expect(rows.map((row) => [Number(row.id), row.note])).toEqual([
      [1, "first"],
      [2, "first"],
      [3, "first"]
    ])
  })
  it("reports the existing row as the image before a repeated insert", async () => {
    const shop = await opening
    const images = await shop.run(
      Effect.flatMap(Store, (store) => Effect.forEach([noted(1, "later"), noted(9, "new")], store.imagesBefore))
    )
    expect(images.map(([image]) => [image!.key, image!.row?.["note"]])).toEqual([
      [1, "first"],
      [9, undefined]
    ])
  })
})

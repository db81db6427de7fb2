/** The database rejects overlapping demands of one unit, even if the rules missed them (rules/availability 2). */
import { beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { demands } from "../../../../core/orders/demands/schema.ts"
import { insert, type RowChange, update } from "../../../../core/kernel/tables/table.ts"
import { constraintRejection } from "../../../../core/kernel/store/database-errors.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { both_engines } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"
import { demand } from "../availability/api/fixtures.ts"

describe.each(both_engines)("the database of %s", (engine) => {
  const w = appHouse(engine)
  beforeAll(async () => {
    w.app.invented.add("claims")
  })
  const at = (day: number): string => `2026-07-${String(day).padStart(2, "0")}T09:00:00.000Z`
  const claim = (id: number, asset_id: number | null, from: number, to: number, over: object = {}) =>
    insert(demands, {
      ...demand(1, at(from), at(to), { id, asset_id, product_id: 1, source_id: id, opportunity_id: 1 }),
      buffered_starts_at: at(from),
      buffered_ends_at: at(to),
      reaches_to: at(to),
      created_at: at(1),
      updated_at: at(1),
      deleted_at: null,
      ...over
    })
  const apply = (...changes: ReadonlyArray<RowChange>) =>
    w.app.run(
      Effect.flatMap(Store, (store) => store.transaction(store.apply(changes))).pipe(
        Effect.as("done"),
        Effect.catch((failure) => Effect.succeed(constraintRejection(failure, [demands])))
      )
    )

  it("rejects overlapping demands of one unit, and accepts adjoining, inactive and other units' demands", async () => {
    expect(await apply(claim(1, 7, 10, 15))).toBe("done")
    for (const [from, to] of [
      [10, 15],
      [11, 12],
      [9, 16],
      [14, 20],
      [5, 11]
    ] as const)
      expect([from, to, await apply(claim(2, 7, from, to))]).toEqual([from, to, "overlap"])
    expect(
      await apply(
        claim(2, 7, 15, 20),
        claim(3, 7, 5, 10),
        claim(4, 8, 10, 15),
        claim(5, null, 10, 15),
        claim(6, 7, 11, 12, { is_active: false })
      )
    ).toBe("done")
  })

  it("rejects moving or reactivating a demand if another one has the unit at that time", async () => {
    expect(await apply(update(demands, 2, { buffered_starts_at: at(14) }))).toBe("overlap")
    expect(await apply(update(demands, 4, { asset_id: 7 }))).toBe("overlap")
    expect(await apply(update(demands, 6, { is_active: true }))).toBe("overlap")
    expect(
      await apply(update(demands, 2, { buffered_starts_at: at(16) }), update(demands, 1, { buffered_ends_at: at(16) }))
    ).toBe("done")
  })
})

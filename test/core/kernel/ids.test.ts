import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { allocateIds, releaseIds } from "../../../core/kernel/runtime/ids.ts"
import { both_engines } from "../../app.ts"
import { openShop } from "./lamp-shop.ts"

describe.each(both_engines)("ids on %s", (engine) => {
  it("are reused after release only on SQLite, and only if no later id was allocated", async () => {
    const shop = await openShop(engine)
    try {
      await shop.run(
        Effect.gen(function* () {
          const first = yield* allocateIds("lamps", 3)
          expect(first).toEqual([1, 2, 3])
          const second = yield* allocateIds("lamps", 2)
          yield* releaseIds("lamps", first.slice(1))
          const third = yield* allocateIds("lamps", 2)
          expect(new Set([...first, ...second, ...third]).size).toBe(7)
          yield* releaseIds("lamps", third)
          const fourth = yield* allocateIds("lamps", 1)
          // Postgres's sequences do not roll back.
          expect(fourth).toEqual(engine === "sqlite" ? third.slice(0, 1) : [8])
        })
      )
    } finally {
      await shop.close()
    }
  })
})

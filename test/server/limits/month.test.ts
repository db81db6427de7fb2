import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Store } from "../../../core/kernel/store/store.ts"
import {
  addMonthUnits,
  dropMonthsBefore,
  monthEnd,
  monthOf,
  monthUnits,
  unitsOf
} from "../../../server/http/limit-month.ts"
import { both_engines } from "../../app.ts"
import { serve, type Serving } from "../serving.ts"

describe("a month", () => {
  it.each([
    ["2026-11-01T00:00:00.000Z", "2026-11", "2026-12-01T00:00:00.000Z"],
    ["2026-11-30T23:59:59.999Z", "2026-11", "2026-12-01T00:00:00.000Z"],
    ["2026-12-31T23:59:59.999Z", "2026-12", "2027-01-01T00:00:00.000Z"],
    ["2028-02-29T12:00:00.000Z", "2028-02", "2028-03-01T00:00:00.000Z"]
  ])("contains its instants: %s is in %s, which ends at %s", (instant, month, end) => {
    expect(monthOf(Date.parse(instant))).toBe(month)
    expect(new Date(monthEnd(month)).toISOString()).toBe(end)
  })
  it.each([
    [1, 200, 1],
    [5, 202, 5],
    [5, 404, 5],
    [5, 422, 5],
    [5, 429, 0],
    [5, 500, 0],
    [1, 503, 0],
    [0, 200, 0]
  ])("counts %i units of weight for a request answered %i as %i", (weight, status, units) => {
    expect(unitsOf(weight, status)).toBe(units)
  })
})

describe.each(both_engines)("counters of months on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine)
  })
  afterAll(() => server.close())
  const add = (month: string, units: ReadonlyArray<readonly [number, number]>) =>
    server.run(Effect.flatMap(Store, (store) => store.transaction(addMonthUnits(new Map(units), month))))
  const read = (month: string, ...ids: ReadonlyArray<number>) =>
    server.run(Effect.map(monthUnits(ids, month), (found) => [...found].sort()))

  it("add up by token and month", async () => {
    await add("2030-01", [
      [12, 5],
      [3, 1]
    ])
    await add("2030-01", [
      [12, 1],
      [4, 7_000_000_000]
    ])
    await add("2030-02", [[12, 2]])
    expect(await read("2030-01", 3, 4, 5, 12)).toEqual([
      [12, 6],
      [3, 1],
      [4, 7_000_000_000]
    ])
    expect(await read("2030-02", 12)).toEqual([[12, 2]])
    expect(await read("2030-02")).toEqual([])
  })
  it("are unchanged when the transaction is rolled back", async () => {
    const failing = Effect.flatMap(Store, (store) =>
      store.transaction(Effect.andThen(addMonthUnits(new Map([[9, 3]]), "2030-01"), Effect.fail("no")))
    )
    await expect(server.run(failing)).rejects.toBeDefined()
    expect(await read("2030-01", 9)).toEqual([])
  })
  it("are deleted if their month is before the given one", async () => {
    await server.run(dropMonthsBefore("2030-02"))
    expect(await read("2030-01", 3, 4, 12)).toEqual([])
    expect(await read("2030-02", 12)).toEqual([[12, 2]])
  })
})

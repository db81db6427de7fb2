import { Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { loadSnapshots } from "../../../../../core/orders/availability/facts/load.ts"
import { snapshotsForLines } from "../../../../../core/orders/availability/api/window.ts"
import { Store } from "../../../../../core/kernel/store/store.ts"
import { both_engines } from "../../../../app.ts"
import { appHouse } from "../../../../app-house.ts"
import { demandOver } from "../../../stock-demands.ts"
import { at, ms } from "./fixtures.ts"

const context = { settings: {}, now: at("06-18T12:00") }

describe.each(both_engines)("availability snapshots loaded on %s", (engine) => {
  const w = appHouse(engine)
  let S: number
  beforeAll(async () => {
    S = await w.store()
  })
  const window = { from: ms("07-01"), to: ms("07-08") }

  /** Counts the statements that an effect sends. */
  const statements = <A, E>(effect: Effect.Effect<A, E, Store>): Promise<number> =>
    w.app.run(
      Effect.gen(function* () {
        const store = yield* Store
        let count = 0
        const counting = {
          ...store,
          run: ((text, values) => {
            count++
            return store.run(text, values)
          }) as typeof store.run,
          find: ((table, where, options) => {
            count++
            return store.find(table, where, options)
          }) as typeof store.find,
          getMany: ((table, keys) => {
            if (keys.length > 0) count++
            return store.getMany(table, keys)
          }) as typeof store.getMany
        }
        yield* Effect.provideService(effect, Store, counting)
        return count
      })
    )

  it("contain the demands in the window, overdue ones, and returns unchecked when it starts", async () => {
    const P = await w.units(S, 3)
    const source = async (from: string, to: string | null, more = {}) => demandOver(w.app, P.id, S, 1, from, to, more)
    const [asset, late, back] = P.units as [number, number, number]
    const wanted = [
      await source("06-30", "07-02"),
      await source("07-07T23:00", "07-09"),
      await source("01-01", null),
      await source("02-01", "02-03", { asset_id: late, out: true }),
      await source("03-01", "03-02", {
        asset_id: back,
        phase: "closed",
        is_active: false,
        pending_checkin: true,
        returned_at: at("03-02")
      }),
      await source("04-01", "04-02", {
        asset_id: asset,
        phase: "closed",
        is_active: false,
        returned_at: at("04-02"),
        checked_at: at("07-03")
      })
    ]
    for (const [from, to, more] of [
      ["06-30", "07-01", {}],
      ["07-08", "07-09", {}],
      ["07-02", "07-03", { phase: "draft" }],
      [
        "04-03",
        "04-04",
        { asset_id: asset, phase: "closed", is_active: false, returned_at: at("04-04"), checked_at: at("04-05") }
      ]
    ] as const)
      await source(from, to, more)
    const snapshot = (await w.app.run(loadSnapshots({ store_ids: [S], product_ids: [P.id], window }, context))).get(S)
    expect(snapshot?.demandsOf(P.id).map(({ demand }) => demand.source_id)).toEqual(wanted)
  })
  it("take at most six statements, for one or many products and stores", async () => {
    const T = await w.store()
    const made: Array<number> = []
    for (let n = 0; n < 12; n++) {
      const P = await w.bulk(S, 5)
      await demandOver(w.app, P.id, n % 2 === 0 ? S : T, 1, "07-01", "07-03")
      made.push(P.id)
    }
    const one = await statements(loadSnapshots({ store_ids: [S], product_ids: made.slice(0, 1), window }, context))
    const many = await statements(loadSnapshots({ store_ids: [S, T], product_ids: made, window }, context))
    const all = await statements(loadSnapshots({ store_ids: [S, T], window }, context))
    expect(one).toBeLessThanOrEqual(6)
    expect(many).toBeLessThanOrEqual(6)
    expect(all).toBeLessThanOrEqual(6)
    const lines = made.map((product_id, id) => ({
      id,
      product_id,
      store_id: id % 2 === 0 ? S : T,
      quantity: 1,
      starts_at: at("07-01"),
      ends_at: at("07-03")
    }))
    expect(await statements(snapshotsForLines(lines, context))).toBeLessThanOrEqual(6)
  })
  it("read the rows of their products alone, however often these are named", async () => {
    const { id } = await w.bulk(S, 5)
    const read = (product_ids: ReadonlyArray<number>) =>
      w.app.run(
        Effect.gen(function* () {
          const store = yield* Store
          const statements: Array<unknown> = []
          const watching: typeof store = {
            ...store,
            readAll: (given) => {
              statements.push(...given)
              return store.readAll(given)
            }
          }
          const loading = loadSnapshots({ store_ids: [S], product_ids, window }, context)
          yield* Effect.provideService(loading, Store, watching)
          return statements
        })
      )
    expect(await read(Array(2_001).fill(id))).toEqual(await read([id]))
  })
  it("are empty for unknown stores and for an empty list of lines", async () => {
    expect((await w.app.run(loadSnapshots({ store_ids: [99_999], product_ids: [1], window }, context))).size).toBe(0)
    expect(await w.app.run(snapshotsForLines([], context))).toEqual(new Map())
  })
})

/** Shortage flags of other orders when a unit that is out of service, and out on hire, moves. */
import { describe, expect, it } from "vitest"
import { both_engines } from "../../../../app.ts"
import { appHouse } from "../../../../app-house.ts"
import { dates, day, scanFixture } from "../../../warehouse/scanning/fixture.ts"

describe.each(both_engines)("a unit out on hire that is out of service afterwards, on %s", (engine) => {
  const w = appHouse(engine)
  const s = scanFixture(w)

  it("keeps others short when it comes back early, and their flag agrees with their availability", async () => {
    await w.put("/stores/1", { shortage_policy: "warn" })
    const [product, unit] = await s.heads(1)
    const lines = [{ item_id: product.id, quantity: 1 }]
    const hire = await s.order(lines, dates(1, 8))
    w.app.setClock(`${day(1)}T12:00:00.000Z`)
    await s.done(hire, "out", unit!.asset_number)
    const quarantined = { reason: "cracked", expected_back_at: `${day(12)}T09:00:00.000Z` }
    expect((await w.post(`/stock_levels/${unit!.id}/quarantine`, quarantined)).status).toBeLessThan(300)
    const other = await s.order(lines, dates(6, 7))
    const short = async () => {
      const [line] = await w.show(`/opportunities/${other.id}/availability`)
      return [line?.has_shortage, (await w.show(`/opportunities/${other.id}`)).has_shortage]
    }
    expect(await short()).toEqual([true, true])
    w.app.setClock(`${day(3)}T12:00:00.000Z`)
    await s.done(hire, "in", unit!.asset_number, { finalise: true })
    expect(await short()).toEqual([true, true])
  })
})

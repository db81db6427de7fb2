/** Parameters of a scan besides its code, on both engines: the time, and the intended unit. */
import { describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { appHouse, refused } from "../../../app-house.ts"
import { dates, type ScanFixture, scanFixture } from "./fixture.ts"

describe.each(engines)("times and units sent with a scan, on %s", (engine) => {
  const w = appHouse(engine)
  const s = scanFixture(w)

  it("must be within the last year, and not before the unit was dispatched", async () => {
    const [product, a, b] = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    const at = await s.clockOf(gig)
    const minutes = (some: number): string => at(some).scanned_at
    const before = await w.app.dump()
    for (const [scanned_at, wrong] of [
      ["2199-01-01T00:00:00Z", "must not be in the future"],
      [minutes(60), "must not be in the future"],
      [minutes(-60 * 24 * 400), "must not be more than a year ago"],
      ["1901-01-01T00:00:00Z", "must not be more than a year ago"]
    ])
      for (const direction of ["out", "in"] as const)
        expect((await s.scan(gig, direction, a!.asset_number, { scanned_at })).body.errors).toEqual({
          scanned_at: [`The scanned at field ${wrong}; leave it out where the scan is now.`]
        })
    expect(await w.app.dump()).toEqual(before)

    await s.done(gig, "out", a!.asset_number, { scanned_at: minutes(-60 * 24 * 90) })
    await s.done(gig, "out", b!.asset_number, { scanned_at: minutes(-60) })
    const out = await w.app.dump()
    for (const path of [`/opportunities/${gig.id}/scan`, "/scan_in"])
      expect(
        (await w.post(path, { direction: "in", code: b!.asset_number, scanned_at: minutes(-70) })).body.errors
      ).toEqual({
        scanned_at: [
          `${b!.asset_number} went out at ${minutes(-60)} and cannot be back before that; ` +
            "leave it out where the scan is now."
        ]
      })
    expect(await w.app.dump()).toEqual(out)
    // Clocks of two scanners may differ a little: the later time is stored.
    await s.done(gig, "in", b!.asset_number, { scanned_at: minutes(-63) })
    const { assets } = (await w.get(`/opportunities/${gig.id}/assets`)).body
    expect(assets.map((one) => [one.dispatched_at, one.returned_at])).toEqual([
      [minutes(-60 * 24 * 90), null],
      [minutes(-60), minutes(-60)]
    ])
  })

  it("must not be before the unit's last return, nor a check before its return", async () => {
    const [product, unit] = await s.heads(1)
    const lines = [{ item_id: product.id, quantity: 1 }]
    const [first, second] = [await s.order(lines), await s.order(lines, dates(10, 12))]
    const at = await s.clockOf(second)
    const refusal = async (scan: ReturnType<ScanFixture["scan"]>): Promise<string> =>
      (await refused(scan, "scanned_at")).scanned_at[0]
    await s.done(first, "out", unit!.asset_number, at(-90))
    await s.done(first, "in", unit!.asset_number, at(-60))
    expect(await refusal(s.scan(first, "in", unit!.asset_number, { finalise: true, ...at(-80) }))).toContain(
      `came back at ${at(-60).scanned_at} and cannot be checked before that`
    )
    await s.done(first, "in", unit!.asset_number, { finalise: true, ...at(-63) })
    for (const minutes of [-60 * 24 * 300, -80])
      expect(await refusal(s.scan(second, "out", unit!.asset_number, at(minutes)))).toContain(
        `came back at ${at(-60).scanned_at} and cannot go out before that`
      )
    // Clocks of two scanners may differ a little: the later time is stored.
    await s.done(second, "out", unit!.asset_number, at(-64))
    const times = async (of: { id: number }) =>
      (await w.show(`/opportunities/${of.id}/assets`)).map((one) => [
        one.dispatched_at,
        one.returned_at,
        one.checked_at
      ])
    expect(await times(first)).toEqual([[-90, -60, -60].map((minutes) => at(minutes).scanned_at)])
    expect(await times(second)).toEqual([[at(-60).scanned_at, null, null]])
  })

  it("must not be before the last return of a unit in the dispatched case", async () => {
    const [product, ...units] = await s.heads(1)
    const lines = [{ item_id: product.id, quantity: 1 }]
    const [first, second] = [await s.order(lines), await s.order(lines, dates(10, 12))]
    const at = await s.clockOf(second)
    await s.done(first, "out", units[0]!.asset_number, at(-90))
    await s.done(first, "in", units[0]!.asset_number, at(-60))
    const { barcode } = await s.box(units)
    await refused(s.scan(second, "out", barcode, at(-80)), "scanned_at")
    await s.done(second, "out", barcode, at(-30))
  })

  it("must not be before the case was dispatched", async () => {
    const [product, ...units] = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    const { barcode } = await s.box(units)
    const at = await s.clockOf(gig)
    await s.done(gig, "out", barcode, at(-60))
    await refused(s.scan(gig, "in", barcode, at(-600)), "scanned_at")
    await s.done(gig, "in", barcode, at(-62))
  })

  it("must name the same unit if both a code and an id are sent", async () => {
    const [product, a, b] = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    const before = await w.app.dump()
    const name = (one: { id: number; asset_number: string }) => `${one.asset_number} (id ${one.id})`
    const wrong = (code: string) => refused(s.scan(gig, "out", code, { stock_level_id: a!.id }), "stock_level_id")
    expect((await wrong(b!.asset_number)).stock_level_id).toEqual([
      `"${b!.asset_number}" is no code of ${name(a!)} but of ${name(b!)}; send the one or the other.`
    ])
    expect((await wrong("NONSENSE")).stock_level_id).toEqual([
      `"NONSENSE" is no code of ${name(a!)}; send the one or the other.`
    ])
    expect((await s.scan(gig, "out", a!.asset_number, { vehicle_id: -5 })).body.errors).toEqual({
      vehicle_id: ["The vehicle field must be at least 1."]
    })
    expect(await w.app.dump()).toEqual(before)
    await s.done(gig, "out", a!.asset_number, { stock_level_id: a!.id })
  })
})

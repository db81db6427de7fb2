/** Inspections: due dates, failed and overdue units in availability and allocation, and undoing by deletion. */
import { describe, expect, it } from "vitest"
import { inspectionDueAt } from "../../../core/warehouse/inspections/rules.ts"
import { engines } from "../../app.ts"
import { appHouse, refused } from "../../app-house.ts"
import { paperOf, sketch } from "../documents/content/house.ts"
import { scanFixture } from "./scanning/fixture.ts"

const now = "2026-06-18T12:00:00.000Z"
const july = { starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-02T17:00:00Z" }

describe("a due date", () => {
  const level = { stock_category: 50, is_sub_hired: false, created_at: "2026-03-01T00:00:00.000Z" }
  const pat = { inspection_kind_id: 1, first_due_at: "2026-02-01T00:00:00.000Z" }
  const passed = { inspection_kind_id: 1, result: "pass", due_at: "2027-01-01T00:00:00.000Z" } as const
  it("is the earliest one of the inspection kinds that the unit's product needs, or null if it needs none", () => {
    const loler = { inspection_kind_id: 2, first_due_at: "2026-09-01T00:00:00.000Z" }
    expect(inspectionDueAt(level, [pat], [passed])).toBe(passed.due_at)
    expect(inspectionDueAt(level, [pat, loler], [passed])).toBe(loler.first_due_at)
    expect(inspectionDueAt(level, [pat], [])).toBe(level.created_at)
    expect(inspectionDueAt(level, [], [passed])).toBe(null)
  })
  it("is the time of the failure for a unit that failed, even if its product does not need that kind", () => {
    const failed = { inspection_kind_id: 3, result: "fail", due_at: "2026-05-01T00:00:00.000Z" } as const
    expect(inspectionDueAt(level, [pat], [passed, failed])).toBe(failed.due_at)
    expect(inspectionDueAt(level, [], [failed])).toBe(failed.due_at)
  })
  it("is null for bulk stock and sub-hired units", () => {
    expect(inspectionDueAt({ ...level, stock_category: 10 }, [pat], [])).toBe(null)
    expect(inspectionDueAt({ ...level, is_sub_hired: true }, [pat], [])).toBe(null)
  })
})

describe.each(engines)("inspections on %s", (engine) => {
  const w = appHouse(engine, now)
  let named = 0
  const kindNamed = async (interval_months = 12): Promise<number> =>
    (await w.create("/inspection_kinds", { name: `Kind ${++named}`, interval_months })).id
  const dueOf = async (unit: number) => (await w.show(`/stock_levels/${unit}`)).inspection_due_at
  const inspect = (stock_level_id: number, inspection_kind_id: number, result: string, more: object = {}) =>
    w.post("/inspections", { stock_level_id, inspection_kind_id, result, ...more })
  const policy = (to: string) => w.put("/settings/inspections", { settings: { policy: to } })
  const free = async (product: number, store = 1) =>
    (await w.show(`/availability?product_id=${product}&store_id=${store}&date=2026-07-01`)).available

  it("set a unit's due date by the product's interval or their own; a unit never inspected is due now", async () => {
    const [kind, other] = [await kindNamed(), await kindNamed(6)]
    const { id: product_id, units } = await w.units(1, 2)
    expect(await dueOf(units[0]!)).toBe(null)
    await w.create("/inspection_intervals", { inspection_kind_id: kind, product_id, interval_months: 3 })
    expect(await dueOf(units[0]!)).toBe(now)
    const { body } = await inspect(units[0]!, kind, "pass", { value: "0.12 Ω" })
    expect(body.inspection).toMatchObject({ inspected_at: now, due_at: "2026-09-18T12:00:00.000Z", is_latest: true })
    expect(await dueOf(units[0]!)).toBe("2026-09-18T12:00:00.000Z")
    await inspect(units[0]!, other, "pass")
    expect(await dueOf(units[0]!)).toBe("2026-09-18T12:00:00.000Z")
    const later = await w.create("/inspection_intervals", { inspection_kind_id: other, product_id })
    expect(await dueOf(units[1]!)).toBe(now)
    expect(await dueOf(await w.unit(product_id, 1))).toBe(now)
    await w.remove(`/inspection_intervals/${later.id}`)
    await inspect(units[0]!, kind, "pass", { due_at: "2030-01-01T00:00:00Z" })
    expect(await dueOf(units[0]!)).toBe("2030-01-01T00:00:00.000Z")
  })
  it.each([
    ["2025-01-31T10:20:30.400Z", 1, "UTC", "2025-02-28T10:20:30.400Z"],
    ["2023-12-31T00:00:00.000Z", 2, "UTC", "2024-02-29T00:00:00.000Z"],
    ["2025-06-18T12:00:00.000Z", 12, "UTC", "2026-06-18T12:00:00.000Z"],
    ["2025-08-30T23:30:00.000Z", 1, "Asia/Tokyo", "2025-09-29T23:30:00.000Z"],
    ["2025-10-18T12:00:00.000Z", 1, "Europe/London", "2025-11-18T13:00:00.000Z"]
  ])(
    "are due by the store's clock: passed at %s, after %i months, in %s",
    async (inspected_at, months, timezone, due) => {
      const [unit = 0] = (await w.units((await w.create("/stores", { name: "Elsewhere", timezone })).id, 1)).units
      const { body } = await inspect(unit, await kindNamed(months), "pass", { inspected_at })
      expect([body.inspection.due_at, await dueOf(unit)]).toEqual([due, null])
    }
  )
  it("count months by the company's clock in a store without a time zone", async () => {
    const { id, timezone } = await w.create("/stores", { name: "Anywhere" })
    const [unit = 0] = (await w.units(id, 1)).units
    await w.must("PUT", "/settings/company", { settings: { timezone: "Asia/Tokyo" } })
    const { body } = await inspect(unit, await kindNamed(1), "pass", { inspected_at: "2025-08-30T23:30:00Z" })
    await w.must("PUT", "/settings/company", { settings: { timezone: "UTC" } })
    expect([timezone, body.inspection.due_at]).toEqual([null, "2025-09-29T23:30:00.000Z"])
  })
  it("do not replace newer ones when recorded late, and deleting the newest makes the previous one count", async () => {
    const kind = await kindNamed()
    const { units } = await w.units(1, 1)
    const [unit] = units
    const first = (await inspect(unit!, kind, "pass", { inspected_at: "2026-01-10T00:00:00Z" })).body.inspection
    const second = (await inspect(unit!, kind, "fail", { inspected_at: "2026-05-01T00:00:00Z" })).body.inspection
    expect(await dueOf(unit!)).toBe("2026-05-01T00:00:00.000Z")
    const old = (await inspect(unit!, kind, "pass", { inspected_at: "2025-01-10T00:00:00Z" })).body.inspection
    expect(old.is_latest).toBe(false)
    expect(await dueOf(unit!)).toBe("2026-05-01T00:00:00.000Z")
    await w.remove(`/inspections/${second.id}`)
    expect(await dueOf(unit!)).toBe(null)
    expect((await w.show(`/inspections?q[stock_level_id_eq]=${unit}&q[is_latest_true]=1`)).map(({ id }) => id)).toEqual(
      [first.id]
    )
  })
  it("are rejected for bulk stock, in the future, with a past due date, and with any due date if they failed", async () => {
    const kind = await kindNamed()
    const { level, id } = await w.bulk(await w.store(), 3)
    const { units } = await w.units(1, 1)
    await refused(inspect(level, kind, "pass"), "stock_level_id")
    await refused(w.post("/inspection_intervals", { inspection_kind_id: kind, product_id: id }), "product_id")
    await refused(inspect(units[0]!, kind, "pass", { inspected_at: "2026-07-01T00:00:00Z" }), "inspected_at")
    await refused(inspect(units[0]!, kind, "pass", { due_at: "2026-06-01T00:00:00Z" }), "due_at")
    await refused(inspect(units[0]!, kind, "fail", { due_at: "2027-06-01T00:00:00Z" }), "due_at")
    await refused(w.post("/inspections", {}), "inspection_kind_id", "result", "stock_level_id")
  })
  it("list failed, overdue and due units by store, kind, product and date", async () => {
    const kind = await kindNamed()
    const store = await w.store()
    const { id: product_id, units } = await w.units(store, 4)
    await w.create("/inspection_intervals", { inspection_kind_id: kind, product_id })
    await inspect(units[0]!, kind, "pass")
    await inspect(units[1]!, kind, "fail", { inspected_at: "2026-05-01T00:00:00Z", note: "Plug cracked" })
    await inspect(units[2]!, kind, "pass", { inspected_at: "2025-01-01T00:00:00Z" })
    const list = async (more = "") => await w.show(`/inspection_dues?store_id=${store}${more}`)
    expect((await list()).map((one) => [one.stock_level_id, one.status])).toEqual([
      [units[2], "overdue"],
      [units[1], "failed"],
      [units[3], "overdue"],
      [units[0], "due"]
    ])
    expect(await list(`&due_before=${now}&stock_level_id=${units[0]}`)).toEqual([])
    expect((await list(`&due_before=2026-06-01T00:00:00Z&product_id=${product_id}`)).length).toBe(2)
    expect(await list(`&inspection_kind_id=${await kindNamed()}`)).toEqual([])
    expect((await w.get(`/inspection_dues?store_id=${store}&per_page=3&page=2`)).body.meta).toEqual({
      total: 4,
      per_page: 3,
      page: 2
    })
  })
  it("exclude failed and overdue units from allocation and availability if the policy is to block", async () => {
    await policy("block")
    const kind = await kindNamed()
    const { id: product_id, units } = await w.units(1, 2)
    const [bad, good] = units
    await w.create("/inspection_intervals", { inspection_kind_id: kind, product_id })
    expect(await free(product_id)).toBe(0)
    await inspect(good!, kind, "pass")
    await inspect(bad!, kind, "pass", { inspected_at: "2025-01-01T00:00:00Z" })
    expect(await free(product_id)).toBe(1)
    const order = await w.order(product_id, 1, july)
    const { body, status } = await w.allocate(order, bad!)
    expect([status, JSON.stringify(body.errors)]).toEqual([422, expect.stringContaining("has had no valid inspection")])
    expect((await w.allocate(order, good!)).status).toBe(200)
    await inspect(good!, kind, "fail")
    const { shortages, to_replace } = (await w.get(`/opportunities/${order.id}/shortages`)).body
    expect([shortages.length, to_replace[0].stock_level_id]).toEqual([1, good])
    expect((await w.show(`/opportunities/${order.id}`)).has_shortage).toBe(true)
    await inspect(bad!, kind, "pass")
    expect((await w.show(`/opportunities/${order.id}`)).has_shortage).toBe(false)
    await policy("warn")
    expect(await free(product_id)).toBe(1)
    expect(
      (
        await w.allocate(
          await w.order(product_id, 1, { starts_at: "2026-08-01T09:00:00Z", ends_at: "2026-08-02T09:00:00Z" }),
          good!
        )
      ).status
    ).toBe(200)
  })
  it("warn at allocation, on the pick list and as units go out if the policy is to warn", async () => {
    const kind = await kindNamed()
    const { id: product_id, units } = await w.units(1, 4)
    const [bad = 0, other = 0, cased = 0, fine = 0] = units
    for (const unit of [bad, other, cased]) await inspect(unit, kind, "fail", { inspected_at: "2026-05-01T00:00:00Z" })
    await inspect(fine, kind, "pass")
    const warning = expect.stringMatching(
      "^.+ has had no valid inspection since 2026-05-01T00:00:00.000Z; inspect it, or take another unit.$"
    )
    const order = await w.order(product_id, 4, july)
    const line = `/opportunities/${order.id}/items/${order.line.id}/assets`
    const assigned = await w.must("POST", line, { stock_level_id: bad })
    expect(assigned.meta.warnings).toEqual([warning])
    const allocations = [{ opportunity_item_id: order.line.id, stock_level_id: fine }]
    const quick = await w.must("POST", `/opportunities/${order.id}/quick_allocate`, { allocations })
    expect(quick.meta.warnings).toBeUndefined()
    const [of_fine] = await w.show(`/opportunities/${order.id}/assets?q[stock_level_id_eq]=${fine}`)
    const swap = { action: "substitute", stock_level_id: other }
    expect((await w.must("PATCH", `${line}/${of_fine!.id}`, swap)).meta.warnings).toEqual([warning])
    const pickList = async () => sketch(await paperOf(w.app, order.id, "pick_list"))
    expect((await pickList()).match(/No valid inspection since 01\/05\/2026/g)?.length).toBe(2)

    const asset_ids = [assigned.asset.id]
    const out = await w.must("POST", `/opportunities/${order.id}/quick_book_out`, { asset_ids })
    expect(out.meta.warnings).toEqual([warning])
    const scan = (code: object) => w.must("POST", `/opportunities/${order.id}/scan`, { direction: "out", ...code })
    expect((await scan({ stock_level_id: other })).meta.warnings).toEqual([warning])
    const box = await scanFixture(w).box([{ id: cased }])
    expect((await scan({ code: box.barcode })).meta.warnings).toEqual([warning])
    expect((await scan({ stock_level_id: fine })).meta).toBeUndefined()
    expect(await pickList()).not.toContain("No valid inspection")
  })
  it("give no warning at allocation or on the pick list if the policy is to allow", async () => {
    await policy("allow")
    const { id: product_id, units } = await w.units(1, 1)
    await inspect(units[0]!, await kindNamed(), "fail")
    const order = await w.order(product_id, 1, july)
    expect((await w.allocate(order, units[0]!)).body.meta?.warnings).toBeUndefined()
    expect(sketch(await paperOf(w.app, order.id, "pick_list"))).not.toContain("No valid inspection")
    await policy("warn")
  })
  it.each(["kit", "transport"])("keep a %s case whose own unit failed from going out, or warn of it", async (mode) => {
    const kind = await kindNamed()
    const { id: flight, units } = await w.units(1, 1)
    const [housing = 0] = units
    const template = { is_containerable: true, availability_mode: mode }
    await w.must("PUT", `/products/${flight}/container_template`, template)
    const { id: product_id, units: heads } = await w.units(1, 1)
    const kit = await w.create("/containers", { name: "Kit", serialised_item_id: housing })
    await w.must("POST", `/containers/${kit.id}/pack`, { serialised_item_id: heads[0] })
    await w.must("POST", `/containers/${kit.id}/seal`)
    await inspect(housing, kind, "fail")
    const order = await w.order(product_id, 1, july)
    const scan = () => w.post(`/opportunities/${order.id}/scan`, { direction: "out", code: `container:${kit.id}` })
    await policy("block")
    const { code } = await refused(scan(), "code")
    expect(code[0]).toMatch(/, the case of Kit, has had no valid inspection since .*; inspect it\.$/)
    await policy("warn")
    const { body, status } = await scan()
    expect([status, body.meta.warnings.length]).toEqual([200, 1])
  })
  it("keep a kit with a failed unit from being sealed and from going out, or warn of it, by the policy", async () => {
    const { id: flight, units } = await w.units(1, 1)
    await w.must("PUT", `/products/${flight}/container_template`, { is_containerable: true, availability_mode: "kit" })
    const { units: heads } = await w.units(1, 1)
    const kit = `/containers/${(await w.create("/containers", { name: "Kit", serialised_item_id: units[0] })).id}`
    await w.must("POST", `${kit}/pack`, { serialised_item_id: heads[0] })
    await inspect(heads[0]!, await kindNamed(), "fail")
    const order = await w.order(flight, 1, july)
    const dispatch = () => w.post(`${kit}/dispatch`, { opportunity_id: order.id })
    const scan = { direction: "out", code: kit.replace("/containers/", "container:") }
    await policy("block")
    const { container } = await refused(w.post(`${kit}/seal`, {}), "container")
    expect(container[0]).toMatch(/ inside has had no valid inspection since .*; take it out, or inspect it first\.$/)
    await policy("allow")
    await w.must("POST", `${kit}/seal`)
    await policy("block")
    await refused(dispatch(), "container")
    await refused(w.post(`/opportunities/${order.id}/scan`, scan), "code")
    await policy("warn")
    const { body, status } = await dispatch()
    expect([status, body.meta]).toEqual([
      200,
      { warnings: [expect.stringContaining("has had no valid inspection since")] }
    ])
  })
  it("are named on the delivery note if they passed, but not on the pick list", async () => {
    const kind = await kindNamed()
    const { id: product_id, units } = await w.units(1, 2)
    await inspect(units[0]!, kind, "pass", { inspected_at: "2026-06-01T12:00:00Z" })
    await inspect(units[1]!, kind, "fail")
    const order = await w.order(product_id, 2, july)
    expect((await w.allocate(order, ...units)).status).toBe(200)
    const note = JSON.stringify(await paperOf(w.app, order.id, "delivery_note"))
    expect(note.match(new RegExp(`Kind ${named} [0-9/]+`, "g"))).toEqual([`Kind ${named} 01/06/2026`])
    expect(JSON.stringify(await paperOf(w.app, order.id, "pick_list"))).not.toContain(`Kind ${named}`)
  })
  it("leave a unit available while they are valid, even for the day on which they become due", async () => {
    await policy("block")
    const kind = await kindNamed(1)
    const { id: product_id, units } = await w.units(1, 1)
    await w.create("/inspection_intervals", { inspection_kind_id: kind, product_id })
    await inspect(units[0]!, kind, "pass", { inspected_at: "2026-06-01T00:00:00Z" })
    expect(await dueOf(units[0]!)).toBe("2026-07-01T00:00:00.000Z")
    expect(await free(product_id)).toBe(1)
    await policy("warn")
  })
})

/** Lines and their demands, checks for shortages. */
import { expect } from "vitest"
import { refusedOn, type Scenario, scenario, type Scene, v1 } from "../availability-scenarios.ts"

/** 5 in stock, 4 of them reserved: an order for 3 is short by 2. */
const short = async (s: Scene, policies: object) => {
  const S = await s.store(policies),
    P = await s.bulk(S, 5)
  await s.claim(S, P, 4, "08-01", "08-03")
  const opportunity = await s.draft(S, P, 3, "08-01", "08-03")
  await s.move(opportunity.id, "convert_to_quotation")
  return { P, S, deal: opportunity }
}
const acknowledgements = (s: Scene, id: number, expected: ReadonlyArray<object>): void =>
  s.later(async ({ ask }) => {
    const { activity } = (await ask("GET", `${v1}/opportunities/${id}/activity`)).body
    expect(
      activity.filter((one: any) => one.action === "shortage.acknowledged").map((one: any) => one.new_values)
    ).toEqual(expected)
  })

export const demandScenarios = (): ReadonlyArray<Scenario> => [
  scenario("F1", "shows how much stock is left for a line", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 5)
    await s.claim(S, P, 4, "2026-08-01T09:00:00Z", "2026-08-03T17:00:00Z")
    const { id, line } = await s.claim(S, P, 3, "2026-08-01T09:00:00Z", "2026-08-03T17:00:00Z")
    expect((await s.get(`${v1}/opportunities/${id}/availability`)).body.availability).toMatchObject([
      {
        opportunity_item_id: line,
        product_id: P,
        store_id: S,
        requested_quantity: 3,
        available_for_item: 1,
        shortage_quantity: 2,
        has_shortage: true
      }
    ])
  }),
  scenario("F3", "claims nothing for a line without a product", async (s) => {
    const { id } = await s.draft(await s.store(), null, 2, "08-01", "08-03")
    expect((await s.get(`${v1}/opportunities/${id}/availability`)).body.availability).toEqual([])
  }),
  scenario("F5", "claims stock for orders, and not for drafts and quotations", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 5)
    const { id } = await s.draft(S, P, 2, "08-01", "08-03")
    const seen = async () => [
      (await s.get(`${v1}/opportunities/${id}`)).body.opportunity.availability_phase,
      (await s.point(P, S, "08-01")).total_demanded
    ]
    const steps = [await seen()]
    for (const step of ["convert_to_quotation", "convert_to_order"]) {
      await s.move(id, step)
      steps.push(await seen())
    }
    // The phase of an active order (rules/rulings 1).
    expect(steps).toEqual([
      ["draft", 0],
      ["draft", 0],
      ["reserved", 2]
    ])
  }),
  scenario("F7", "claims each allocated unit separately", async (s) => {
    const S = await s.store(),
      { id: P, units } = await s.units(S, 2)
    await s.allocate(await s.claim(S, P, 2, "08-01", "08-03"), ...units)
    expect((await s.gantt(P, S, "08-01", "08-03")).demands.map((one) => [one.asset_id, one.quantity])).toEqual(
      units.map((id) => [id, 1])
    )
    expect(
      (await s.get(`${v1}/products/${P}/available-assets?store_id=${S}&from=2026-08-01&to=2026-08-03`)).body
        .available_assets
    ).toEqual([])
  }),
  scenario("F9", "releases returned quantities", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 100)
    const { id, line } = await s.claim(S, P, 100, "06-18", "06-25")
    const fulfil = (action: string, quantity: number) =>
      s.patch(`${v1}/opportunities/${id}/items/${line}/fulfilment`, { action, quantity })
    await fulfil("dispatch", 60)
    await fulfil("return", 40)
    expect(await s.point(P, S, "06-20")).toMatchObject({ total_demanded: 60, available: 40 })
  }),
  scenario("F11", "keeps a returned unit claimed until its check if the setting says so", async (s) => {
    const point = (release_point: string) => s.put(`${v1}/settings/availability`, { settings: { release_point } })
    expect((await point("checked")).status).toBe(200)
    const S = await s.store(),
      { id: P, units } = await s.units(S, 1)
    const order = await s.claim(S, P, 1, "06-17", "06-25")
    const asset_ids = await s.allocate(order, ...units)
    await s.move(order.id, "quick_book_out", { asset_ids })
    await s.move(order.id, "quick_check_in", { asset_ids })
    expect((await s.get(`${v1}/opportunities/${order.id}`)).body.opportunity).toMatchObject({
      state: 2,
      status: 3,
      availability_phase: "on_hire"
    })
    expect((await s.gantt(P, S, "06-18", "06-20")).demands).toMatchObject([{ phase: "on_hire" }])
    expect((await point("returned")).status).toBe(200)
  }),

  scenario("K2", "warns of, allows or overrides a shortage by the store's policy and the user's rights", async (s) => {
    const ordered = async (shortage_policy: string, ask = s.ask) => {
      const { deal: opportunity } = await short(s, { shortage_policy })
      const reply = await ask("POST", `${v1}/opportunities/${opportunity.id}/convert_to_order`, {})
      expect([reply.status, reply.body.opportunity?.state], JSON.stringify(reply.body)).toEqual([200, 2])
      return opportunity.id
    }
    // The permission to ignore shortages lowers a policy by one step, so this user lacks it.
    const warned = await ordered(
      "warn",
      s.somebody === undefined
        ? s.ask
        : await s.somebody(["opportunities.view", "opportunities.edit"], ["opportunities:write"])
    )
    acknowledgements(
      s,
      warned,
      s.somebody === undefined ? [] : [{ policy_at_time: "warn", permission_used: false, shortage_count: 1 }]
    )
    acknowledgements(s, await ordered("allow"), [])
    acknowledgements(s, await ordered("block"), [{ policy_at_time: "block", permission_used: true, shortage_count: 1 }])
  }),
  scenario("K4", "refuses, warns of or allows a short dispatch by the store's policy", async (s) => {
    const dispatched = async (shortage_dispatch_policy: string) => {
      const { deal: opportunity } = await short(s, { shortage_dispatch_policy })
      expect((await s.move(opportunity.id, "convert_to_order")).status).toBe(200)
      const at = `${v1}/opportunities/${opportunity.id}`
      const reply = await s.patch(`${at}/items/${opportunity.line}/fulfilment`, { action: "dispatch", quantity: 1 })
      return { reply, out: (await s.get(`${at}?include=items`)).body.opportunity.items[0].dispatched_quantity }
    }
    const blocked = await dispatched("block")
    expect([blocked.reply.body.errors?.code, blocked.out]).toEqual([["dispatch_block"], "0.00"])
    refusedOn(blocked.reply, "code", "shortages")
    const warned = await dispatched("warn_partial")
    expect([warned.reply.status, warned.out, warned.reply.body._meta.held_items]).toMatchObject([
      200,
      "1.00",
      [{ shortfall: 2 }]
    ])
    const allowed = await dispatched("allow_partial")
    expect([allowed.reply.status, allowed.out, allowed.reply.body._meta]).toEqual([200, "1.00", undefined])
  })
]

import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { demands } from "../../../../core/demands/schema.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { type App, engines, openApp, viewerWith } from "../../../app.ts"
import { fourDays, lineL, opportunity_path, opportunityFixture, type OpportunityFixture } from "../fixtures.ts"

describe.each(engines)("versions of a quote on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
  })
  afterAll(() => app.close())

  const quote = async (line: object = lineL, body: object = fourDays) => {
    const opportunity = await w.withLine(body, line as never)
    await w.post(`${opportunity_path}/${opportunity.id}/convert_to_quotation`)
    return opportunity
  }
  const make = (id: number, body: object = {}) => w.made(`${opportunity_path}/${id}/versions`, body, "version")
  const versionsOf = async (id: number) =>
    (await w.get(`${opportunity_path}/${id}/versions`)).body.versions as ReadonlyArray<any>
  const shown = async (id: number, include = "items,versions,versions.items") =>
    (await w.get(`${opportunity_path}/${id}?include=${include}`)).body.opportunity
  const act = (id: number, version: number, name: string, body: object = {}) =>
    w.post(`${opportunity_path}/${id}/versions/${version}/${name}`, body)
  const heldBy = async (id: number) =>
    (await app.run(Effect.flatMap(Store, (store) => store.find(demands, { opportunity_id: id }))))
      .filter((demand) => demand.is_active)
      .reduce((sum, demand) => sum + demand.quantity, 0)

  it("the first adopts the lines there are and is active", async () => {
    const {
      id,
      items: [line]
    } = await quote()
    expect(await shown(id)).toMatchObject({
      active_version_id: 0,
      version_count: 0,
      has_alternatives: false,
      versions: []
    })
    const made = await w.post(`${opportunity_path}/${id}/versions`, { label: "First", notes: "n" })
    expect(made.status).toBe(201)
    expect(made.body.version).toMatchObject({
      opportunity_id: id,
      version_number: 1,
      parent_version_id: null,
      superseded_by_version_id: null,
      version_type: 0,
      version_type_label: "Revision",
      label: "First",
      notes: "n",
      is_active: true,
      status: 0,
      status_label: "Draft",
      decline_reason: null,
      currency_code: "GBP",
      charge_total: "400.00",
      charge_excluding_tax_total: "400.00",
      tax_total: "0.00",
      charge_including_tax_total: "400.00",
      created_by: 1,
      sent_to: null,
      sent_at: null,
      items: null
    })
    const v1 = made.body.version.id
    expect(await shown(id)).toMatchObject({
      active_version_id: v1,
      version_count: 1,
      has_alternatives: false,
      items: [{ id: line.id, version_id: v1 }],
      versions: [{ id: v1, items: [{ id: line.id }] }]
    })
  })
  it("a revision supersedes its source; an alternative stands beside it (scenario 121)", async () => {
    const {
      id,
      items: [line]
    } = await quote()
    const v1 = await make(id)
    const v2 = await make(id, { version_type: 0 })
    expect(v2).toMatchObject({ version_number: 2, parent_version_id: v1.id, is_active: true, charge_total: "400.00" })
    expect(await versionsOf(id)).toMatchObject([
      { id: v1.id, status: 4, superseded_by_version_id: v2.id, is_active: false },
      { id: v2.id, status: 0 }
    ])
    const after = await shown(id)
    expect(after).toMatchObject({
      active_version_id: v2.id,
      version_count: 2,
      has_alternatives: false,
      items: [{ name: "Line L", version_id: v2.id, path: "0001" }]
    })
    expect(after.items[0].id).not.toBe(line.id)

    const other = await quote()
    const a1 = await make(other.id)
    const a2 = await make(other.id, { version_type: 1 })
    expect(a2).toMatchObject({ parent_version_id: null, version_type_label: "Alternative" })
    expect(await versionsOf(other.id)).toMatchObject([
      { id: a1.id, status: 0, superseded_by_version_id: null },
      { id: a2.id }
    ])
    expect(await shown(other.id)).toMatchObject({ has_alternatives: true })
  })
  it("a revision leaves alone what was answered", async () => {
    const { id } = await quote()
    const v1 = await make(id)
    await act(id, v1.id, "decline")
    await make(id)
    expect(await versionsOf(id)).toMatchObject([
      { status: 3, superseded_by_version_id: null },
      { status: 0, parent_version_id: v1.id }
    ])
  })
  it("each keeps its own lines and totals; activating brings lines, totals and claims back", async () => {
    const product = await w.product({ stock_method: 1 })
    const { id } = await quote({ name: "Cable", item_id: product.id, quantity: 2, unit_price: "50.00" })
    await w.post(`${opportunity_path}/${id}/change_status`, { status: 1 })
    const v1 = await make(id)
    const v2 = await make(id, { version_type: 1 })
    const {
      items: [mine]
    } = await shown(id)
    expect(
      (await w.patch(`${opportunity_path}/${id}/items/${mine.id}`, { quantity: 5 })).body.opportunity.charge_total
    ).toBe("1000.00")
    await w.post(`${opportunity_path}/${id}/items`, { name: "More", unit_price: "10.00" })
    expect(await heldBy(id)).toBe(5)
    expect((await versionsOf(id)).map((one) => one.charge_total)).toEqual(["400.00", "1040.00"])
    expect((await act(id, v1.id, "activate")).body.version).toMatchObject({ id: v1.id, is_active: true })
    expect(await shown(id)).toMatchObject({
      active_version_id: v1.id,
      charge_total: "400.00",
      items: [{ quantity: "2.00" }]
    })
    expect(await heldBy(id)).toBe(2)
    expect((await w.patch(`${opportunity_path}/${id}/items/${mine.id}`, { quantity: 9 })).body.errors).toHaveProperty(
      "item"
    )
    expect((await w.remove(`${opportunity_path}/${id}/items/${mine.id}`)).body.errors).toHaveProperty("item")
    expect((await act(id, v2.id, "activate")).status).toBe(200)
    expect(await shown(id)).toMatchObject({ charge_total: "1040.00", items: [{ quantity: "5.00" }, { name: "More" }] })
    const { diff } = (await w.get(`${opportunity_path}/${id}/versions/${v1.id}/diff/${v2.id}`)).body
    expect(diff).toMatchObject({
      source_version_id: v1.id,
      source_version_number: 1,
      target_version_id: v2.id,
      target_version_number: 2,
      added: [{ name: "More" }],
      removed: [],
      changed: [
        {
          target_item_id: mine.id,
          changes: { quantity: { from: "2.00", to: "5.00" }, total: { from: "400.00", to: "1000.00" } }
        }
      ],
      source_total: "400.00",
      target_total: "1040.00",
      net_change: "640.00"
    })
    expect((await w.get(`${opportunity_path}/${id}/versions/${v2.id}/diff/${v1.id}`)).body.diff).toMatchObject({
      added: [],
      removed: [{ name: "More" }],
      net_change: "-640.00"
    })
  })
  it("accepted wins: an order is what was accepted, the rest is superseded (scenario 123)", async () => {
    const { id } = await quote()
    const v1 = await make(id)
    const v2 = await make(id, { version_type: 1 })
    await w.post(`${opportunity_path}/${id}/items`, { name: "Extra", unit_price: "10.00" })
    expect((await act(id, v1.id, "accept")).body.version).toMatchObject({ status: 2, status_label: "Accepted" })
    const order = (await w.post(`${opportunity_path}/${id}/convert_to_order`)).body.opportunity
    expect(order).toMatchObject({ state: 2, active_version_id: v1.id, charge_total: "400.00", has_alternatives: false })
    expect(await versionsOf(id)).toMatchObject([
      { id: v1.id, status: 2, is_active: true },
      { id: v2.id, status: 4, is_active: false, superseded_by_version_id: v1.id }
    ])
    expect((await w.post(`${opportunity_path}/${id}/versions`)).body.errors).toHaveProperty("state")
    expect((await act(id, v2.id, "activate")).body.errors).toHaveProperty("state")
  })
  it("without an accepted one the active version is the order", async () => {
    const { id } = await quote()
    const v1 = await make(id)
    const v2 = await make(id, { version_type: 1 })
    expect((await w.post(`${opportunity_path}/${id}/convert_to_order`)).body.opportunity.active_version_id).toBe(v2.id)
    expect(await versionsOf(id)).toMatchObject([
      { id: v1.id, status: 4 },
      { id: v2.id, status: 0 }
    ])
  })
  it("are sent, accepted and declined once, by whom and how", async () => {
    const person = await w.made("/api/v1/members", { name: "Ann", membership_type: "contact" }, "member")
    const { id } = await quote()
    const { id: v1 } = await make(id)
    expect((await act(id, v1, "send", { sent_to: person.id, sent_via: "email" })).body.version).toMatchObject({
      status: 1,
      sent_to: person.id,
      sent_via: "email",
      sent_at: expect.any(String)
    })
    expect((await act(id, v1, "send")).body.errors).toHaveProperty("state")
    expect((await act(id, v1, "send", { sent_to: 99_999 })).body.errors).toHaveProperty("sent_to")
    expect((await act(id, v1, "accept", { accepted_by: person.id })).body.version).toMatchObject({
      status: 2,
      accepted_by: person.id,
      accepted_at: expect.any(String)
    })
    expect((await act(id, v1, "decline")).body.errors).toHaveProperty("state")
    const { id: v2 } = await make(id)
    expect((await act(id, v2, "decline", { reason: "x".repeat(1001) })).status).toBe(422)
    expect((await act(id, v2, "decline", { reason: "Too dear" })).body.version).toMatchObject({
      status: 3,
      decline_reason: "Too dear",
      declined_at: expect.any(String)
    })
    const told = (await w.get(`${opportunity_path}/${id}/activity`)).body.activity.map((one: any) => [
      one.action,
      one.new_values
    ])
    expect(told.slice(0, 2)).toEqual([
      [
        "opportunity.version_declined",
        { version_id: v2, status: 3, decline_reason: "Too dear", reason: "Too dear", declined_at: expect.any(String) }
      ],
      [
        "opportunity.version_created",
        { version_id: v2, version_number: 2, version_type: 0, parent_version_id: v1, label: null }
      ]
    ])
  })
  it("take a label, or none", async () => {
    const { id } = await quote()
    const { id: v1 } = await make(id, { label: "Old" })
    const at = `${opportunity_path}/${id}/versions/${v1}`
    expect((await w.patch(at, { label: "New" })).body.version.label).toBe("New")
    expect((await w.patch(at, {})).body.errors).toHaveProperty("label")
    expect((await w.patch(at, { label: null })).body.version.label).toBeNull()
  })
  it("go with their lines when deleted, but never the active one or the last", async () => {
    const { id } = await quote()
    const { id: v1 } = await make(id)
    const at = (version: number) => `${opportunity_path}/${id}/versions/${version}`
    expect((await w.remove(at(v1))).body.errors).toHaveProperty("version")
    const { id: v2 } = await make(id)
    expect((await w.remove(at(v2))).body.errors).toHaveProperty("version")
    await act(id, v1, "activate")
    expect((await w.remove(at(v2))).status).toBe(204)
    expect((await w.get(at(v2))).status).toBe(404)
    expect(await shown(id)).toMatchObject({
      version_count: 2,
      items: [{ name: "Line L" }],
      versions: [{ id: v1, status: 0, superseded_by_version_id: null }]
    })
    expect((await make(id)).version_number).toBe(3)
  })
  it("there are only so many", async () => {
    const { id } = await quote()
    await make(id)
    for (let at = 0; at < 5; at++) await make(id, { version_type: 1 })
    expect((await w.post(`${opportunity_path}/${id}/versions`, { version_type: 1 })).body.errors).toHaveProperty(
      "version_type"
    )
    for (let at = 6; at < 20; at++) await make(id)
    expect((await w.post(`${opportunity_path}/${id}/versions`)).body.errors).toHaveProperty("version")
  })
  it("are made of open quotations alone, from sources of their own", async () => {
    const opportunity = await w.withLine(fourDays)
    expect((await w.post(`${opportunity_path}/${opportunity.id}/versions`)).body.errors).toHaveProperty("state")
    const [one, other] = [await quote(), await quote()]
    const foreign = await make(other.id)
    await make(one.id)
    expect(
      (await w.post(`${opportunity_path}/${one.id}/versions`, { source_version_id: foreign.id })).body.errors
    ).toHaveProperty("source_version_id")
    expect((await w.post(`${opportunity_path}/${one.id}/versions`, { version_type: 7 })).body.errors).toHaveProperty(
      "version_type"
    )
    expect((await w.get(`${opportunity_path}/${one.id}/versions/${foreign.id}`)).status).toBe(404)
    expect((await act(one.id, foreign.id, "activate")).status).toBe(404)
    expect(
      (
        await w.post(
          `${opportunity_path}/${one.id}/versions`,
          {},
          viewerWith(["opportunities.view"], ["opportunities:write"])
        )
      ).status
    ).toBe(403)
    expect(
      (
        await w.post(
          `${opportunity_path}/${one.id}/versions`,
          {},
          viewerWith(["opportunities.edit"], ["opportunities:read"])
        )
      ).status
    ).toBe(403)
    await w.post(`${opportunity_path}/${one.id}/change_status`, { status: 2 })
    expect((await w.post(`${opportunity_path}/${one.id}/versions`)).body.errors).toHaveProperty("state")
  })
  it("a clone copies the active version's lines alone", async () => {
    const { id } = await quote()
    await make(id)
    await make(id, { version_type: 1 })
    await w.post(`${opportunity_path}/${id}/items`, { name: "Extra", unit_price: "10.00" })
    const clone = (await w.post(`${opportunity_path}/${id}/clone`)).body.opportunity
    expect(clone).toMatchObject({
      active_version_id: 0,
      version_count: 0,
      items: [
        { name: "Line L", version_id: null },
        { name: "Extra", version_id: null }
      ]
    })
  })
  it("fold again from the journal to the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})

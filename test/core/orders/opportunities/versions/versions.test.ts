import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../../app-house.ts"
import { hire_dates, fifty_each } from "../../../../rental-house.ts"

describe.each(engines)("versions of a quote on %s", (engine) => {
  const w = appHouse(engine)

  const quote = async (line: object = fifty_each, body: object = hire_dates) => {
    const opportunity = await w.deal(body, line)
    await w.post(`/opportunities/${opportunity.id}/convert_to_quotation`)
    return opportunity
  }
  const make = (id: number, body: object = {}) => w.create(`/opportunities/${id}/versions`, body)
  const versionsOf = (id: number) => w.show(`/opportunities/${id}/versions`)
  const shown = async (id: number, include = "items,versions,versions.items") =>
    await w.show(`/opportunities/${id}?include=${include}`)
  const act = (id: number, version: number, name: string, body: object = {}) =>
    w.post(`/opportunities/${id}/versions/${version}/${name}`, body)

  it("begin with the existing lines as the first version, which is active", async () => {
    const { id, line } = await quote()
    expect(await shown(id)).toMatchObject({
      active_version_id: 0,
      version_count: 0,
      has_alternatives: false,
      versions: []
    })
    const made = await w.post(`/opportunities/${id}/versions`, { label: "First", notes: "n" })
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
  it("supersede their source as revisions, with lines of their own", async () => {
    const { id, line } = await quote()
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
  })
  it("stay declined beside a later revision", async () => {
    const { id } = await quote()
    const v1 = await make(id)
    await act(id, v1.id, "decline")
    await make(id)
    expect(await versionsOf(id)).toMatchObject([
      { status: 3, superseded_by_version_id: null },
      { status: 0, parent_version_id: v1.id }
    ])
  })
  it("keep their own lines and totals, which activation restores with demands and a diff compares", async () => {
    const product = await w.product()
    const { id } = await quote({ name: "Cable", item_id: product, quantity: 2, unit_price: "50.00" })
    await w.post(`/opportunities/${id}/change_status`, { status: 1 })
    const v1 = await make(id)
    const v2 = await make(id, { version_type: 1 })
    const [mine] = (await shown(id)).items
    expect((await w.amend(`/opportunities/${id}/items/${mine.id}`, { quantity: 5 })).charge_total).toBe("1000.00")
    await w.post(`/opportunities/${id}/items`, { name: "More", unit_price: "10.00" })
    expect(await w.heldBy(id)).toBe(5)
    expect((await versionsOf(id)).map((one) => one.charge_total)).toEqual(["400.00", "1040.00"])
    expect((await act(id, v1.id, "activate")).body.version).toMatchObject({ id: v1.id, is_active: true })
    expect(await shown(id)).toMatchObject({
      active_version_id: v1.id,
      charge_total: "400.00",
      items: [{ quantity: "2.00" }]
    })
    expect(await w.heldBy(id)).toBe(2)
    await refused(w.patch(`/opportunities/${id}/items/${mine.id}`, { quantity: 9 }), "item")
    await refused(w.remove(`/opportunities/${id}/items/${mine.id}`), "item")
    expect((await act(id, v2.id, "activate")).status).toBe(200)
    expect(await shown(id)).toMatchObject({ charge_total: "1040.00", items: [{ quantity: "5.00" }, { name: "More" }] })
    const { diff } = (await w.get(`/opportunities/${id}/versions/${v1.id}/diff/${v2.id}`)).body
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
    expect(await w.show(`/opportunities/${id}/versions/${v2.id}/diff/${v1.id}`)).toMatchObject({
      added: [],
      removed: [{ name: "More" }],
      net_change: "-640.00"
    })
  })
  it("become the order if accepted, and supersede the other versions", async () => {
    const { id } = await quote()
    const v1 = await make(id)
    const v2 = await make(id, { version_type: 1 })
    await w.post(`/opportunities/${id}/items`, { name: "Extra", unit_price: "10.00" })
    await act(id, v1.id, "accept")
    const order = await w.create(`/opportunities/${id}/convert_to_order`)
    expect(order).toMatchObject({ state: 2, active_version_id: v1.id, charge_total: "400.00", has_alternatives: false })
    expect(await versionsOf(id)).toMatchObject([
      { id: v1.id, status: 2, is_active: true },
      { id: v2.id, status: 4, is_active: false, superseded_by_version_id: v1.id }
    ])
    await refused(w.post(`/opportunities/${id}/versions`), "state")
    await refused(act(id, v2.id, "activate"), "state")
  })
  it("become the order if active while no version is accepted", async () => {
    const { id } = await quote()
    const v1 = await make(id)
    const v2 = await make(id, { version_type: 1 })
    expect((await w.create(`/opportunities/${id}/convert_to_order`)).active_version_id).toBe(v2.id)
    expect(await versionsOf(id)).toMatchObject([
      { id: v1.id, status: 4 },
      { id: v2.id, status: 0 }
    ])
  })
  it("are sent once, then accepted or declined, with recipient, method and reason", async () => {
    const person = await w.create("/members", { name: "Ann", membership_type: "contact" })
    const { id } = await quote()
    const { id: v1 } = await make(id)
    expect((await act(id, v1, "send", { sent_to: person.id, sent_via: "email" })).body.version).toMatchObject({
      status: 1,
      sent_to: person.id,
      sent_via: "email",
      sent_at: expect.any(String)
    })
    await refused(act(id, v1, "send"), "state")
    await refused(act(id, v1, "send", { sent_to: 99_999 }), "sent_to")
    expect((await act(id, v1, "accept", { accepted_by: person.id })).body.version).toMatchObject({
      status: 2,
      accepted_by: person.id,
      accepted_at: expect.any(String)
    })
    await refused(act(id, v1, "decline"), "state")
    const { id: v2 } = await make(id)
    expect((await act(id, v2, "decline", { reason: "x".repeat(1001) })).status).toBe(422)
    expect((await act(id, v2, "decline", { reason: "Too dear" })).body.version).toMatchObject({
      status: 3,
      decline_reason: "Too dear",
      declined_at: expect.any(String)
    })
    const told = (await w.show(`/opportunities/${id}/activity`)).map((one) => [one.action, one.new_values])
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
  it("can be given another label, or none", async () => {
    const { id } = await quote()
    const { id: v1 } = await make(id, { label: "Old" })
    const at = `/opportunities/${id}/versions/${v1}`
    expect((await w.amend(at, { label: "New" })).label).toBe("New")
    await refused(w.patch(at, {}), "label")
    expect((await w.amend(at, { label: null })).label).toBeNull()
  })
  it("are deleted with their lines, except the active version", async () => {
    const { id } = await quote()
    const { id: v1 } = await make(id)
    const at = (version: number) => `/opportunities/${id}/versions/${version}`
    await refused(w.remove(at(v1)), "version")
    const { id: v2 } = await make(id)
    await refused(w.remove(at(v2)), "version")
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
  it("are limited to 20, and alternatives to five", async () => {
    const { id } = await quote()
    await make(id)
    for (let at = 0; at < 5; at++) await make(id, { version_type: 1 })
    await refused(w.post(`/opportunities/${id}/versions`, { version_type: 1 }), "version_type")
    for (let at = 6; at < 20; at++) await make(id)
    await refused(w.post(`/opportunities/${id}/versions`), "version")
  })
  it("are created only for open quotations, from a version of the same one, and with permission to edit", async () => {
    const opportunity = await w.deal(hire_dates)
    await refused(w.post(`/opportunities/${opportunity.id}/versions`), "state")
    const [one, other] = [await quote(), await quote()]
    const foreign = await make(other.id)
    await make(one.id)
    await refused(w.post(`/opportunities/${one.id}/versions`, { source_version_id: foreign.id }), "source_version_id")
    await refused(w.post(`/opportunities/${one.id}/versions`, { version_type: 7 }), "version_type")
    expect((await w.get(`/opportunities/${one.id}/versions/${foreign.id}`)).status).toBe(404)
    expect((await act(one.id, foreign.id, "activate")).status).toBe(404)
    for (const [permission, ability] of [
      ["view", "write"],
      ["edit", "read"]
    ] as const) {
      const viewer = viewerWith([`opportunities.${permission}`], [`opportunities:${ability}`])
      expect((await w.post(`/opportunities/${one.id}/versions`, {}, viewer)).status).toBe(403)
    }
    await w.post(`/opportunities/${one.id}/change_status`, { status: 2 })
    await refused(w.post(`/opportunities/${one.id}/versions`), "state")
  })
  it("are not cloned; a clone has the active version's lines", async () => {
    const { id } = await quote()
    await make(id)
    await make(id, { version_type: 1 })
    await w.post(`/opportunities/${id}/items`, { name: "Extra", unit_price: "10.00" })
    const clone = await w.create(`/opportunities/${id}/clone`)
    expect(clone).toMatchObject({
      active_version_id: 0,
      version_count: 0,
      items: [
        { name: "Line L", version_id: null },
        { name: "Extra", version_id: null }
      ]
    })
  })
  itFoldsAgain(w)
})

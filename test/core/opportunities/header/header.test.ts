import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { journal } from "../../../../core/kernel/journal.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { type App, engines, openApp, viewerWith } from "../../../app.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../fixtures.ts"

describe.each(engines)("opportunity headers on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
  })
  afterAll(() => app.close())

  it("a minimal draft has a number, labels and no version (scenario 1)", async () => {
    const made = await w.post(opportunity_path, { subject: "Glastonbury Main Stage", reference: "PO-555" })
    expect(made.status).toBe(201)
    expect(made.body.opportunity).toMatchObject({
      subject: "Glastonbury Main Stage",
      reference: "PO-555",
      number: "0000000001",
      state: 0,
      status: 0,
      state_label: "Draft",
      state_name: "Draft",
      status_label: "Open",
      status_name: "Open",
      availability_phase: "draft",
      charge_total: "0.00",
      deal_total: null,
      pricing_locked: false,
      active_version_id: 0,
      version_count: 0,
      has_alternatives: false,
      custom_fields: {},
      tag_list: [],
      currency_code: "GBP",
      exchange_rate: "1.0000000000",
      member: null,
      versions: null,
      participants: null,
      items: [],
      costs: []
    })
    expect(made.body.meta).toEqual({ can_edit: true, can_destroy: true })
  })
  it("the journal keeps a new header without stamps: they follow from when the event was recorded", async () => {
    const made = await w.opportunity({})
    const cloned = await w.post(`${opportunity_path}/${made.id}/clone`, {})
    const events = await app.run(
      Effect.flatMap(Store, (store) =>
        store.find(journal, { stream: [made.id, cloned.body.opportunity.id].map((id) => `opportunity:${id}`) })
      )
    )
    const headers = events.filter(({ type }) => type === "opportunity.created").map(({ data }) => Object.keys(data))
    expect(headers).toHaveLength(2)
    for (const columns of headers) {
      expect(columns).toContain("subject")
      expect(columns).not.toEqual(expect.arrayContaining(["created_at"]))
      expect(columns).not.toEqual(expect.arrayContaining(["updated_at"]))
      expect(columns).not.toEqual(expect.arrayContaining(["deleted_at"]))
    }
  })
  it("dates, chargeable days, rating and tags come back as they are kept (scenario 3)", async () => {
    const made = await w.opportunity({
      starts_at: "2026-07-01T08:00:00Z",
      chargeable_days: "5",
      use_chargeable_days: true,
      rating: 4,
      tag_list: ["vip", "festival"]
    })
    expect(made).toMatchObject({
      starts_at: "2026-07-01T08:00:00.000Z",
      chargeable_days: "5.0",
      rating: 4,
      tag_list: ["vip", "festival"]
    })
  })
  it("a total is read as major units from text and as minor units from a whole number (scenario 5)", async () => {
    expect((await w.opportunity({ charge_total: "125.50" })).charge_total).toBe("125.50")
    expect((await w.opportunity({ charge_total: 12550 })).charge_total).toBe("125.50")
  })
  it("each store counts for itself (scenario 19)", async () => {
    const store = await w.made("/api/v1/stores", { name: "Second" }, "store")
    expect((await w.opportunity({ store_id: store.id })).number).toBe("0000000001")
    expect((await w.opportunity({ store_id: store.id })).number).toBe("0000000002")
  })
  it("what is wrong is told field by field, and nothing is stored", async () => {
    const before = (await w.get(opportunity_path)).body.meta.total
    const refused = await w.post(opportunity_path, {
      rating: 6,
      starts_at: "2026-02-02",
      ends_at: "2026-02-01",
      store_id: 999,
      member_id: "x",
      currency: "XXZ"
    })
    expect(refused.status).toBe(422)
    expect(Object.keys(refused.body.errors).sort()).toEqual([
      "currency",
      "ends_at",
      "member_id",
      "rating",
      "store_id",
      "subject"
    ])
    expect((await w.get(opportunity_path)).body.meta.total).toBe(before)
  })
  it("an update keeps what is left out, clears what null may clear, and refuses a subject of null (scenarios 23 to 27)", async () => {
    const { id } = await w.opportunity({ reference: "PO-KEEP", rating: 3, tag_list: ["keep"], starts_at: "2026-03-01" })
    const renamed = await w.put(`${opportunity_path}/${id}`, { subject: "New" })
    expect(renamed.status).toBe(200)
    expect(renamed.body.opportunity).toMatchObject({
      subject: "New",
      reference: "PO-KEEP",
      rating: 3,
      tag_list: ["keep"]
    })
    const cleared = await w.put(`${opportunity_path}/${id}`, {
      reference: null,
      rating: null,
      tag_list: null,
      starts_at: null,
      store_id: null
    })
    expect(cleared.body.opportunity).toMatchObject({
      reference: null,
      rating: null,
      tag_list: [],
      starts_at: "2026-03-01T00:00:00.000Z",
      store_id: 1
    })
    expect(Object.keys((await w.put(`${opportunity_path}/${id}`, { subject: null })).body.errors)).toEqual(["subject"])
    expect(Object.keys((await w.put(`${opportunity_path}/${id}`, { ends_at: "2026-02-01" })).body.errors)).toEqual([
      "ends_at"
    ])
    expect((await w.put(`${opportunity_path}/${id}`, {})).status).toBe(200)
  })
  it("lists filter and sort (scenario 11)", async () => {
    const draft = await w.opportunity({ subject: "Zebra crossing", charge_total: "999.99" })
    await w.post(`${opportunity_path}/${draft.id}/convert_to_quotation`)
    const found = await w.get(`${opportunity_path}?q[state_eq]=1&q[subject_cont]=ZEBRA&sort=-charge_total`)
    expect(found.body.meta.total).toBe(1)
    expect(found.body.opportunities[0]).toMatchObject({ id: draft.id, state: 1, items: null })
    expect((await w.get(`${opportunity_path}?q[state_eq]=quotation`)).body.meta.total).toBe(1)
  })
  it("a read token cannot write, an unrelated one cannot read (scenario 9)", async () => {
    const all = ["opportunities.view", "opportunities.create"]
    expect((await w.post(opportunity_path, { subject: "x" }, viewerWith(all, ["opportunities:read"]))).status).toBe(403)
    expect((await w.get(opportunity_path, viewerWith(all, ["members:read"]))).status).toBe(403)
    expect((await w.get(opportunity_path, viewerWith([], ["opportunities:read"]))).status).toBe(403)
  })
  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})

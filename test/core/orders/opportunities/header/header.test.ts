import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { journal } from "../../../../../core/kernel/events/journal.ts"
import { Store } from "../../../../../core/kernel/store/store.ts"
import { engines } from "../../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../../app-house.ts"

describe.each(engines)("opportunity headers on %s", (engine) => {
  const w = appHouse(engine)
  it("are recorded without times of creation, update and deletion", async () => {
    const made = await w.opportunity({})
    const cloned = await w.post(`/opportunities/${made.id}/clone`, {})
    const events = await w.app.run(
      Effect.flatMap(Store, (store) =>
        store.find(journal, { stream: [made.id, cloned.body.opportunity.id].map((id) => `opportunity:${id}`) })
      )
    )
    const headers = events.filter(({ type }) => type === "opportunity.created").map(({ data }) => Object.keys(data))
    expect(headers).toHaveLength(2)
    for (const columns of headers) {
      expect(columns).toContain("subject")
      expect(columns.filter((name) => /^(created|updated|deleted)_at$/.test(name))).toEqual([])
    }
  })
  it("are rejected field by field if invalid, and nothing is stored", async () => {
    const before = (await w.get("/opportunities")).body.meta.total
    await refused(
      w.post("/opportunities", {
        rating: 6,
        starts_at: "2026-02-02",
        ends_at: "2026-02-01",
        store_id: 999,
        member_id: "x",
        currency: "XXZ"
      }),
      "currency",
      "ends_at",
      "member_id",
      "rating",
      "store_id",
      "subject"
    )
    expect((await w.get("/opportunities")).body.meta.total).toBe(before)
  })
  it("clear reference, rating and tags by null on update, but keep the start and the store", async () => {
    const { id } = await w.opportunity({ reference: "PO-KEEP", rating: 3, tag_list: ["keep"], starts_at: "2026-03-01" })
    const nulls = { reference: null, rating: null, tag_list: null, starts_at: null, store_id: null }
    const kept = { starts_at: "2026-03-01T00:00:00.000Z", store_id: 1 }
    expect(await w.update(`/opportunities/${id}`, nulls)).toMatchObject({ ...nulls, tag_list: [], ...kept })
    await refused(w.put(`/opportunities/${id}`, { ends_at: "2026-02-01" }), "ends_at")
    expect((await w.put(`/opportunities/${id}`, {})).status).toBe(200)
  })
  it("are filtered by state and subject in lists", async () => {
    const draft = await w.opportunity({ subject: "Zebra crossing", charge_total: "999.99" })
    await w.post(`/opportunities/${draft.id}/convert_to_quotation`)
    const found = await w.get(`/opportunities?q[state_eq]=1&q[subject_cont]=ZEBRA&sort=-charge_total`)
    expect(found.body.meta.total).toBe(1)
    expect(found.body.opportunities[0]).toMatchObject({ id: draft.id, state: 1, items: null })
    expect((await w.get(`/opportunities?q[state_eq]=quotation`)).body.meta.total).toBe(1)
  })
  itFoldsAgain(w)
})

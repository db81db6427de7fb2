/** What others chose, wrote or set since on an order or a case is not taken back along with a device's own command. */
import { describe, expect, it } from "vitest"
import { businessOfEachTest } from "./business.ts"
import type { Filled } from "./filling.ts"
import { undoOf } from "./undoing.ts"

/** What was refused would stand in the way as the conflict it is. */
const dropConflicts = ({ outbox }: Filled): void => {
  for (const { id } of [...outbox.byState("held"), ...outbox.byState("rejected")]) outbox.resolve(id, "dropped")
}

describe("what is sent and taken back later", () => {
  const { business, filled, make } = businessOfEachTest("sqlite")
  const dates = { starts_at: "2030-12-03T09:00:00.000Z", ends_at: "2030-12-05T17:00:00.000Z" }
  const [longer, theirs] = ["2030-12-09T17:00:00.000Z", "2030-12-06T17:00:00.000Z"]
  const quotation = async (lines = 1) => {
    const { id } = await make("opportunities", { subject: "Gig", store_id: 1, ...dates })
    const items: Array<number> = []
    for (let n = 1; n <= lines; n++) {
      const { id: item_id } = await make("products", { name: `Head ${n}`, stock_method: 2 })
      await make("stock_levels", { product_id: item_id, store_id: 1, asset_number: `MH-${n}` })
      const added = await make(`opportunities/${id}/items`, { name: `Head ${n}`, item_id, quantity: 1 })
      items.push(added.items.at(-1).id)
    }
    await make(`opportunities/${id}/convert_to_quotation`, {})
    return { id: id as number, items }
  }
  const sent = async (device: Filled, path: string, body: object = {}) => {
    const answer = await device.ask("POST", path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(400)
    expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0 })
    return String(device.outbox.lastN())
  }
  /** Refused by the server where their change is not known here yet, and here once it is. */
  const isRefused = async (device: Filled, n: string, says: RegExp) => {
    expect(await undoOf(device).undo(n, false)).toMatchObject({ ok: true })
    expect(await device.sync()).toMatchObject({ accepted: 0, pending: 0 })
    dropConflicts(device)
    const plan = await undoOf(device).plan(n)
    expect(plan).toMatchObject({
      plan: { steps: [{ way: "refused", says: expect.stringMatching(says), later: { who: "Owner" } }] }
    })
  }
  const order = async (id: number) => (await business.ask("GET", `opportunities/${id}?include=items`)).body.opportunity

  it("is refused where a line of an extended hire has dates of somebody else's by now", async () => {
    const { id, items } = await quotation()
    await make(`opportunities/${id}/convert_to_order`, {})
    const device = await filled()
    const n = await sent(device, `opportunities/${id}/extend`, { ends_at: longer })
    await business.must("PATCH", `opportunities/${id}/items/${items[0]}`, { ends_at: theirs })
    await isRefused(device, n, /Head 1: ends at was changed since by Owner/)
    expect((await order(id)).items[0].ends_at).toBe(theirs)
  })
  it("puts the dates of a hire back though one of its lines was removed since", async () => {
    const { id, items } = await quotation(2)
    await make(`opportunities/${id}/convert_to_order`, {})
    const device = await filled()
    const n = await sent(device, `opportunities/${id}/extend`, { ends_at: longer })
    await business.must("DELETE", `opportunities/${id}/items/${items[0]}`)
    await device.sync()
    expect(await undoOf(device).undo(n, false)).toMatchObject({ ok: true })
    expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0 })
    expect(await order(id)).toMatchObject({ ends_at: dates.ends_at, items: [{ ends_at: dates.ends_at }] })
  })
  it("is refused where what was a quotation is an order by now", async () => {
    const { id } = await quotation()
    const device = await filled()
    const n = await sent(device, `opportunities/${id}/change_status`, { status: 1 })
    await make(`opportunities/${id}/convert_to_order`, {})
    const { status } = await order(id)
    await make(`opportunities/${id}/change_status`, { status: status === 1 ? 0 : 1 })
    await isRefused(device, n, /stat(e|us) was changed since by Owner/)
    expect(await order(id)).toMatchObject({ state: 2 })
  })
  it("is refused where somebody made another version count", async () => {
    const { id } = await quotation()
    for (const label of ["one", "two", "three"]) await make(`opportunities/${id}/versions`, { label })
    const { versions } = (await business.ask("GET", `opportunities/${id}/versions`)).body
    const of = (label: string) => versions.find((one: any) => one.label === label).id
    await make(`opportunities/${id}/versions/${of("two")}/activate`, {})
    const device = await filled()
    const n = await sent(device, `opportunities/${id}/versions/${of("one")}/activate`)
    await make(`opportunities/${id}/versions/${of("three")}/activate`, {})
    await isRefused(device, n, /is active was changed since by Owner/)
  })
  it("leaves the notes that somebody wrote on a case that was sealed with others", async () => {
    const product = await make("products", { name: "Head", stock_method: 2 })
    const unit = await make("stock_levels", { product_id: product.id, store_id: 1, asset_number: "MH-1" })
    const { id } = await make("containers/temporary", { name: "Case 7", barcode: "C7", store_id: 1 })
    await make(`containers/${id}/pack`, { serialised_item_id: unit.id })
    const device = await filled()
    const n = await sent(device, `containers/${id}/seal`, { notes: "mine" })
    await business.must("PUT", `containers/${id}`, { notes: "theirs" })
    await isRefused(device, n, /notes was changed since by Owner/)
    expect((await business.ask("GET", `containers/${id}`)).body.container).toMatchObject({ notes: "theirs" })
  })
})

describe("what others worked on since", () => {
  const { business, filled, make } = businessOfEachTest("sqlite")
  const dates = { starts_at: "2030-12-03T09:00:00.000Z", ends_at: "2030-12-05T17:00:00.000Z" }
  const undone = async (device: Filled, n: string) => {
    const result = await undoOf(device).undo(n, false)
    expect(result, JSON.stringify(result)).toMatchObject({ ok: true })
    const synced = await device.sync()
    dropConflicts(device)
    return synced
  }
  const quoted = async (device: Filled, subject: string) => {
    const { id } = (await device.ask("POST", "opportunities", { subject, store_id: 1, ...dates })).body.opportunity
    return { id: id as number, n: String(device.outbox.lastN()) }
  }

  it("is not an order that another one took the goods from", async () => {
    const { id: item_id } = await make("products", { name: "Head", stock_method: 2 })
    await make("stock_levels", { product_id: item_id, store_id: 1, asset_number: "MH-1" })
    const line = { name: "Head", item_id, quantity: 1 }
    const device = await filled()
    const known = await quoted(device, "Gala")
    const unknown = await quoted(device, "Fair")
    for (const { id } of [known, unknown]) {
      await device.ask("POST", `opportunities/${id}/items`, line)
      await device.ask("POST", `opportunities/${id}/convert_to_quotation`)
    }
    expect(await device.sync()).toMatchObject({ rejected: 0 })
    const { id } = await make("opportunities", { subject: "Theirs", store_id: 1, ...dates })
    await make(`opportunities/${id}/items`, line)
    await make(`opportunities/${id}/convert_to_quotation`, {})
    await make(`opportunities/${id}/convert_to_order`, {})
    for (const one of [known, unknown])
      expect((await business.ask("GET", `opportunities/${one.id}`)).body.opportunity.has_shortage).toBe(true)
    expect(await undone(device, unknown.n)).toMatchObject({ rejected: 0, pending: 0 })
    expect(await undone(device, known.n)).toMatchObject({ rejected: 0, pending: 0 })
    for (const one of [known, unknown]) expect((await business.ask("GET", `opportunities/${one.id}`)).status).toBe(404)
  })
  it("is an order that somebody added a line to", async () => {
    const device = await filled()
    const { id, n } = await quoted(device, "Gala")
    await device.sync()
    await make(`opportunities/${id}/items`, { name: "By hand", quantity: 1, item_type: "service" })
    expect(await undone(device, n)).toMatchObject({ accepted: 0, rejected: 1 })
    expect(await undoOf(device).plan(n)).toMatchObject({
      plan: { steps: [{ way: "refused", later: { who: "Owner", field: null } }] }
    })
  })
  it("of custom fields is the one field, not its neighbours", async () => {
    for (const name of ["a", "b"]) await make("custom_fields", { name, module_type: "Product", field_type: 0 })
    const { id } = await make("products", { name: "Lamp" })
    const set = (custom_fields: object) => business.must("PUT", `products/${id}`, { custom_fields })
    const fields = async () => (await business.ask("GET", `products/${id}`)).body.product.custom_fields
    const device = await filled()
    const mine = async () => {
      await device.ask("PUT", `products/${id}`, { custom_fields: { a: "mine" } })
      expect(await device.sync()).toMatchObject({ rejected: 0 })
      return String(device.outbox.lastN())
    }
    const known = await mine()
    await set({ b: "theirs" })
    await device.sync()
    expect(await undone(device, known)).toMatchObject({ rejected: 0 })
    const unknown = await mine()
    await set({ b: "theirs too" })
    expect(await undone(device, unknown)).toMatchObject({ rejected: 0 })
    expect(await fields()).toMatchObject({ a: null, b: "theirs too" })
    const refused = await mine()
    await set({ a: "theirs" })
    expect(await undone(device, refused)).toMatchObject({ accepted: 0, rejected: 1 })
    expect(await undoOf(device).plan(refused)).toMatchObject({
      plan: { steps: [{ way: "refused", later: { who: "Owner", field: "custom_fields" } }] }
    })
    expect(await fields()).toMatchObject({ a: "theirs" })
  })
})

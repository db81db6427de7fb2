/**
 * Edge cases of undo: others' earlier and later changes, agreed prices, conflicts of an undo, redo, and packed cases.
 */
import { join } from "node:path"
import { beforeEach, describe, expect, it } from "vitest"
import type { UndoRequest } from "../../core/offline/undo/compensation.ts"
import type { Device, ResolutionRequest } from "../../sync/device/device.ts"
import { openOutboxAt } from "../../sync/device/outbox/outbox.ts"
import { neededBy, type UndoPlan } from "../../sync/device/undo/undo.ts"
import type { Hooks, InspectedDevice } from "./inspected-device.ts"
import { serverOfSuite, type TestDevice } from "./opening.ts"

const server = serverOfSuite()
const { create, filled, must, show } = server
const dates = { starts_at: "2030-12-03T09:00:00.000Z", ends_at: "2030-12-05T17:00:00.000Z" }
const [seventh, ninth] = ["2030-12-07T17:00:00.000Z", "2030-12-09T17:00:00.000Z"]
let serial = 0
const tagged = (word: string): string => `${word}-${++serial}`
const lamp = async (more: object = {}): Promise<string> =>
  `/products/${(await create("/products", { name: "Lamp", ...more })).id}`
/** Creates stock and an order of a quantity. */
const ordered = async (quantity: number, there_are: number) => {
  const { id: product_id, units } = await server.units(1, there_are)
  const { id, line } = await server.order(product_id, quantity, { subject: "Gig", ...dates })
  const path = `/opportunities/${id}` as const
  return { path, product_id, units, line: `${path}/items/${line.id}`, assets: `${path}/items/${line.id}/assets` }
}
/** Status of each unit of an order. */
const standing = async (path: `/opportunities/${number}`) =>
  (await show(`${path}/assets`)).map((one) => [one.stock_level_id, one.status_label])

const synced = async (device: InspectedDevice) =>
  expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0, conflicts: 0 })
/** Records and sends a command; returns its number. */
const sent = async (device: InspectedDevice, method: string, path: string, body?: object): Promise<string> => {
  const answer = await device.call(method, path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(400)
  await synced(device)
  return String(device.outbox.lastN())
}
const done = async (result: Promise<{ readonly ok: boolean }>): Promise<any> => {
  const answer = await result
  expect(answer, JSON.stringify(answer)).toMatchObject({ ok: true })
  return answer
}
const undone = async (device: InspectedDevice, n: string): Promise<string | undefined> => {
  const { plan } = await done(device.undo().undo(n, false))
  await synced(device)
  return plan.steps[0]?.says
}
const failing = (kind: string, more: object = {}) => ({ ok: false, failure: { kind, ...more } })

describe("undoing a command recorded before others' changes were known", () => {
  it("restores the name set by another user", async () => {
    const product = await lamp()
    const device = await filled()
    await device.put(product, { name: "Lantern" })
    await must("PUT", product, { name: "Torch" })
    await synced(device)
    await undone(device, "1")
    expect((await show(product)).name).toBe("Torch")
  })
  it("restores the end of the hire set by another user, also on its lines", async () => {
    const { path } = await ordered(1, 0)
    const device = await filled()
    await device.post(`${path}/extend`, { ends_at: ninth })
    await must("POST", `${path}/extend`, { ends_at: seventh })
    await synced(device)
    await undone(device, "1")
    expect(await show(`${path}?include=items`)).toMatchObject({ ends_at: seventh, items: [{ ends_at: seventh }] })
  })
  it("puts goods returned early on hire again, with their former end and price", async () => {
    const product_id = Number((await lamp()).split("/").at(-1))
    await server.hold(product_id, 10)
    const { id, line } = await server.order(product_id, 10, { subject: "Gig", ...dates })
    const path = `/opportunities/${id}`
    await must("PATCH", `${path}/items/${line.id}/fulfilment`, { action: "dispatch", quantity: "10" })
    const before = (await show(path)).charge_total
    const device = await filled()
    await sent(device, "POST", `${path}/return_early`, { items: [{ opportunity_item_id: line.id, quantity: 4 }] })
    expect((await show(path)).charge_total).not.toBe(before)
    expect(await undone(device, "1")).toMatch(
      /: the quantities are counted back[.] Each part stays a line of its own, with its dates of before[.]$/
    )
    const { charge_total, items } = await show(`${path}?include=items`)
    expect([
      charge_total,
      ...items.map((one: Record<string, string>) => [one["quantity"], one["returned_quantity"], one["ends_at"]])
    ]).toEqual([before, ["6.00", "0.00", dates.ends_at], ["4.00", "0.00", dates.ends_at]])
  })
  it("restores the status of a unit that another user prepared", async () => {
    const { assets, path, units } = await ordered(1, 1)
    const { id } = await create(assets, { stock_level_id: units[0] })
    const device = await filled()
    await device.post(`${path}/quick_book_out`, { asset_ids: [id] })
    await must("PATCH", `${assets}/${id}`, { action: "prepare" })
    await synced(device)
    await undone(device, "1")
    expect(await standing(path)).toEqual([[units[0], "Prepared"]])
  })
})

describe("an undo after others' changes", () => {
  it("restores the dates of a hire even if one of its lines was removed", async () => {
    const { id } = await server.withLine(dates)
    const { items } = await create(`/opportunities/${id}/items`, { name: "Other" })
    await server.confirm(id)
    const device = await filled()
    const n = await sent(device, "POST", `/opportunities/${id}/extend`, { ends_at: ninth })
    await must("DELETE", `/opportunities/${id}/items/${items[0].id}`)
    await synced(device)
    await undone(device, n)
    const { ends_at } = dates
    expect(await show(`/opportunities/${id}?include=items`)).toMatchObject({ ends_at, items: [{ ends_at }] })
  })
  it("deletes a quotation whose goods an order took, but not an opportunity that others changed", async () => {
    const { id: item_id } = await server.units(1, 1)
    const line = { name: "Head", item_id, quantity: 1 }
    const device = await filled()
    const quotes: Array<string> = []
    for (const subject of ["Gala", "Fair"]) {
      const path = `/opportunities/${(await device.create("/opportunities", { subject, store_id: 1, ...dates })).id}`
      await device.create(`${path}/items`, line)
      await device.must("POST", `${path}/convert_to_quotation`)
      quotes.push(path)
    }
    const { id } = await device.create("/opportunities", { subject: "Theirs", store_id: 1 })
    await synced(device)
    await server.order(item_id, 1, dates)
    for (const path of quotes) expect((await show(path)).has_shortage).toBe(true)
    await undone(device, "1")
    await undone(device, "4")
    for (const path of quotes) expect((await server.get(path)).status).toBe(404)
    await must("PUT", `/opportunities/${id}`, { reference: "PO-7" })
    await synced(device)
    expect(await device.undo().undo("7", false)).toMatchObject(failing("refused"))
    expect((await server.get(`/opportunities/${id}`)).status).toBe(200)
  })
})

describe("planning an undo", () => {
  const quarantined = async () => {
    const unit = await server.unit((await server.units(1, 0)).id, 1, { asset_number: tagged("RC") })
    const device = await filled()
    await sent(device, "POST", `/stock_levels/${unit}/quarantine`, { reason: "crackles" })
    return { device, unit }
  }
  it("names the later change and its author that prevent it", async () => {
    const { device, unit } = await quarantined()
    const undo = device.undo()
    expect(await undo.list(1)).toMatchObject([{ way: "compensate", refusal: null }])
    await must("POST", `/stock_levels/${unit}/repair`, {})
    await synced(device)
    const before = await device.tables()
    const step = {
      way: "refused",
      says: expect.stringMatching(
        /^RC-\d+ has no open service record \d+\. .*RC-.* was changed since by Owner \(.*\)\.$/
      ),
      instead: "agree on it, and set it by hand",
      later: { who: "Owner", n: null },
      refusal: { status: 422, errors: { service_record_id: [expect.any(String)] } }
    }
    expect(await undo.list(1)).toMatchObject([step])
    expect(await undo.plan("1")).toMatchObject({ ok: true, plan: { steps: [step] } })
    expect(await undo.undo("1", false)).toMatchObject(failing("refused", { plan: { steps: [step] } }))
    expect(await device.tables()).toEqual(before)
    expect(device.outbox.lastN()).toBe(1)
  })
  it("names the user's own command that prevents it", async () => {
    const { device, unit } = await quarantined()
    await sent(device, "POST", `/stock_levels/${unit}/repair`, {})
    expect(await device.undo().list(2)).toMatchObject([
      { n: 2 },
      { n: 1, way: "refused", later: { n: 2 }, instead: "undo that first: flightcase undo 2" }
    ])
  })
  it("takes the last command first, then earlier ones", async () => {
    const product = await lamp()
    const { assets, units } = await ordered(1, 1)
    const device = await filled()
    await device.put(product, { name: "Lantern" })
    const { id } = await device.create(assets, { stock_level_id: units[0] })
    await synced(device)
    await must("DELETE", `${assets}/${id}`)
    await synced(device)
    const undo = device.undo()
    for (const [given, steps] of [
      [undefined, [{ n: 2, way: "nothing" }]],
      [undefined, [{ n: 1, way: "compensate" }]],
      ["2", [{ way: "nothing" }]]
    ] as const)
      expect(await undo.undo(given, false)).toMatchObject({ ok: true, plan: { steps } })
    expect(await undo.undo(undefined, false)).toMatchObject(failing("nothing"))
  })
})

describe("an undo of several steps", () => {
  it("records nothing if it is interrupted, and all steps the next time", async () => {
    const { assets, path, units } = await ordered(2, 2)
    const asset_ids: Array<number> = []
    for (const stock_level_id of units) asset_ids.push((await create(assets, { stock_level_id })).id)
    const hooks: Hooks = {}
    const device = await filled(hooks)
    await sent(device, "POST", `${path}/quick_book_out`, { asset_ids })
    const before = await device.tables()

    let written = 0
    const onDisk: Array<number> = []
    hooks.at = (step) => {
      if (step !== "in the outbox") return
      const disk = openOutboxAt(join(device.folder, "outbox.sqlite"))
      onDisk.push(disk.lastN())
      disk.close()
      if (++written === 2) throw new Error("broken off")
    }
    await expect(device.undo().undo("1", false)).rejects.toThrow("broken off")
    // State another process would find after a crash here.
    expect(onDisk).toEqual([1, 1])
    delete hooks.at
    expect(device.outbox.lastN()).toBe(1)
    expect(await device.tables()).toEqual(before)
    await device.restart()
    expect(await device.tables()).toEqual(before)

    expect(await device.undo().undo("1", false)).toMatchObject({ ok: true, recorded: [2, 3] })
    await synced(device)
    expect((await standing(path)).map(([, status]) => status)).toEqual(["Allocated", "Allocated"])
  })
  it("makes a required step depend on the last required step, and an optional step on the step before it", () => {
    const named = (name: string, otherwise?: string) => ({
      command: name,
      request: { name, params: {}, ...(otherwise === undefined ? {} : { otherwise }) } satisfies UndoRequest
    })
    const [unit, pack] = [named("unit"), named("pack", "the case stays open")]
    const [seal, release] = [named("seal", "the case stays open"), named("release")]
    expect(neededBy(unit.request, [])).toBeUndefined()
    expect(neededBy(pack.request, [unit])).toBe("unit")
    expect(neededBy(seal.request, [unit, pack])).toBe("pack")
    expect(neededBy(release.request, [unit, pack, seal])).toBe("unit")
  })
})

describe("a confirmed undo", () => {
  const planned = async (device: InspectedDevice): Promise<UndoPlan> => (await done(device.undo().plan(undefined))).plan
  it("undoes the planned commands, not those recorded since", async () => {
    const device = await filled()
    await device.post("/products", { name: "Lamp" })
    const plan = await planned(device)
    await device.post("/products", { name: "Torch" })
    expect(await device.undo().undo(undefined, true, plan)).toMatchObject({ ok: true, plan: { steps: [{ n: 1 }] } })
    expect(device.outbox.pending().map(({ n }) => n)).toEqual([2])
  })
  it("undoes nothing if the plan has grown, or its command was sent meanwhile", async () => {
    const device = await filled()
    const { id } = await device.create("/products", { name: "Lamp" })
    const plan = await planned(device)
    await device.put(`/products/${id}`, { name: "Torch" })
    expect(await device.undo().undo(undefined, true, plan)).toMatchObject(failing("changed"))
    expect(device.outbox.pending().length).toBe(2)
    const unsent = await planned(device)
    await synced(device)
    expect(await device.undo().undo(undefined, true, unsent)).toMatchObject(failing("changed"))
    expect(device.outbox.pending()).toEqual([])
  })
})

describe("redoing undone commands", () => {
  const refused = (field: string) => failing("refused", { plan: { steps: [{ later: { field, who: "Owner" } }] } })
  it("adds the line once in each of three redos, and is refused while the line is there", async () => {
    const { id } = await server.opportunity()
    const device = await filled()
    const undo = device.undo()
    const lines = async () => (await device.show(`/opportunities/${id}?include=items`)).items.length
    await sent(device, "POST", `/opportunities/${id}/items`, { name: "Line", quantity: 1 })
    await undone(device, "1")
    await done(undo.redo("1"))
    await done(undo.undo("3", false))
    expect(await undo.undo("1", false)).toMatchObject(failing("undone"))
    await done(undo.redo("1"))
    for (const n of ["1", "3"]) expect(await undo.redo(n)).toMatchObject(failing("settled"))
    expect(await undo.redo(undefined)).toMatchObject(failing("nothing"))
    expect(await lines()).toBe(1)
    await synced(device)
    await done(undo.undo("4", false))
    expect(await lines()).toBe(0)
    await done(undo.redo(undefined))
    expect(await lines()).toBe(1)
    await synced(device)
  })
  it("is refused if somebody changed the value since, whether or not the undone command was sent", async () => {
    const product = await lamp()
    const device = await filled()
    const undo = device.undo()
    await device.put(product, { name: "Lantern" })
    await done(undo.undo("1", false))
    await must("PUT", product, { name: "Torch" })
    await synced(device)
    expect(await undo.redo("1")).toMatchObject(refused("name"))
    await undone(device, await sent(device, "PUT", product, { name: "Lantern" }))
    await must("PUT", product, { name: "Floodlight" })
    await synced(device)
    expect(await undo.redo("2")).toMatchObject(refused("name"))
    expect((await show(product)).name).toBe("Floodlight")
  })
  it("compares only the custom field that the command sets", async () => {
    for (const name of ["a", "b"]) await create("/custom_fields", { name, module_type: "Product", field_type: 0 })
    const product = await lamp()
    const device = await filled()
    await undone(device, await sent(device, "PUT", product, { custom_fields: { a: "mine" } }))
    await must("PUT", product, { custom_fields: { b: "theirs" } })
    await done(device.undo().redo("1"))
    await synced(device)
    expect((await show(product)).custom_fields).toEqual({ a: "mine", b: "theirs" })
    await undone(device, "3")
    await must("PUT", product, { custom_fields: { a: "theirs" } })
    await synced(device)
    expect(await device.undo().redo("3")).toMatchObject(refused("custom_fields"))
  })
  it("is a conflict if the server has a change unknown to the device", async () => {
    const product = await lamp()
    const device = await filled()
    await device.put(product, { name: "Lantern" })
    await done(device.undo().undo("1", false))
    await synced(device)
    await must("PUT", product, { name: "Torch" })
    await done(device.undo().redo("1"))
    expect(await device.sync()).toMatchObject({ conflicts: 1 })
    expect((await show(product)).name).toBe("Torch")
  })
  it("adds a line to its recreated order", async () => {
    const { id: item_id } = await server.units(1, 0)
    const device = await filled()
    const subject = tagged("Gig")
    const { id } = await device.create("/opportunities", { subject, store_id: 1 })
    await sent(device, "POST", `/opportunities/${id}/items`, { name: "Line", item_id, quantity: 1 })
    const undo = device.undo()
    for (const n of ["2", "1"]) await done(undo.undo(n, false))
    await synced(device)
    for (const n of ["1", "2"]) await done(undo.redo(n))
    await synced(device)
    expect(await show(`/opportunities?include=items&q[subject_eq]=${subject}`)).toMatchObject([
      { items: [{ item_id }] }
    ])
  })
})

describe("an undo that the server refused", () => {
  let device: TestDevice, order: string
  const lines = async (): Promise<number> => (await show(`${order}?include=items`)).items.length
  const resolve = async (how: ResolutionRequest): ReturnType<Device["resolve"]> =>
    device.resolve((await device.conflicts())[0]!.id, how)
  /** A line was removed here and sent; the order was cancelled before the undo arrived. */
  beforeEach(async () => {
    const { id, items } = await server.withLine()
    order = `/opportunities/${id}`
    await server.confirm(id)
    device = await server.enrol()
    await device.must("DELETE", `${order}/items/${items[0].id}`)
    await device.sync()
    await must("POST", `${order}/change_status`, { status: 6 })
    expect(await device.undo.undo("1", false)).toMatchObject({ ok: true, recorded: [2] })
    expect(await device.sync()).toMatchObject({ rejected: 1 })
  })

  it("must be resolved as a conflict before the command is undone again", async () => {
    const says = "Undoing it was refused by the server, and waits as command 2."
    const plan = { steps: [{ n: 1, way: "refused", says, instead: "settle that: flightcase sync resolve 2" }] }
    expect(await device.undo.plan("1")).toMatchObject({ ok: true, plan })
    for (const n of ["1", undefined])
      expect(await device.undo.undo(n, false)).toMatchObject(failing("refused", { plan }))
    expect(await device.undo.list(5)).toMatchObject([{ n: 1, way: "refused", instead: expect.any(String) }])
    await resolve({ drop: true })
    await must("POST", `${order}/reinstate`)
    await device.sync()
    expect(await device.undo.undo("1", false)).toMatchObject({ ok: true, recorded: [3] })
    await device.sync()
    expect(await lines()).toBe(1)
  })
  it.each<ResolutionRequest>([{ retry: true }, { amend: { name: "Stage", quantity: "1" } }])(
    "undoes the command once it is recorded again with %j",
    async (how) => {
      await must("POST", `${order}/reinstate`)
      await device.sync()
      expect(await resolve(how)).toMatchObject({ command: { n: 3 } })
      await device.sync()
      expect(await lines()).toBe(1)
      expect(await device.undo.undo("1", false)).toMatchObject(failing("undone"))
      await done(device.undo.redo("1"))
      await device.sync()
      expect(await lines()).toBe(0)
    }
  )
  it("refuses another redo of the command while one is a conflict", async () => {
    await must("POST", `${order}/reinstate`)
    await device.sync()
    await resolve({ retry: true })
    await device.sync()
    await must("POST", `${order}/change_status`, { status: 6 })
    expect(await device.undo.redo("1")).toMatchObject({ ok: true, recorded: [4] })
    expect(await device.sync()).toMatchObject({ rejected: 1 })
    expect(await device.undo.redo("1")).toMatchObject(failing("conflict", { command: { n: 4 } }))
    expect(await device.undo.redo(undefined)).toMatchObject(failing("conflict"))
  })
})

describe("undoing a scan", () => {
  /** An order with all its units packed and sealed in a case. */
  const packed = async (many: number, made_at = "/containers/temporary") => {
    const barcode = tagged("C")
    const { path, product_id, units } = await ordered(many, many)
    const codes = units.map(() => tagged("MH"))
    for (const [at, id] of units.entries()) await must("PUT", `/stock_levels/${id}`, { asset_number: codes[at] })
    const { id } = await create(made_at, { name: "Case 7", barcode, store_id: 1 })
    for (const serialised_item_id of units) await create(`/containers/${id}/pack`, { serialised_item_id })
    await create(`/containers/${id}/seal`)
    /** Status and units of the container that has the barcode now. */
    const live = async () =>
      (await show(`/containers?include=active_items&q[status_not_eq]=dissolved&q[barcode_eq]=${barcode}`)).map(
        (one) => [one.name, one.status, one.active_items.map((item) => item.serialised_item_id).sort()]
      )
    return { units, container: id as number, gig: path, product_id, codes, live }
  }
  const scanned = async (device: InspectedDevice, gig: string, body: object) => {
    const scan = await device.create(`${gig}/scan`, body)
    await device.sync()
    return { ...scan, n: String(device.outbox.lastN()) }
  }
  const out = { direction: "out", break_seal: true }

  it("packs the unit again and seals the case as before", async () => {
    const { codes, gig, live, units } = await packed(3)
    const device = await filled()
    const { n } = await scanned(device, gig, { ...out, code: codes[1] })
    expect((await device.undo().list(1))[0]?.summary).toMatch(/^Book out MH-\d+ for order \d+ Gig, 3–5 Dec/)
    expect(await undone(device, n)).toMatch(/MH-\d+ is in .*Case 7 again, .*Case 7 is sealed again\.$/)
    expect(await live()).toEqual([["Case 7", "sealed", units]])
    expect(await standing(gig)).toEqual([])
  })
  it.each([
    ["dissolved", "/containers/temporary"],
    ["empty", "/containers"]
  ])("packs the only unit into its case again, which the scan had left %s", async (left, made_at) => {
    const { codes, container, gig, live, units } = await packed(1, made_at)
    const device = await filled()
    const scan = await scanned(device, gig, { ...out, code: codes[0] })
    expect(scan.taken_out_of).toEqual([{ container_id: container, name: "Case 7", seal_broken: true, left }])
    expect(await live()).toEqual(left === "empty" ? [["Case 7", "open", []]] : [])
    await undone(device, scan.n)
    expect(await live()).toEqual([["Case 7", "sealed", units]])
  })
  it("leaves the case open with a message if the unit cannot be packed again", async () => {
    const { codes, gig, live, product_id, units } = await packed(2)
    const device = await filled()
    const { n } = await scanned(device, gig, { ...out, code: codes[1] })
    const later = await server.order(product_id, 1, {
      starts_at: "2031-01-03T09:00:00Z",
      ends_at: "2031-01-05T09:00:00Z"
    })
    await create(`/opportunities/${later.id}/items/${later.line.id}/assets`, { stock_level_id: units[1] })
    await device.sync()
    expect(await undone(device, n)).toMatch(/Case 7 stays as it is\. .*committed/)
    expect(await live()).toEqual([["Case 7", "open", [units[0]]]])
  })
  it("dispatches a damaged returned unit again, and ends its quarantine", async () => {
    const { codes, gig, units } = await packed(1, "/containers")
    const [code] = codes
    const device = await filled()
    await scanned(device, gig, { ...out, code })
    const { n } = await scanned(device, gig, { direction: "in", code, condition: 1, damage_notes: "lens" })
    const state = async () => (await show(`/stock_levels/${units[0]}`)).service_state
    expect(await state()).toBe("quarantine")
    await undone(device, n)
    expect([await state(), await standing(gig)]).toEqual(["in_service", [[units[0], "Dispatched"]]])
    await scanned(device, gig, { direction: "in", code })
    expect(await device.create(`${gig}/scan`, { direction: "out", code })).toMatchObject({ is_out_again: true })
  })
  it.each([
    ["dispatches the quantity again and ends its quarantine", true],
    ["keeps the quarantine if the server refuses the undo", false]
  ])("%s, for damaged bulk goods", async (_, can_be) => {
    const code = tagged("CAB")
    const id = await server.product({ barcode: code, stock_method: 1 })
    await server.hold(id, 10)
    const gig = `/opportunities/${(await server.order(id, 5, dates)).id}`
    const device = await filled()
    await scanned(device, gig, { direction: "out", code: `${code}*5` })
    await scanned(device, gig, { direction: "in", code: `${code}*2` })
    const { n } = await scanned(device, gig, { direction: "in", code: `${code}*3`, condition: 1, damage_notes: "cut" })
    const state = async () => {
      const [{ dispatched_quantity, returned_quantity }] = (await show(`${gig}?include=items`)).items
      const open = (await show(`/service_records?q[product_id_eq]=${id}`)).filter((one) => one.is_open)
      return [Number(dispatched_quantity), Number(returned_quantity), open.map((one) => Number(one.quantity))]
    }
    expect(await state()).toEqual([5, 5, [3]])
    if (!can_be) await create(`${gig}/change_status`, { status: 5 })
    await done(device.undo().undo(n, false))
    expect((await device.sync()).rejected).toBe(can_be ? 0 : 1)
    expect(await state()).toEqual(can_be ? [5, 2, []] : [5, 5, [3]])
  })
})

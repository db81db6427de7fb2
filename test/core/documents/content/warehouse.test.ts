/** Content of warehouse documents, on both engines. `UPDATE_GOLDEN=1` updates the stored documents. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { warehousePaper } from "../../../../core/documents/content/warehouse.ts"
import { codesAmong } from "../../../../core/documents/content/warehouse-facts.ts"
import { inWalkingOrder } from "../../../../core/documents/content/warehouse-parcels.ts"
import { CommandRuntime } from "../../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { readDocument } from "../../../../core/pricing/print/blocks.ts"
import { type App, engines, openApp } from "../../../app.ts"
import { hire_dates } from "../../../rental-house.ts"
import { callsTo, type House, now, openHouse, orderOfLines, paperOf, rowsOf, said, sketch } from "./house.ts"

const golden = (name: string, text: string): void => {
  const path = join(import.meta.dirname, "../../../fixtures/golden/warehouse", name)
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  expect(text).toBe(readFileSync(path, "utf8"))
}
const kinds = ["pick_list", "delivery_note", "return_note"] as const

describe.each(engines)("warehouse documents on %s", (engine) => {
  let app: App
  let house: House
  beforeAll(async () => {
    app = await openApp(engine)
    house = await openHouse(app)
  })
  afterAll(() => app.close())
  const paper = (kind: (typeof kinds)[number]) => paperOf(app, house.order, kind)
  const row = async (kind: (typeof kinds)[number], name: string): Promise<string> =>
    sketch(await paper(kind))
      .split("\n")
      .find((line) => line.includes(name))!

  it("equal their golden files before anything is dispatched", async () => {
    for (const kind of kinds) {
      const document = await paper(kind)
      golden(`${kind}.json`, `${JSON.stringify(document, null, 1)}\n`)
      expect(readDocument(JSON.parse(JSON.stringify(document)))).toMatchObject({ _tag: "Success", success: document })
    }
  })
  it("have no left-aligned column right after a right-aligned one on the pick list and the delivery note", async () => {
    for (const kind of ["pick_list", "delivery_note"] as const) {
      const table = (await paper(kind)).blocks.find((block) => block.kind === "table")!
      const sides = table.columns.map(({ alignment = "start" }) => alignment).join(" ")
      expect(sides, kind).not.toContain("end start")
    }
  })
  it("list cases first, then locations in walking order, then items without one, on the pick list", async () => {
    expect(sketch(await paper("pick_list")).match(/^== .*?(?= ·)/gm)).toEqual([
      "== Case Box 3",
      "== A-2",
      "== A-10",
      "== B-10",
      "== D-1",
      "== No place recorded"
    ])
  })
  it("tick prepared units on the pick list, and show the quantity still to pick and its other locations", async () => {
    expect(await row("pick_list", "A-2 · S/N SN-1002")).toContain("[x]")
    expect(await row("pick_list", "still to pick")).toBe(
      "Mac Aura (AURA / Spots first / 1 still to pick / also at A-10) · 2 · 13 kg · "
    )
    expect(await row("pick_list", "A-3")).toContain("[ ] A-3")
  })
  it("indent accessories below their line on the pick list", async () => {
    expect(await row("pick_list", "Clamp")).toBe("  [ ] Clamp (CLAMP) · 8 · 3.2 kg · |CLAMP*8|")
  })
  it("list a kit's parts with their locations below it, and the kit's weight, on the pick list", async () => {
    const text = sketch(await paper("pick_list"))
    expect(text).toContain("[ ] Small rig (RIG) · 2 · 23.2 kg · |RIG*2|")
    expect(text).toContain("  [ ] Stand (STAND · C-1) · 4 ·  · ")
    expect(text).toContain("  [ ] Cable 10 m (CAB-10 · B-10) · 6 ·  · ")
  })
  it("add up pieces and kilograms on the pick list, and count pieces of unknown weight", async () => {
    const document = await paper("pick_list")
    expect(sketch(document)).toContain("-- Pieces: 31\n-- Total weight: 100.8 kg")
    expect(JSON.stringify(document)).toContain("Without a recorded weight: 3 pieces")
  })
  it("show no prices, costs or services", async () => {
    for (const kind of kinds) {
      const text = JSON.stringify(await paper(kind))
      expect(text).not.toMatch(/999|50[.,]00|£|GBP|Crew/)
    }
  })
  it("show sub-hires on the pick list, and no sub-hires or internal notes on the delivery note", async () => {
    expect(sketch(await paper("pick_list"))).toMatch(/Sub-rental/)
    const delivery = sketch(await paper("delivery_note"))
    expect(delivery).not.toMatch(/Sub-rental|Hired in|Spots first/)
    expect(delivery).toContain("Black")
  })
  it("list the allocated units of a line in one row of the delivery note", async () => {
    expect(await row("delivery_note", "SN-1002")).toBe("Mac Aura (A-2 · S/N SN-1002, A-3 / AURA) · 3 · 19.5 kg")
  })
  it("show the delivery address, times, phone number and a scannable order number on the pick list", async () => {
    const text = JSON.stringify((await paper("pick_list")).blocks.slice(0, 3))
    for (const said_there of [
      "Olympia Hall",
      "1 Hall Road",
      "W14 8UX London",
      "+44 20 7946 0000",
      "Dock 4, ring twice"
    ])
      expect(text).toContain(said_there)
    expect(text).toContain(`"kind":"code","symbology":"code128","value":"0000000001"`)
    expect(text).toContain("31/08/2026 07:00 – 09:00")
  })
  it("state on the return note that it is empty while nothing is out", async () => {
    expect(JSON.stringify(await paper("return_note"))).toContain("There is nothing on it.")
  })
  it("are in the company's language for staff, and in the customer's for customers", async () => {
    await callsTo(app).put("/settings/company", { settings: { locale: "de-DE" } })
    try {
      expect((await paper("pick_list")).title).toBe("Packliste 0000000001")
      await callsTo(app).put("/members/" + String(await customerOf(app, house.order)), { locale: "fr-FR" })
      const delivery = await paper("delivery_note")
      expect(delivery.title).toBe("Bon de livraison 0000000001")
      expect(sketch(delivery)).toContain("94,3 kg")
    } finally {
      await callsTo(app).put("/settings/company", { settings: { locale: "en-GB" } })
      await callsTo(app).put("/members/" + String(await customerOf(app, house.order)), { locale: "en-GB" })
    }
  })
  it("name their file by the document number, and include the layout's texts", async () => {
    const prepared = await app.run(
      Effect.gen(function* () {
        return yield* warehousePaper(
          {
            document_type: "pick_list",
            documentable_id: house.order,
            store_id: null,
            document_number: "0000000042",
            now
          },
          yield* (yield* CommandRuntime).settings
        )
      })
    )
    expect(prepared?.file_name).toBe("pick-list-0000000042")
    expect(JSON.stringify(prepared?.compose({ intro: "Mind the step", terms: "As agreed", footer: "Foot" }))).toMatch(
      /Mind the step.*As agreed/s
    )
  })
  it("do not exist for an unknown order or another document type", async () => {
    await expect(paperOf(app, 4_711, "pick_list")).rejects.toThrow("no such paper")
    await expect(paperOf(app, house.order, "quotation")).rejects.toThrow("no such paper")
  })

  it("show dispatched, remaining and returned quantities", async () => {
    const { assignmentOf, lines, order, patch, post } = house
    const ids = await Promise.all(["A-1", "A-2", "A-3", "FC-7"].map(assignmentOf))
    await post(`/opportunities/${order}/quick_book_out`, { asset_ids: ids })
    await patch(`/opportunities/${order}/items/${lines["cables"]}/fulfilment`, { action: "dispatch", quantity: "5" })
    const delivery = sketch(await paper("delivery_note"))
    expect(delivery).toContain("Cable 10 m (CAB-10 / Black) · 5 · 6 kg")
    expect(delivery.slice(delivery.indexOf("== To follow"))).toContain("Cable 10 m (CAB-10 / Black) · 7 · 8.4 kg")
    expect(delivery.slice(delivery.indexOf("== To follow"))).toContain("Mixer")
    const pick = sketch(await paper("pick_list"))
    expect(pick).toContain("[ ] Cable 10 m (CAB-10) · 12 · 14.4 kg · |CAB-10*7|")
    expect(pick).toContain("[x] A-1 · S/N SN-1001 (out) ·  ·  · \n")
    const before = sketch(await paper("return_note"))
    expect(before).toContain("[ ] Cable 10 m (CAB-10) · 5 ·  ·  ·  · |CAB-10*5|")
    await post(`/opportunities/${order}/quick_check_in`, { asset_ids: [ids[0]!] })
    await patch(`/opportunities/${order}/items/${lines["cables"]}/fulfilment`, { action: "return", quantity: "2" })
    const after = sketch(await paper("return_note"))
    expect(after).toContain("[ ] Cable 10 m (CAB-10) · 5 · 2 · 3 ·  · |CAB-10*3|")
    expect(after).toMatch(/\[x\] A-1 · S\/N SN-1001 · [ ·]*$/m)
    expect(after).toMatch(/\[ \] A-2 · S\/N SN-1002.*\|A-2\|/)
  })
  it("mark damaged and missing units on the return note", async () => {
    const { assignmentOf, lines, order, patch, post } = house
    const [first, second] = [await assignmentOf("A-1"), await assignmentOf("A-2")]
    await post(`/opportunities/${order}/quick_check_in`, { asset_ids: [second] })
    for (const [asset, condition] of [
      [first, 1],
      [second, 2]
    ] as const)
      await patch(`/opportunities/${order}/items/${lines["heads"]}/assets/${asset}`, { action: "check", condition })
    const rows = rowsOf(await paper("return_note")).map(({ cells }) => cells.map(said).join(" · "))
    expect(rows.find((one) => one.includes("A-1"))).toContain("Damaged")
    const lost = rows.find((one) => one.includes("SN-1002"))
    expect(lost).toContain("[ ]")
    expect(lost).toContain("Missing")
  })
})

const customerOf = async (app: App, order: number): Promise<number | null> =>
  (await app.call("GET", `/api/v1/opportunities/${order}`)).body.opportunity.member_id

it("a pick list shows the content of a sealed case on the order, ticked", async () => {
  const app = await openApp()
  const { made, post, put } = callsTo(app)
  const [rack, wireless] = [
    await made("/products", { name: "Radio rack", sku: "RACK", stock_method: 2, weight: "18" }),
    await made("/products", { name: "Receiver", sku: "RX", stock_method: 2, weight: "1.5" })
  ]
  const unit = (product_id: number, asset_number: string): Promise<number> =>
    made("/stock_levels", { product_id, store_id: 1, asset_number, location: "R-1" })
  const housing = await unit(rack, "RACK-1")
  const inside = [await unit(wireless, "RX-1"), await unit(wireless, "RX-2")]
  await put(`/products/${rack}/container_template`, { is_containerable: true, availability_mode: "kit" })
  const box = await app.call("POST", "/api/v1/containers", {
    name: "Rack one",
    serialised_item_id: housing,
    store_id: 1,
    scan_mode: "free"
  })
  expect(box.status, JSON.stringify(box.body)).toBe(201)
  for (const one of inside) await post(`/containers/${box.body.container.id}/pack`, { serialised_item_id: one })
  await post(`/containers/${box.body.container.id}/seal`)
  const order = await made("/opportunities", { subject: "Radio", store_id: 1, ...hire_dates })
  const { opportunity } = await post(`/opportunities/${order}/items?include=items`, {
    name: "Radio rack",
    item_id: rack,
    quantity: "1"
  })
  await post(`/opportunities/${order}/quick_allocate`, {
    allocations: [{ opportunity_item_id: opportunity.items[0].id, stock_level_id: housing }]
  })
  const document = await paperOf(app, order, "pick_list")
  expect(sketch(document)).toBe(
    [
      "== Case Rack one · 3 pcs · 21 kg",
      "[ ] Radio rack (RACK-1 / RACK) · 1 · 18 kg · |RACK-1|",
      "  [x] Receiver (RX-1) · 1 · 1.5 kg · ",
      "  [x] Receiver (RX-2) · 1 · 1.5 kg · ",
      "-- Pieces: 3",
      "-- Total weight: 21 kg"
    ].join("\n")
  )
  expect(JSON.stringify(document)).toContain(`"together":true`)
  await app.close()
})

it("a pick list of 1,000 lines takes as many queries as one of three", async () => {
  const app = await openApp()
  const asked = async (order: number): Promise<number> =>
    app.run(
      Effect.gen(function* () {
        const store = yield* Store
        const settings = yield* (yield* CommandRuntime).settings
        let count = 0
        const counting = <F extends (...given: ReadonlyArray<never>) => unknown>(work: F): F =>
          ((...given: ReadonlyArray<never>) => {
            count++
            return work(...given)
          }) as F
        yield* Effect.provideService(
          warehousePaper(
            { document_type: "pick_list", documentable_id: order, store_id: null, document_number: null, now },
            settings
          ),
          Store,
          {
            ...store,
            run: counting(store.run),
            get: counting(store.get),
            getMany: counting(store.getMany),
            find: counting(store.find)
          }
        )
        return count
      })
    )
  const [one, thousand] = [await orderOfLines(app, 3), await orderOfLines(app, 1_000)]
  expect(await asked(thousand)).toBe(await asked(one))
  expect(rowsOf(await paperOf(app, thousand, "pick_list")).length).toBeGreaterThan(1_000)
  await app.close()
})

describe("printed codes", () => {
  const unit = (id: number, barcode: string | null, asset_number: string | null, serial_number: string | null) => ({
    id,
    barcode,
    asset_number,
    serial_number
  })
  const among = (...units: ReadonlyArray<ReturnType<typeof unit>>) => codesAmong(units, [], { units: [], products: [] })
  it("identify exactly one unit to a scanner", () => {
    const codes = among(unit(1, "X", "A-1", null), unit(2, "X", "A-2", null), unit(3, "A-2", null, "S-3"))
    expect([1, 2, 3].map((id) => codes.ofUnit(id)?.value)).toEqual(["A-1", "unit:2", "A-2"])
  })
  it("fall back to a prefixed id for a unit without another code", () => {
    expect(among(unit(1, null, null, null), unit(2, "1", null, null)).ofUnit(1)?.value).toBe("unit:1")
  })
  it("avoid texts that a scanner reads as a quantity or trims", () => {
    expect(among(unit(1, "CASE*5", " A-1", "S-1")).ofUnit(1)?.value).toBe("S-1")
    expect(among(unit(1, "5 x CASE", "]C1A-1", "S-1")).ofUnit(1)?.value).toBe("S-1")
  })
  it("are QR codes if the text is too long for Code 128 or not ASCII", () => {
    expect(among(unit(1, "Kiste Ä", null, null)).ofUnit(1)).toEqual({ symbology: "qr", value: "Kiste Ä" })
    expect(among(unit(1, "A".repeat(40), null, null)).ofUnit(1)?.symbology).toBe("qr")
    expect(among(unit(1, "A-1", null, null)).ofUnit(1)?.symbology).toBe("code128")
  })
  it("exist for a bulk quantity only if it is a whole number above zero and within the limit", () => {
    const codes = codesAmong([], [{ id: 1, sku: "CAB", barcode: null }], { units: [], products: [] })
    expect(["5", "0", "2.5", "1234567"].map((count) => codes.ofProduct(1, count)?.value)).toEqual([
      "CAB*5",
      undefined,
      undefined,
      undefined
    ])
  })
})

it("locations are sorted by the numbers in them", () => {
  expect(["B-1", "A-10", "A-2", "", "a-2", "A-2-1"].toSorted(inWalkingOrder)).toEqual([
    "",
    "A-2",
    "a-2",
    "A-2-1",
    "A-10",
    "B-1"
  ])
})

it("delivery and return notes list the bulk parts of a kit that was scanned out by its units", async () => {
  const app = await openApp()
  const { made, post } = callsTo(app)
  const [camera, tripod, kit] = [
    await made("/products", { name: "Camera", sku: "CAM", stock_method: 2 }),
    await made("/products", { name: "Tripod", sku: "TRI", stock_method: 1 }),
    await made("/products", { name: "Camera kit", sku: "KIT", product_type: "rental", stock_method: 1 })
  ]
  await post(`/products/${kit}/components`, { component_product_id: camera })
  await post(`/products/${kit}/components`, { component_product_id: tripod, quantity: 2 })
  for (const asset_number of ["CAM-1", "CAM-2"])
    await made("/stock_levels", { product_id: camera, store_id: 1, asset_number })
  const order = await made("/opportunities", {
    subject: "Interview",
    store_id: 1,
    starts_at: "2026-09-01T09:00:00Z",
    ends_at: "2026-09-05T17:00:00Z"
  })
  await post(`/opportunities/${order}/items`, { name: "Camera kit", item_id: kit, quantity: "2" })
  await post(`/opportunities/${order}/convert_to_quotation`)
  await post(`/opportunities/${order}/convert_to_order`)
  await post(`/opportunities/${order}/scan`, { direction: "out", code: "CAM-1" })
  const delivered = sketch(await paperOf(app, order, "delivery_note"))
  const returned = sketch(await paperOf(app, order, "return_note"))
  expect({ delivered, returned }).toEqual({
    delivered: [
      "== Not in a case · 1 pcs",
      "Camera kit (KIT) · 1 · ",
      "  Tripod (TRI) · 2 · ",
      "  Camera (CAM-1) · 1 · ",
      "-- Pieces: 1",
      "== To follow · 1 pcs",
      "Camera kit (KIT) · 1 · ",
      "  Camera (CAM) · 1 · ",
      "  Tripod (TRI) · 2 · "
    ].join("\n"),
    returned: [
      "== Not in a case · 1 pcs",
      "[ ] Camera kit (KIT) · 1 ·  ·  ·  · ",
      "  [ ] Tripod (TRI) · 2 ·  ·  ·  · ",
      "  [ ] Camera (CAM-1) · 1 ·  ·  ·  · |CAM-1|",
      "-- Pieces: 1"
    ].join("\n")
  })
  await app.close()
})

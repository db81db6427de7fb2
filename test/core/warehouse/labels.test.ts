/** Labels: the code on each, pages, and ZPL. `UPDATE_GOLDEN=1` updates the stored ZPL. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { zplOf } from "../../../core/warehouse/labels/rules.ts"
import { engines } from "../../app.ts"
import { refused } from "../../app-house.ts"
import { caseHouse } from "./containers/fixtures.ts"

describe.each(engines)("labels on %s", (engine) => {
  const w = caseHouse(engine)
  const labelsOf = async (query: string) => (await w.get(`/labels?${query}`)).body.labels
  const codesOf = async (query: string) => (await labelsOf(query)).map(({ code }: { code: string }) => code)

  it("have the first scannable code that is unique to the unit, or else its id", async () => {
    const { id, units } = await w.units(w.S, 4)
    const [plain, both, twin, odd] = units
    await w.put(`/stock_levels/${plain}`, { asset_number: "LB-1", serial_number: "LB-S1", location: "Aisle 3" })
    await w.put(`/stock_levels/${both}`, { barcode: "LB-TWIN", serial_number: "LB-S2" })
    await w.put(`/stock_levels/${twin}`, { barcode: "LB-TWIN", asset_number: "", serial_number: "" })
    await w.put(`/stock_levels/${odd}`, { barcode: "LB*5", asset_number: "", serial_number: "" })
    const labels = await labelsOf(`product_id=${id}`)
    const byId = new Map(labels.map((label: { id: number }) => [label.id, label]))
    expect(byId.get(plain!)).toMatchObject({ code: "LB-1", more: "S/N LB-S1 · Aisle 3", kind: "unit", is_case: false })
    expect(byId.get(both!)).toMatchObject({ code: expect.not.stringContaining("LB-TWIN") })
    expect(byId.get(twin!)).toMatchObject({ code: `unit:${twin}` })
    expect(byId.get(odd!)).toMatchObject({ code: `unit:${odd}` })
    for (const { code, id: unit } of labels)
      expect(await labelsOf(`codes[]=${encodeURIComponent(code)}`)).toMatchObject([{ id: unit, code }])
  })
  it("have the container's name for a case, and the barcode or id of a container that is no unit", async () => {
    const kit = await w.container("transport")
    const crate = await w.create("/containers/temporary", { name: "Crate", barcode: "LB-CRATE", store_id: w.S })
    const plain = await w.create("/containers", { name: "Plain", store_id: w.S })
    expect(await labelsOf(`codes[]=unit:${kit.housing}&codes[]=LB-CRATE&codes[]=container:${plain.id}`)).toMatchObject([
      { kind: "unit", title: "Case", is_case: true },
      { kind: "container", title: "Crate", code: "LB-CRATE", id: crate.id, is_case: true },
      { kind: "container", code: `container:${plain.id}` }
    ])
  })
  it("cover a store's units, then its containers that are no unit, page by page", async () => {
    const store = await w.store()
    await w.units(store, 3)
    await w.create("/containers", { name: "Plain", store_id: store })
    const page = async (at: number) => (await w.get(`/labels?store_id=${store}&per_page=2&page=${at}`)).body
    const [first, second] = [await page(1), await page(2)]
    expect([...first.labels, ...second.labels].map(({ kind }) => kind)).toEqual(["unit", "unit", "unit", "container"])
    expect(second.meta).toEqual({ total: 4, per_page: 2, page: 2 })
  })
  it("have the product's code for bulk products", async () => {
    const { id } = await w.bulk(w.S, 3, { sku: "LB-CABLE" })
    expect(await labelsOf(`product_id=${id}`)).toMatchObject([{ kind: "product", code: "LB-CABLE", id }])
    expect(await codesOf("codes[]=LB-CABLE")).toEqual(["LB-CABLE"])
    await refused(w.get(`/labels?product_id=${(await w.bulk(w.S, 1)).id}`), "product_id")
  })
  it("are rejected without a product, store or code, and at each code that names nothing to label", async () => {
    const { id } = await w.units(w.S, 1, { sku: "LB-HEAD" })
    await refused(w.get("/labels"), "codes")
    await refused(w.get("/labels?codes[]=LB-HEAD&codes[]=LB-NONE"), "codes.0", "codes.1")
    expect(await labelsOf(`product_id=${id}`)).toHaveLength(1)
  })
})

describe("labels in ZPL", () => {
  const label = { title: "Moving head", more: "S/N 77 · Aisle 3", is_case: false }
  it("equal their golden files", () => {
    const labels = [
      { ...label, code: "A-1" },
      { ...label, code: "00012345", more: null },
      { ...label, code: "CASE-7", title: "Case „7“ ^FS~_", is_case: true },
      { ...label, code: "A>1^2~3_4" },
      { ...label, code: "Ü-1" },
      { ...label, code: "X".repeat(40), is_case: true }
    ]
    for (const [name, options] of [
      ["57x32", {}],
      ["100x50-300dpi", { width_mm: 100, height_mm: 50, dots_per_mm: 12 }],
      ["25x13-qr", { width_mm: 25, height_mm: 13, symbol: "qr" }]
    ] as const) {
      const path = join(import.meta.dirname, "../../fixtures/golden/labels", `${name}.zpl`)
      const text = zplOf(labels, options)
      if (process.env["UPDATE_GOLDEN"] === "1") {
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(path, text)
      }
      expect(text).toBe(readFileSync(path, "utf8"))
    }
  })
  it("are ASCII, with texts that cannot end their field", () => {
    const text = zplOf([{ ...label, code: "A-1", title: "^XZ ~JA Ünit_" }])
    expect(text).toMatch(/^[\n\u0020-\u007e]*$/)
    expect(text).toContain("^FD_5EXZ _7EJA _C3_9Cnit_5F^FS")
  })
})

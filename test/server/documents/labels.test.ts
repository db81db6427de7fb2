/** Downloads of labels: ZPL for label printers, and A4 sheets as a page. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../../app.ts"
import { decoded, pixelsOfSvg } from "../../browser/decode.ts"
import { all, faultsOf, readPage } from "../../browser/page.ts"
import { serve, type Serving } from "../serving.ts"

describe.each(engines)("labels to download on %s", (engine) => {
  let serving: Serving
  const get = (path: string) => serving.ask(`/api/v1/labels/${path}`)
  beforeAll(async () => {
    serving = await serve(engine)
    const post = async (path: string, json: object) => (await serving.ask(`/api/v1/${path}`, { json })).body
    const { product } = await post("products", { name: "Head <b>", sku: "HEAD", stock_method: 2 })
    for (const asset_number of ["A-1", "A-2"])
      await post("stock_levels", { product_id: product.id, store_id: 1, asset_number })
  })
  afterAll(() => serving.close())

  it("come as ZPL of the requested size, in a file", async () => {
    const { headers, status, text } = await get("zpl?product_id=1&width_mm=51&height_mm=25")
    expect([status, headers["content-type"]]).toEqual([200, "application/zpl; charset=utf-8"])
    expect(headers["content-disposition"]).toContain("labels.zpl")
    expect(text.match(/^\^XA\n\^CI28\n\^PW408\n\^LL200\n/gm)).toHaveLength(2)
  })
  it("come as a page whose codes scan", async () => {
    const { headers, status, text } = await get("sheet?product_id=1&sheet=avery-l4737&symbol=qr&skip=3")
    expect([status, headers["content-security-policy"]]).toEqual([200, expect.stringContaining("sandbox")])
    expect(faultsOf(text)).toEqual([])
    expect(all(readPage(text), "svg").map((svg) => decoded(pixelsOfSvg(svg), "qr"))).toEqual(["A-1", "A-2"])
  })
  it("are rejected for an unknown sheet, too many used labels and unknown codes", async () => {
    for (const [query, field] of [
      ["product_id=1&sheet=9x9", "sheet"],
      ["product_id=1&skip=24", "skip"],
      ["codes[]=NONE", "codes.0"]
    ] as const) {
      const { body, status } = await get(`sheet?${query}`)
      expect([query, status, Object.keys(body.errors)]).toEqual([query, 422, [field]])
    }
  })
})

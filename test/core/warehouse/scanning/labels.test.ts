/** All codes on our labels and documents, given to the scanner: recognised, or refused naming what they are. */
import { beforeAll, describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"
import { callsTo, type House, openHouse, paperOf } from "../../documents/content/house.ts"

/** Values of all codes in a document. */
const codesIn = (part: unknown): ReadonlyArray<string> => {
  if (Array.isArray(part)) return part.flatMap(codesIn)
  if (typeof part !== "object" || part === null) return []
  const own = "symbology" in part && "value" in part && typeof part.value === "string" ? [part.value] : []
  return [...own, ...Object.values(part).flatMap(codesIn)]
}

describe.each(engines)("codes on labels and documents on %s", (engine) => {
  const w = appHouse(engine)
  let house: House
  beforeAll(async () => {
    house = await openHouse(w.app)
  })

  const scan = async (
    direction: "out" | "in",
    code: string
  ): Promise<{ readonly ok: boolean; readonly says: string }> => {
    const { body, status } = await w.post(`/opportunities/${house.order}/scan`, { direction, code })
    expect([code, [200, 422].includes(status)]).toEqual([code, true])
    return {
      ok: status === 200,
      says: Object.values<ReadonlyArray<string>>(body.errors ?? {})
        .flat()
        .join(" ")
    }
  }
  /** Refusals must say what the code identifies or why it cannot go, not that it is unknown. */
  const unknown = /no unit and no product has this code/
  const find = async (code: string): Promise<number> => {
    const { body, status } = await w.get(`/search?q=${encodeURIComponent(code)}`)
    expect([code, status]).toEqual([code, 200])
    return body.search.total
  }

  it("dispatch the goods from a pick list or give a reason; the order's code is recognised as an order number", async () => {
    const codes = [...new Set(codesIn(await paperOf(w.app, house.order, "pick_list")))]
    expect(codes.length).toBeGreaterThan(5)
    const [number, ...goods] = codes
    expect((await scan("out", number ?? "")).says).toContain("is the number of an order")
    expect(await find(number ?? "")).toBeGreaterThan(0)
    const verdicts = await Promise.all(
      goods.map(async (code) => [code, await find(code.replace(/\*\d+$/, ""))] as const)
    )
    expect(verdicts.filter(([, found]) => found === 0)).toEqual([])
    let gone = 0
    for (const code of goods) {
      const { ok, says } = await scan("out", code)
      if (ok) gone++
      else expect(`${code}: ${says}`).not.toMatch(unknown)
    }
    expect(gone).toBeGreaterThan(2)
  })

  it("are recognised when scanned in from a delivery note and a return note", async () => {
    for (const kind of ["delivery_note", "return_note"] as const) {
      const codes = new Set(codesIn(await paperOf(w.app, house.order, kind)))
      expect(codes.size).toBeGreaterThan(0)
      for (const code of codes) {
        const { ok, says } = await scan("in", code)
        if (!ok) expect(`${kind} ${code}: ${says}`).not.toMatch(unknown)
      }
    }
  })

  it("are recognised on units, cases and products with a scanner's prefix, in a URL or in GS1 elements", async () => {
    const { made, post } = callsTo(w.app)
    const product_id = await made("/products", { name: "Lamp", sku: "LAMP", barcode: "5012345678900", stock_method: 2 })
    const unit = await made("/stock_levels", {
      product_id,
      store_id: 1,
      asset_number: "L-1",
      serial_number: "SN/77",
      barcode: "90017"
    })
    const box = await made("/containers/temporary", { name: "Box L", barcode: "BOX-L", store_id: 1 })
    await post(`/containers/${box}/pack`, { serialised_item_id: unit })
    const around = (code: string): ReadonlyArray<string> => [
      code,
      ` ${code} `,
      `]C1${code}`,
      `]Q3${code}`,
      `https://labels.example/u/${encodeURIComponent(code)}`
    ]
    const labels = [
      ...["90017", "L-1", "SN/77", "BOX-L", "LAMP", "5012345678900"].flatMap(around),
      "(01)05012345678900(21)90017",
      "0105012345678900" + "21L-1",
      "(01)05012345678900",
      "(8004)L-1",
      ...around(`container:${box}`),
      ...around(`unit:${unit}`)
    ]
    for (const label of labels) {
      const { ok, says } = await scan("out", label)
      expect([label, ok]).toEqual([label, false])
      // Not on the order, packed elsewhere, or serialised: each error names what it is.
      expect(`${label}: ${says}`).toMatch(/Lamp|L-1|Box L/)
      expect(`${label}: ${says}`).not.toMatch(unknown)
    }
    const { ok, says } = await scan("out", String(unit))
    expect(ok).toBe(false)
    expect(says).toContain(`${unit} is no code but the id of a unit, L-1`)
    expect(says).toContain(`or unit:${unit}`)
    for (const code of ["90017", "L-1", "SN/77", "BOX-L", "LAMP", "5012345678900"])
      expect([code, (await find(code)) > 0]).toEqual([code, true])
  })

  it("are reported as payment codes, web addresses or unknown codes", async () => {
    const payment = ["BCD", "002", "1", "SCT", "", "Rentals", "DE02120300000000202051", "EUR12.50"].join("\n")
    expect((await scan("out", payment)).says).toContain("payment code")
    expect((await scan("in", "https://house.example/d/NoSuchThingAtAll")).says).toContain("this is an address")
    expect((await scan("in", "NO-SUCH-CODE")).says).toMatch(unknown)
  })
})

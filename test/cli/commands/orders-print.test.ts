/** Documents printed offline: their codes can be scanned, and who may print them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { isJsonObject } from "../../../core/kernel/fields/field.ts"
import { pagesOfPdf } from "../../server/print/pdf-text.ts"
import { placeOfSuite } from "../place.ts"

const place = placeOfSuite()
const { done, json } = place
/** Codes of all cells, at any depth. */
const codesIn = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(codesIn)
  if (!isJsonObject(value)) return []
  const { code } = value
  return [
    ...(isJsonObject(code) && typeof code["value"] === "string" ? [code["value"]] : []),
    ...Object.values(value).flatMap(codesIn)
  ]
}

beforeAll(async () => {
  const { house } = place
  const head = await house.serialised({ name: "Head", sku: "HEAD" })
  const cable = await house.product({ name: "Cable", sku: "CABLE" })
  const units: Array<number> = []
  for (const known of [
    { barcode: "9001" },
    { asset_number: "A-2" },
    { serial_number: "S-3" },
    { item_name: "no code" }
  ])
    units.push((await house.create("/stock_levels", { product_id: head, store_id: 1, ...known })).id)
  await house.hold(cable, 50)
  // Two lines of one bulk product: each scan must fit on one of them.
  const lines = "--line HEAD*4 --line CABLE*10 --line CABLE*7"
  await done(`quote new --subject Tour --from 2027-07-01 --to 2027-07-04 ${lines}`)
  await done("quote convert 1")
  const allocations = units.map((stock_level_id) => ({ opportunity_item_id: 1, stock_level_id }))
  await house.must("POST", "/opportunities/1/quick_allocate", { allocations })
})

describe("documents printed without a network", () => {
  it("have barcodes that all scan, for dispatch and for return", async () => {
    await place.login()
    await place.stop()
    const codes = codesIn(await json("orders print 1 --type pick_list"))
    expect(codes).toHaveLength(6)
    const out = await done("scan out 1", { input: codes.join("\n") })
    expect(out.err).toContain("6 booked out, 0 refused")
    const back = codesIn(await json("orders print 1 --type return_note"))
    const taken = await done("scan in 1", { input: back.join("\n") })
    expect(taken.err).toContain("6 checked in, 0 refused")
  })
  it("are PDF files named after their type and the order", async () => {
    expect((await done("orders print 1 --type delivery_note")).err).toContain(
      "Wrote delivery-note-order-0000000001.pdf"
    )
    const text = pagesOfPdf(readFileSync(join(place.folder, "delivery-note-order-0000000001.pdf"))).join("\n")
    expect(text).toContain("Delivery note")
    expect(text).toContain("S/N S-3")
    expect(text).not.toContain("pending")
  })
  it("are self-contained HTML pages", async () => {
    await done("orders print 1 --type pick_list --format html -o pick.html")
    const page = readFileSync(join(place.folder, "pick.html"), "utf8")
    expect(page).toContain("<title>Pick list 0000000001</title>")
    expect(page).not.toMatch(/<script|src="http/)
  })
})

it("a warehouse user prints documents from their replica, and a user without the documents permission cannot", async () => {
  await place.start()
  const { person } = place.house
  const warehouse = (await person({ name: "warehouse", roles: ["Warehouse"] })).secret
  await done(`login ${place.url} --token ${warehouse} --profile warehouse`)
  const other = (await person({ name: "other", permissions: ["opportunities.view", "opportunities.access"] })).secret
  await done(`login ${place.url} --token ${other} --profile other`)
  await place.stop()
  const line = "orders print 1 --type pick_list"
  expect(JSON.stringify(await json(`${line} --profile warehouse`))).toContain("A-2")
  const refused = await place.type(`${line} --json --profile other`)
  expect(refused.code).toBe(4)
  expect(refused.err).toContain("documents.view")
})

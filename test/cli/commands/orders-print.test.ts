/** Papers printed without a network: what is on them goes back through the scanner; and who may print them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isJsonObject } from "../../../core/kernel/fields/field.ts"
import { pagesOfPdf } from "../../server/print/pdf-text.ts"
import { rentalHouse } from "../../rental-house.ts"
import { callOf, openPlace, owner_token, type Place, runHere as run } from "../session.ts"

let place: Place
const typed = async (words: ReadonlyArray<string>, more: Parameters<typeof run>[2] = {}) => {
  const ran = await run(place, words, more)
  expect(ran, `${words.join(" ")}\n${ran.err}`).toMatchObject({ code: 0 })
  return ran
}
const made = async (...words: ReadonlyArray<string>): Promise<any> =>
  Object.values(JSON.parse((await typed([...words, "--json"])).out))[0]
/** Codes of all cells, wherever they stand. */
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
  place = await openPlace()
  const head = await made("products", "create", "--name", "Head", "--sku", "HEAD", "--stock-method", "serialised")
  const cable = await made("products", "create", "--name", "Cable", "--sku", "CABLE")
  const units: Array<number> = []
  for (const [flag, value] of [
    ["--barcode", "9001"],
    ["--asset-number", "A-2"],
    ["--serial-number", "S-3"],
    ["--item-name", "no code"]
  ] as const) {
    const args = ["--product", String(head.id), "--store", "1", flag, value]
    units.push((await made("stock-levels", "create", ...args)).id)
  }
  const bulk = JSON.parse((await typed(["stock-levels", "list", "-q", `product_id_eq=${cable.id}`, "--json"])).out)
  await typed(["stock-levels", "update", String(bulk.stock_levels[0].id), "--quantity-held", "50"])
  const dates = ["--from", "2027-07-01", "--to", "2027-07-04"]
  // Two lines of one counted product: each code must find room on one of them.
  const lines = ["--line", "HEAD*4", "--line", "CABLE*10", "--line", "CABLE*7"]
  await typed(["quote", "new", "--subject", "Tour", ...dates, ...lines])
  await typed(["quote", "convert", "1"])
  const allocations = units.map((stock_level_id) => ({ opportunity_item_id: 1, stock_level_id }))
  await typed(["opportunities", "quick-allocate", "1", "-d", JSON.stringify({ allocations })])
})
afterAll(() => place.close())

describe("documents printed without a network", () => {
  it("carry codes that all scan, out and in", async () => {
    await typed(["login", place.url, "--token", owner_token])
    await place.stop()
    const pick = JSON.parse((await typed(["orders", "print", "1", "--type", "pick_list", "--json"])).out)
    const codes = codesIn(pick)
    expect(codes).toHaveLength(6)
    const out = await typed(["scan", "out", "1"], { input: codes.join("\n") })
    expect(out.err).toContain("6 booked out, 0 refused")
    const back = codesIn(JSON.parse((await typed(["orders", "print", "1", "--type", "return_note", "--json"])).out))
    const taken = await typed(["scan", "in", "1"], { input: back.join("\n") })
    expect(taken.err).toContain("6 checked in, 0 refused")
  })
  it("are PDF files like the server's, named after the order", async () => {
    expect((await typed(["orders", "print", "1", "--type", "delivery_note"])).err).toContain(
      "Wrote delivery-note-order-0000000001.pdf"
    )
    const text = pagesOfPdf(readFileSync(join(place.folder, "delivery-note-order-0000000001.pdf"))).join("\n")
    expect(text).toContain("Delivery note")
    expect(text).toContain("S/N S-3")
    expect(text).not.toContain("pending")
  })
  it("are self-contained HTML pages", async () => {
    await typed(["orders", "print", "1", "--type", "pick_list", "--format", "html", "-o", "pick.html"])
    const page = readFileSync(join(place.folder, "pick.html"), "utf8")
    expect(page).toContain("<title>Pick list 0000000001</title>")
    expect(page).not.toMatch(/<script|src="http/)
  })
})

it("a warehouse user prints from their replica, and a user without documents permission cannot", async () => {
  await place.start()
  const { person } = rentalHouse(callOf(place))
  const warehouse = (await person({ name: "warehouse", roles: ["Warehouse"] })).secret
  await typed(["login", place.url, "--token", warehouse, "--profile", "warehouse"])
  const other = (await person({ name: "other", permissions: ["opportunities.view", "opportunities.access"] })).secret
  await typed(["login", place.url, "--token", other, "--profile", "other"])
  await place.stop()
  const paper = ["orders", "print", "1", "--type", "pick_list", "--json"]
  const printed = JSON.parse((await typed([...paper, "--profile", "warehouse"])).out)
  expect(JSON.stringify(printed)).toContain("A-2")
  const refused = await run(place, [...paper, "--profile", "other"])
  expect(refused.code).toBe(4)
  expect(refused.err).toContain("documents.view")
})

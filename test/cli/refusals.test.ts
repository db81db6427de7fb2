/** Refusals for short goods name alternatives, with commands that apply them. */
import { beforeAll, expect, it } from "vitest"
import { placeOfSuite } from "./place.ts"

const place = placeOfSuite()
const { done, type } = place
let sam: string
const asSam = (line: string) => type(line, { env: { FLIGHTCASE_TOKEN: sam } })
beforeAll(async () => {
  await done('products create --name "PAR 64" --sku PAR64')
  await done("stock-levels update 1 --quantity-held 6")
  await done("stores update 1 --shortage-policy block --timezone America/New_York")
  sam = (await place.house.person({ roles: ["Sales"] })).secret
  for (const [subject, quantity] of [
    ["Gala", 4],
    ["Fair", 5]
  ] as const)
    await done(`quote new --subject ${subject} --from 2027-03-11 --to 2027-03-13 --line PAR64*${quantity}`)
  await done("quote convert 1")
}, 120_000)

it("a refusal for a shortage offers commands for a smaller quantity, other dates and the waiting list", async () => {
  const refused = await asSam("quote convert 2")
  expect(refused.code).toBe(6)
  expect(refused.err).toContain("shortages: Stock is short: PAR 64 by 3.")
  const commands = [...refused.err.matchAll(/flightcase ((?:quote|orders|shortages) [^;\n]*[^;.\n])/g)].map(
    ([, one]) => one!
  )
  expect(commands).toEqual([
    "quote update '#2' 2 --quantity 2",
    "orders extend '#2' --from 2027-03-14T05:00:00.000Z --to 2027-03-17T03:59:59.000Z",
    "shortages wait '#2'"
  ])
  const json = await asSam("quote convert 2 --json")
  expect(JSON.parse(json.err).way_out).toContain("flightcase shortages wait '#2'")
  const env = { FLIGHTCASE_TOKEN: sam, FLIGHTCASE_TTY: "1", NO_COLOR: "1" }
  const seen = await type("quote convert 2 --no-input", { env })
  expect(seen.err).toContain("flightcase orders extend '#2' --from 2027-03-14 --to 2027-03-16;")
  for (const command of [commands[2]!, commands[1]!, "quote convert 2"])
    expect(await asSam(command), command).toMatchObject({ code: 0 })
})
it("a refusal for a shortage offers to remove a line for which nothing is left", async () => {
  await done("quote new --subject Ball --from 2027-05-11 --to 2027-05-13 --line PAR64*6 --line PAR64*6")
  const { err } = await asSam("quote convert 3")
  const [, command = ""] = /For what is free: flightcase (quote remove '#3' \d+)/.exec(err) ?? []
  for (const one of [command, "quote convert 3"]) expect(await asSam(one), err).toMatchObject({ code: 0 })
})
it("a refusal of an invalid quantity offers no waiting list", async () => {
  const { code, err } = await asSam("quote add 1 PAR64 --quantity x")
  expect(code).not.toBe(0)
  expect(err).not.toContain("shortages wait")
})
it("a refusal about another row or a view does not point to the list of the path's row", async () => {
  const body = '{"allocations":[{"opportunity_item_id":1,"stock_level_id":1}]}'
  const { err } = await type(["opportunities", "quick-allocate", "2", "-d", body])
  expect(err).toContain("No such opportunity item.")
  expect(err).not.toContain("opportunities list")
  const view = await type("members attachments 1 --view 99")
  expect(view.err).toContain("shows its views")
  expect(view.err).not.toContain("members list")
  expect((await type("products show 99")).err).toContain("products list shows what there is")
  expect((await type("settings show nope")).err).toContain("settings list shows what there is")
})

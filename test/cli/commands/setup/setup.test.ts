/** The logo of a house: its file is looked at before anything is written, sent once, and named by the settings. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { fadingPng } from "../../../server/print/png.ts"
import { openPlace, type Place, runHere } from "../../session.ts"

let place: Place
beforeEach(async () => {
  place = await openPlace()
})
afterEach(async () => {
  await place.close()
})

it("takes a logo along with its file, once", async () => {
  writeFileSync(join(place.folder, "logo.png"), fadingPng(4, 4))
  writeFileSync(join(place.folder, "house.json"), JSON.stringify({ company: { name: "Northlight" }, logo: "logo.png" }))
  const first = await runHere(place, ["setup", "--file", "house.json", "--json"])
  expect(first).toMatchObject({ code: 0 })
  const settings = JSON.parse((await runHere(place, ["settings", "show", "invoicing", "--json"])).out).settings
  expect(settings.logo_attachment_id).toBe(1)
  const again = JSON.parse((await runHere(place, ["setup", "--file", "house.json", "--json"])).out)
  expect(again.setup.map((one: any) => one.state)).not.toContain("set")
  const missing = await runHere(place, ["setup", "--name", "Other", "--logo", "none.png", "--no-input", "--json"])
  expect(missing.code).toBe(2)
  expect(JSON.parse((await runHere(place, ["settings", "show", "company", "--json"])).out).settings.name).toBe(
    "Northlight"
  )
})
it("gives its stores the company's clock where none is named, so that everybody means the same days", async () => {
  const zones = async () =>
    JSON.parse((await runHere(place, ["stores", "list", "--json"])).out).stores.map((one: any) => one.timezone)
  const flags = ["setup", "--name", "Northlight", "--time-zone", "Europe/London", "--no-input", "--json"]
  expect(await runHere(place, flags)).toMatchObject({ code: 0 })
  expect(await zones()).toEqual(["Europe/London"])
  const house = { stores: [{ name: "Bristol" }, { name: "Berlin", timezone: "Europe/Berlin" }, { name: "Leeds" }] }
  writeFileSync(join(place.folder, "house.json"), JSON.stringify(house))
  await runHere(place, ["setup", "--file", "house.json", "--json"])
  expect(await zones()).toEqual(["Europe/London", "Europe/Berlin", "Europe/London"])
  const again = JSON.parse((await runHere(place, ["setup", "--file", "house.json", "--json"])).out)
  expect(again.setup.map((one: any) => one.state)).not.toContain("set")
})
it("takes the file that its own example is, as it was printed", async () => {
  const { out } = await runHere(place, ["setup", "--example"])
  writeFileSync(join(place.folder, "house.json"), out)
  expect(await runHere(place, ["setup", "--file", "house.json", "--json"])).toMatchObject({ code: 0 })
  const { stores } = JSON.parse((await runHere(place, ["stores", "list", "--json"])).out)
  expect(stores.map((one: any) => one.name)).toEqual(["Bristol", "Leeds"])
})
it("refuses a file with a part that there is not, naming those there are", async () => {
  writeFileSync(join(place.folder, "house.json"), JSON.stringify({ company: { title: "Northlight" } }))
  const refused = await runHere(place, ["setup", "--file", "house.json", "--json"])
  expect(refused.code).toBe(5)
  expect(JSON.parse(refused.err).message).toContain("company has no title; there are name")
})
it("recovers the owner's token at the server's own machine alone", async () => {
  const refused = await runHere(place, ["serve", "recover-owner", "--url", place.url, "--json"])
  expect(refused.code).toBe(2)
  expect(JSON.parse(refused.err).message).toContain("not over the network")
  expect((await runHere(place, ["serve", "recover-owner"])).code).toBe(1)
})

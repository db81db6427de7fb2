/** The logo: its file is checked before anything is written, sent once, and named in the settings. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { fadingPng } from "../../../../server/print/png.ts"
import { openPlace, type Place, runHere } from "../../../session.ts"

let place: Place
beforeEach(async () => {
  place = await openPlace()
})
afterEach(async () => {
  await place.close()
})

it("setup uploads the logo's file, once", async () => {
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
it("setup gives stores the company's time zone by default", async () => {
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
it("setup accepts its own example file", async () => {
  const { out } = await runHere(place, ["setup", "--example"])
  writeFileSync(join(place.folder, "house.json"), out)
  expect(await runHere(place, ["setup", "--file", "house.json", "--json"])).toMatchObject({ code: 0 })
  const { stores } = JSON.parse((await runHere(place, ["stores", "list", "--json"])).out)
  expect(stores.map((one: any) => one.name)).toEqual(["Bristol", "Leeds"])
})
it("setup refuses a file with an unknown key, naming the valid ones", async () => {
  writeFileSync(join(place.folder, "house.json"), JSON.stringify({ company: { title: "Northlight" } }))
  const refused = await runHere(place, ["setup", "--file", "house.json", "--json"])
  expect(refused.code).toBe(5)
  expect(JSON.parse(refused.err).message).toContain("company has no title; there are name")
})
it("serve recover-owner is refused over the network", async () => {
  const refused = await runHere(place, ["serve", "recover-owner", "--url", place.url, "--json"])
  expect(refused.code).toBe(2)
  expect(JSON.parse(refused.err).message).toContain("not over the network")
  expect((await runHere(place, ["serve", "recover-owner"])).code).toBe(1)
})
it("setup creates several taxes, and deactivates a new server's default rate", async () => {
  const json = async (...words: ReadonlyArray<string>) => {
    const ran = await runHere(place, [...words, "--json"])
    expect(ran.code, ran.err).toBe(0)
    return JSON.parse(ran.out)
  }
  const flags = ["setup", "--tax", "VAT=23%", "--tax", "Meals=8,5 %", "--no-input"]
  await json(...flags)
  const { tax_rates } = await json("tax-rates", "list")
  const rates = tax_rates.map(({ name, rate, is_active }: any) => [name, Number(rate), is_active])
  expect(rates).toEqual(
    expect.arrayContaining([
      ["Standard", 20, false],
      ["VAT", 23, true],
      ["Meals", 8.5, true]
    ])
  )
  const again = await json(...flags)
  expect(again.setup.map((one: any) => one.state)).not.toContain("set")
  await json("members", "create", "--name", "Acme", "--membership-type", "organisation")
  await json("products", "create", "--name", "Lamp")
  await json("products", "create", "--name", "Lunch", "--tax-class-id", "Meals")
  await json("products", "create", "--name", "Book", "--tax-class-id", "Exempt")
  await json(
    "quote",
    "new",
    "--subject",
    "Fair",
    "--from",
    "2030-06-03 09:00",
    "--to",
    "2030-06-04 09:00",
    "--member",
    "Acme"
  )
  await json("quote", "add", "1", "Lamp", "--price", "100")
  await json("quote", "add", "1", "Lunch", "--price", "100")
  await json("quote", "add", "1", "Book", "--price", "100")
  const { opportunity } = await json("opportunities", "show", "1")
  expect(opportunity.tax_total).toBe("31.50")
})
it("setup keeps the number format of a company with documents, unless --short-numbers is given", async () => {
  const numbering = async () =>
    JSON.parse((await runHere(place, ["settings", "show", "numbering", "--json"])).out).settings
  const quote = [
    "quote",
    "new",
    "--new-customer",
    "Acme",
    "--yes",
    "--subject",
    "Fair",
    "--from",
    "2030-06-03",
    "--to",
    "2030-06-04"
  ]
  const made = async () => JSON.parse((await runHere(place, [...quote, "--json", "--no-input"])).out).opportunity.number
  expect(await made()).toBe("0000000001")
  await runHere(place, ["setup", "--name", "Northlight", "--no-input"])
  expect(await numbering()).toMatchObject({ "opportunity.prefix": "", "invoice.digits": 10 })
  await runHere(place, ["setup", "--short-numbers", "--prefix", "invoice=R-", "--no-input"])
  expect(await numbering()).toMatchObject({ "invoice.prefix": "R-", "invoice.digits": 4, "credit_note.prefix": "CN-" })
  expect(await made()).toBe("Q-0002")
})
it("setup takes time zone and currency from the country the first time, and not later", async () => {
  const flags = ["setup", "--name", "Nordlicht", "--country", "de", "--no-input", "--json"]
  expect(await runHere(place, flags)).toMatchObject({ code: 0 })
  const company = async () => JSON.parse((await runHere(place, ["settings", "show", "company", "--json"])).out).settings
  expect(await company()).toMatchObject({ timezone: "Europe/Berlin", base_currency: "EUR" })
  const { settings } = JSON.parse((await runHere(place, ["settings", "show", "numbering", "--json"])).out)
  expect(settings).toMatchObject({ "opportunity.prefix": "Q-", "opportunity.digits": 4, "invoice.prefix": "INV-" })
  expect(await runHere(place, ["setup", "--country", "GB", "--no-input"])).toMatchObject({ code: 0 })
  expect(await company()).toMatchObject({ country_code: "GB", timezone: "Europe/Berlin", base_currency: "EUR" })
})
it("setup prints an invitation's code if no mail server is set", async () => {
  const person = { name: "Ann", email: "ann@house.example", roles: ["Sales"], invite: true }
  writeFileSync(join(place.folder, "house.json"), JSON.stringify({ people: [person] }))
  const { err } = await runHere(place, ["setup", "--file", "house.json"])
  expect(err).toMatch(/pass this on to Ann.*\n {2}flightcase login http\S+ --code (\w{4}-){6}\w{4}/)
  const invited = await runHere(place, ["users", "invite", "ben@house.example", "--name", "Ben", "--role", "Sales"])
  expect(invited.err).toContain("pass this on to Ben")
})

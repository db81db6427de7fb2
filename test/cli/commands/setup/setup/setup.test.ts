/** `setup` with files and flags: logo, stores, taxes, numbers, countries and invitations; and `serve recover-owner`. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { fadingPng } from "../../../../server/print/png.ts"
import { placeOfEachTest } from "../../../place.ts"

const place = placeOfEachTest()
const { done, json, type } = place
const settingsOf = async (group: string) => (await json(`settings show ${group}`)).settings
const written = (house: object): string => {
  writeFileSync(join(place.folder, "house.json"), JSON.stringify(house))
  return "setup --file house.json"
}
/** Settings after a set-up with these arguments. */
const setBy = async (line: string | ReadonlyArray<string>) =>
  (await json(line)).setup.filter((one) => one.state === "set")

it("setup uploads the logo's file, once", async () => {
  writeFileSync(join(place.folder, "logo.png"), fadingPng(4, 4))
  const house = written({ company: { name: "Northlight" }, logo: "logo.png" })
  await done(house)
  expect((await settingsOf("invoicing")).logo_attachment_id).toBe(1)
  expect(await setBy(house)).toEqual([])
  expect((await type("setup --name Other --logo none.png --no-input")).code).toBe(2)
  expect((await settingsOf("company")).name).toBe("Northlight")
})
it("setup gives stores the company's time zone by default", async () => {
  const zones = async () => (await json("stores list")).stores.map((one) => one.timezone)
  await done("setup --name Northlight --time-zone Europe/London --no-input")
  expect(await zones()).toEqual(["Europe/London"])
  const stores = [{ name: "Bristol" }, { name: "Berlin", timezone: "Europe/Berlin" }, { name: "Leeds" }]
  const house = written({ stores })
  await done(house)
  expect(await zones()).toEqual(["Europe/London", "Europe/Berlin", "Europe/London"])
  expect(await setBy(house)).toEqual([])
})
it("setup takes the locale of documents from the country, unless one was chosen", async () => {
  const planned = await type("setup --name Northlight --country DE --plan --no-input")
  expect(planned.err).toContain("The locale is de-DE; --locale names another.")
  await done("setup --name Nordlicht --country DE --no-input")
  expect(await settingsOf("company")).toMatchObject({ locale: "de-DE", base_currency: "EUR" })
  await done("setup --locale fr-CH --no-input")
  await done("setup --country AT --no-input")
  expect((await settingsOf("company")).locale).toBe("fr-CH")
})
it("setup and settings refuse a locale that is no known language tag", async () => {
  const refused = await type("setup --name Nordlicht --locale deutsch --no-input")
  expect(refused.code).toBe(5)
  expect(refused.err).toContain("company.locale: The locale field must be a language tag such as de-DE")
  expect((await type(["settings", "update", "company", "-d", '{"settings":{"locale":"xx-YY"}}'])).code).toBe(5)
  expect((await type("members create --name Acme --membership-type organisation --locale german")).code).toBe(5)
})
it("setup says how a person it adds without an invitation gets a code", async () => {
  const { err } = await done(["setup", "--person", "Ann Reed <ann@northlight.example>: Sales", "--no-input"])
  expect(err).toContain("flightcase users reset-password ann@northlight.example sends a code.")
  await done("users reset-password ann@northlight.example")
})
it("setup accepts its own example file", async () => {
  const { out } = await done("setup --example")
  writeFileSync(join(place.folder, "house.json"), out)
  await done("setup --file house.json")
  expect((await json("stores list")).stores.map((one) => one.name)).toEqual(["Bristol", "Leeds"])
})
it("setup refuses a file with an unknown key, naming the valid ones", async () => {
  const refused = await type(`${written({ company: { title: "Northlight" } })} --json`)
  expect(refused.code).toBe(5)
  expect(JSON.parse(refused.err).message).toContain("company has no title; there are name")
})
it("serve recover-owner is refused over the network", async () => {
  const refused = await type(`serve recover-owner --url ${place.url} --json`)
  expect(refused.code).toBe(2)
  expect(JSON.parse(refused.err).message).toContain("not over the network")
  expect((await type("serve recover-owner")).code).toBe(1)
})
it("setup creates several taxes, and deactivates a new server's default rate", async () => {
  const setup = ["setup", "--tax", "VAT=23%", "--tax", "Meals=8,5 %", "--no-input"]
  await done(setup)
  const { tax_rates } = await json("tax-rates list")
  const rates = tax_rates.map(({ name, rate, is_active }) => [name, Number(rate), is_active])
  expect(rates).toEqual(
    expect.arrayContaining([
      ["Standard", 20, false],
      ["VAT", 23, true],
      ["Meals", 8.5, true]
    ])
  )
  expect(await setBy(setup)).toEqual([])
  for (const line of [
    "members create --name Acme --membership-type organisation",
    "products create --name Lamp",
    "products create --name Lunch --tax-class-id Meals",
    "products create --name Book --tax-class-id Exempt",
    'quote new --subject Fair --from "2030-06-03 09:00" --to "2030-06-04 09:00" --member Acme',
    "quote add 1 Lamp --price 100",
    "quote add 1 Lunch --price 100",
    "quote add 1 Book --price 100"
  ])
    await done(line)
  expect((await json("opportunities show 1")).opportunity.tax_total).toBe("31.50")
})
it("setup keeps the number format of a company with documents, unless --short-numbers is given", async () => {
  const made = async () =>
    (await json("quote new --new-customer Acme --yes --subject Fair --from 2030-06-03 --to 2030-06-04 --no-input"))
      .opportunity.number
  expect(await made()).toBe("0000000001")
  await done("setup --name Northlight --no-input")
  expect(await settingsOf("numbering")).toMatchObject({ "opportunity.prefix": "", "invoice.digits": 10 })
  await done("setup --short-numbers --prefix invoice=R- --no-input")
  const short = { "invoice.prefix": "R-", "invoice.digits": 4, "credit_note.prefix": "CN-" }
  expect(await settingsOf("numbering")).toMatchObject(short)
  expect(await made()).toBe("Q-0002")
})
it("setup takes time zone and currency from the country the first time, and not later", async () => {
  await done("setup --name Nordlicht --country de --no-input")
  expect(await settingsOf("company")).toMatchObject({ timezone: "Europe/Berlin", base_currency: "EUR" })
  const numbering = { "opportunity.prefix": "Q-", "opportunity.digits": 4, "invoice.prefix": "INV-" }
  expect(await settingsOf("numbering")).toMatchObject(numbering)
  await done("setup --country GB --no-input")
  const kept = { country_code: "GB", timezone: "Europe/Berlin", base_currency: "EUR" }
  expect(await settingsOf("company")).toMatchObject(kept)
})
it("setup prints an invitation's code if no mail server is set", async () => {
  const person = { name: "Ann", email: "ann@house.example", roles: ["Sales"], invite: true }
  const { err } = await type(written({ people: [person] }))
  expect(err).toMatch(/pass this on to Ann.*\n {2}flightcase login http\S+ --code (\w{4}-){6}\w{4}/)
  const invited = await type("users invite ben@house.example --name Ben --role Sales")
  expect(invited.err).toContain("pass this on to Ben")
})

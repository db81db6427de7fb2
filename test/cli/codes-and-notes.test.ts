/** Codes as arguments, narrow tables, and what the command line says after it asked the server. */
import { afterEach, expect, it, vi } from "vitest"
import { columnsNamed, tableText } from "../../cli/output/table.ts"
import { terminalOf } from "../../cli/output/text.ts"
import { terminals } from "../../cli/output/out.ts"
import { columnsOf } from "../../cli/output/columns.ts"
import { placeOfEachTest } from "./place.ts"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { owner_token } from "./session.ts"

const place = placeOfEachTest()
const { atTerminal, done, json, type } = place
afterEach(() => void vi.restoreAllMocks())

it("an empty code given as an argument receives nothing, as an empty line does", async () => {
  await done("products create --name Head --sku HEAD --stock-method serialised")
  await done("members create --name Lender --membership-type organisation")
  await done([
    ..."purchase-orders create --supplier-id 2 --starts-at 2027-07-01 --ends-at 2027-07-05 --items".split(" "),
    '[{"product_id": 1, "quantity": "3"}]'
  ])
  await done("purchase-orders send 1")
  expect((await type("receive 1", { input: "\n  \n" })).out).toBe("")
  await type(["receive", "1", ""])
  await type(["receive", "1", "  "])
  expect((await json("stock-levels list")).meta.total).toBe(0)
})

it("a unit of a sealed case given as an argument is refused, without a question that nothing can answer", async () => {
  await done("products create --name Head --sku HEAD --stock-method serialised")
  await done("stock-levels create --product HEAD --store 1 --asset-number B-1")
  await done("containers temporary create --name Nine --barcode NINE --store 1")
  await done("pack NINE B-1")
  await done("containers seal NINE")
  await done("quote new --subject Gig --from 2027-08-01T09:00 --to 2027-08-03T09:00 --line HEAD")
  await done("quote convert 1")
  const { code, err } = await atTerminal("scan out 1 B-1")
  expect(code).toBe(6)
  expect(err).not.toContain("Type y to do it")
  expect(err).toContain("--break-seal")
})

it("a table of 80 columns shows currencies that differ", () => {
  const terminal = { is_tty: true, colour: false, progress: false, columns: 80 }
  const row = (currency_code: string) => ({
    ...{ id: 1, number: "0000000001", type_name: "Standard", status_name: "Issued", total: "25.00" },
    ...{ amount_outstanding: "25.00", due_at: "2026-12-29T19:35:00.000Z", is_overdue: false, currency_code },
    member: { name: "Acme Events Limited of London" }
  })
  const columns = columnsOf("invoices") ?? columnsNamed("id")
  expect(tableText(columns, [row("GBP"), row("EUR")], terminal)).toContain("EUR")
})

it("a device is revoked by --yes although this machine's profile is damaged", async () => {
  await place.login("van")
  const profile = join(place.folder, "bad", "profiles", "default")
  mkdirSync(profile, { recursive: true })
  writeFileSync(join(profile, "profile.json"), '{"url":')
  const line = `devices revoke van --yes --url ${place.url} --token ${owner_token}`
  expect(await type(line, { env: { FLIGHTCASE_HOME: join(place.folder, "bad") } })).toMatchObject({ code: 0 })
})

it("the code of an invitation is shown before a sync", async () => {
  await place.login("van")
  const writes = await import("../../cli/context/writes.ts")
  const { printErr } = await import("../../cli/output/out.ts")
  vi.spyOn(writes, "fetched").mockImplementation(async () => printErr("SYNC\n"))
  const { err } = await type("users invite zoe@house.example --name Zoe --role Sales", {
    env: { FLIGHTCASE_URL: "", FLIGHTCASE_TOKEN: "" }
  })
  expect(err).toMatch(/--code [\s\S]*SYNC/)
})

it("a piped record of a member has its membership after its id", async () => {
  await done("members create --name Acme --membership-type organisation")
  const keys = (await done("members show 2")).out.split("\n").map((line) => line.split("\t")[0])
  expect(keys.indexOf("membership")).toBe(keys.indexOf("membership_id") + 1)
})

it("a member on a terminal is shown without JSON, also after a change", async () => {
  const contact = ["--street", "1 High Street", "--city", "Leeds"]
  for (const line of [
    ["members", "new", "Acme", ...contact],
    "members update 2 --is-on-stop true",
    "members show 2",
    "members show 2 --include addresses"
  ]) {
    const { out } = await done(line, { env: { FLIGHTCASE_TTY: "1" } })
    expect(out, String(line)).toMatch(/^name +Acme$/m)
    expect(out, String(line)).not.toContain("{")
  }
})

it("a terminal that reports a width of 0 gets tables of 100 columns", () => {
  vi.spyOn(terminals, "out").mockReturnValue({ isTTY: true, columns: 0 } as never)
  expect(terminalOf({}).columns).toBe(100)
})

it("commands refused by the sync after an invitation are named", async () => {
  const env = { FLIGHTCASE_URL: "", FLIGHTCASE_TOKEN: "" }
  await done("products create --name Doomed --sku DOOM")
  await place.login("van")
  await done("products update 1 --name Other --offline", { env })
  await done(`api DELETE /api/v1/products/1 --url ${place.url} --token ${owner_token}`)
  const { err } = await type("users invite zoe@house.example --name Zoe --role Sales", { env })
  expect(err).toContain("1 command was refused: flightcase sync conflicts")
})

it("scan in takes a code as its first word from those who may see no orders", async () => {
  await done("products create --name Head --sku HEAD --stock-method serialised")
  await done("stock-levels create --product HEAD --store 1 --asset-number A-1")
  const { opportunity } = await json("quote new --subject Gala --from 2030-07-01 --to 2030-07-02 --line HEAD")
  await done(`quote convert ${opportunity.id} -y`)
  await done(`scan out ${opportunity.id} A-1`)
  const permissions = ["opportunities.fulfil", "stock.view", "products.view", "containers.view"]
  await place.house.post("/roles", { name: "Dock", permissions })
  const { secret } = await place.house.person({ roles: ["Dock"] })
  const env = { FLIGHTCASE_TOKEN: secret }
  expect(await type("scan in A-1", { env })).toMatchObject({ code: 0, out: "A-1\tchecked_in\tA-1\n" })
})

it("outcomes that differ are reported after a sync in the background, beside refusals, and by a bundle", async () => {
  const { house } = place
  await place.login()
  await done("quote new --subject Gala --from 2027-08-01T09:00 --to 2027-08-03T09:00")
  await done("sync")
  const { id } = (await house.show("/opportunities"))[0]
  const differing = async (round: string) => {
    await done(`quote update ${id} --subject Mine-${round}`)
    await house.put(`/opportunities/${id}`, { subject: `Theirs-${round}` })
  }
  const product = { name: "Head", stock_method: 2 }
  const head = await house.create("/products", product)
  await done("sync")
  const unit = `stock-levels create --product ${head.id} --store 1 --asset-number`
  const refused = async (...codes: ReadonlyArray<string>) => {
    for (const code of codes) await done(`${unit} ${code}`)
    for (const asset_number of codes)
      await house.create("/stock_levels", { product_id: head.id, store_id: 1, asset_number })
  }
  const noted = async () => (await done("quote list")).err
  const text = "1 command came out otherwise than shown here: flightcase sync report"
  await differing("one")
  await done("sync --quiet")
  expect(await noted()).toContain(text)
  expect(await noted()).not.toContain("otherwise")
  await refused("H-1", "H-2")
  await differing("two")
  await done("sync --quiet")
  expect(await noted()).toContain(`2 commands were refused: flightcase sync conflicts; ${text}`)
  await differing("three")
  const [out, back] = [join(place.folder, "a.bundle"), join(place.folder, "a.back")]
  await done(["sync", "bundle", "out", out])
  await done(["sync", "bundle", "in", out, "--to", place.url, "-o", back])
  expect((await type(["sync", "bundle", "in", back])).err).toContain("Theirs-three")
})
it("scan in says of an unknown first word that it is no code either", async () => {
  const { code, err } = await type("scan in H-9 H-1")
  expect(code).toBe(3)
  expect(err).toContain('There is no order "H-9" (by id or number).\n  No unit or case has this code; for a bulk')
  expect(err).toContain("scan in ORDER 'CODE*5'")
})

it("the history of an order names its units and the people who handled them", async () => {
  await done("products create --name Head --sku HEAD --stock-method serialised")
  await done("stock-levels create --product HEAD --store 1 --asset-number H-1")
  const { opportunity } = await json("quote new --subject Gala --from 2030-07-01 --to 2030-07-02 --line HEAD")
  await done(`quote convert ${opportunity.id} -y`)
  await done(`scan out ${opportunity.id} H-1`)
  const { out } = await done(`orders history ${opportunity.id}`)
  expect(out).toContain("asset allocated\tstock level\t\tH-1\n")
  expect(out).toContain("asset dispatched\tassignment\tH-1\tH-1\n")
  expect(out).toContain("asset dispatched\tdispatched by\t\tOwner\n")
})

it("the history of an order shows the ids of units that share a name, and names its owner", async () => {
  await done("products create --name Head --sku HEAD --stock-method serialised")
  for (const code of ["H-1", "H-2"])
    await done(`stock-levels create --product HEAD --store 1 --asset-number ${code} --item-name Robe`)
  await done("members create --name Acme --membership-type organisation")
  const { secret } = await place.house.person({ name: "Zoe", roles: ["Admin"] })
  const { opportunity } = await json("quote new --subject Gala --from 2030-07-01 --to 2030-07-02 --line HEAD*2")
  await done(`quote convert ${opportunity.id} -y`)
  await done(`scan out ${opportunity.id} H-1 H-2`)
  await done(`opportunities update ${opportunity.id} --owned-by 2`, { env: { FLIGHTCASE_TOKEN: secret } })
  const { out } = await done(`orders history ${opportunity.id}`)
  const units = [...out.matchAll(/asset dispatched\tassignment\t(.*)\t/g)].map(([, unit]) => unit)
  expect(units).toEqual(["Robe (id 2)", "Robe (id 1)"])
  expect(out).toMatch(/owned by\t.*\tAcme\n/)
})

it("units explains how bulk stock is named if a code names no unit", async () => {
  await done("products create --name Lamp --sku LAMP")
  expect((await type("units quarantine LAMP --quantity 2")).err).toContain("Bulk stock is named by its id there.")
})

it("a duplicated quote warns of short stock and of a customer on stop, as a new one does", async () => {
  await done("products create --name Lamp --sku LAMP")
  await done("members create --name Acme --membership-type organisation --is-on-stop true")
  const dates = "--from 2030-07-01 --to 2030-07-02"
  const made = await done(`quote new --subject Gala --member Acme ${dates} --line LAMP*2`)
  expect(made.err).toMatch(/! Acme is on stop[\s\S]*! Stock is short: Lamp by 2\./)
  const copied = await done("quote duplicate 1 --from 2030-08-01")
  expect(copied.err).toMatch(/! Acme is on stop[\s\S]*! Stock is short: Lamp by 2\./)
})

/** Exports all data of a server on the command line and imports it into an empty server. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { cellsOf, linesOf, placeOfSuite } from "../../../place.ts"

const one = placeOfSuite(),
  other = placeOfSuite(),
  third = placeOfSuite(),
  fourth = placeOfSuite()

describe("an export", () => {
  it("contains every list as NDJSON and CSV, and the journal, which restores an equal server", async () => {
    await one.login()
    const texts = ["--name", 'Speaker, "12 inch"; small', "--sku", "=1+1", "--description", "two\nlines é 🎪"]
    await one.done(["products", "create", ...texts, "--tag-list", "audio"])
    for (const line of [
      'members create --name "Müller & Söhne" --membership-type organisation',
      'quote new --subject "Garden party" --from 2027-07-01 --to 2027-07-03 --no-input',
      "quote add 1 =1+1 --quantity 2",
      "sync",
      "inbound-sources create --name shop --kind generic",
      "webhooks create --url https://hooks.example.com/secret-path --events '*' --no-input",
      `settings update mail -d '{"settings":{"smtp_url":"smtp://a:b@c"}}'`
    ])
      await one.done(line)
    const folder = join(one.folder, "out")
    const exported = await one.done(["export", folder, "--json"])
    const manifest = JSON.parse(exported.out)
    expect(manifest).toEqual(JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")))
    expect(manifest.left_behind).toEqual({
      webhooks: ["1 https://hooks.example.com"],
      inbound_sources: ["shop"],
      secret_settings: ["mail.smtp_url"]
    })
    expect(exported.err).toContain(
      "Left on the server, as they hold secrets: webhooks: 1 (1 https://hooks.example.com); " +
        "inbound sources: 1 (shop); secrets of settings: 1 (mail.smtp_url). Set them up anew after an import."
    )
    for (const { file, rows } of manifest.files) {
      expect(linesOf(join(folder, file)).length, file).toBe(rows)
      expect(cellsOf(join(folder, file.replace(".ndjson", ".csv"))).length, file).toBe(rows)
    }
    const [product] = linesOf(join(folder, "products.ndjson"))
    const [row] = cellsOf(join(folder, "products.csv"))
    expect([row.name, row.sku, row.description, row.tag_list, row.id]).toEqual([
      product.name,
      "'=1+1",
      "two\nlines é 🎪",
      '["audio"]',
      String(product.id)
    ])
    // All tables in full, with those that no list shows.
    const { tables } = manifest.journal.manifest
    for (const { name, rows } of tables)
      expect(linesOf(join(folder, "tables", `${name}.ndjson`)).length, name).toBe(rows)
    expect(readdirSync(join(folder, "tables")).length).toBe(tables.length * 2)
    expect(
      linesOf(join(folder, "tables", "opportunity_items.ndjson")).map(({ name, quantity }) => [name, quantity])
    ).toEqual([['Speaker, "12 inch"; small', "2.00"]])
    expect(linesOf(join(folder, "journal.ndjson")).length).toBe(manifest.journal.manifest.events)

    const told = await other.type(["import", "all", folder, "--dry-run", "--json"])
    expect([told.code, JSON.parse(told.out).events]).toEqual([0, manifest.journal.manifest.events])
    expect((await other.manifest()).events).not.toBe(manifest.journal.manifest.events)
    const brought = await other.done(["import", "all", folder])
    expect(brought.out).toContain(String(manifest.journal.manifest.events))
    expect(brought.err).toContain("let devices log in again")
    expect(await other.manifest()).toEqual(await one.manifest())
    expect((await other.json("orders show 1")).opportunity.subject).toBe("Garden party")
    const again = await other.type(["import", "all", folder])
    expect([again.code, again.err]).toEqual([6, expect.stringContaining("This server has data already")])
  }, 120_000)

  it("reads nested lists of products with their pages, and an import gives the products the same groups", async () => {
    const written = join(third.folder, "list.csv")
    writeFileSync(
      written,
      "sku,name,group,rate.preset,rate.price\n" +
        "P-1,Par,Lighting / Floodlights,daily-rate,4.50\nP-2,Spare,/ Floodlights,daily-rate,3.00\n"
    )
    await third.done(["import", "products", written])
    const paths = vi.spyOn(globalThis, "fetch")
    const folder = join(third.folder, "out")
    await third.done(["export", folder])
    const requested = paths.mock.calls.map(([asked]) => String(asked instanceof Request ? asked.url : asked))
    paths.mockRestore()
    const of_products = requested.flatMap((url) => /products.(\d+)/.exec(url)?.[1] ?? [])
    expect(new Set(of_products)).toEqual(new Set(["1"]))
    expect(linesOf(join(folder, "products.rates.ndjson")).map(({ price }) => price)).toEqual(["4.50", "3.00"])
    const products = cellsOf(join(folder, "products.csv"))
    expect(products.map(({ group, rates }) => [group, rates])).toEqual([
      ["Lighting / Floodlights", ""],
      ["/ Floodlights", ""]
    ])
    const { token } = await third.house.must("POST", "/tokens", { name: "Reader", abilities: ["products:read"] })
    const seen = join(third.folder, "seen")
    await third.done(["export", seen, "--url", third.url, "--token", token.secret])
    expect(linesOf(join(seen, "products.ndjson")).map(({ rates }) => rates)).toEqual([null, null])
    expect(existsSync(join(seen, "products.rates.ndjson"))).toBe(false)
    await fourth.done(["import", "products", join(folder, "products.csv")])
    const groupsOf = async (place: typeof third) => {
      const { product_groups } = await place.json("product-groups list")
      const named = (id: number | null) => product_groups.find((one: { readonly id: number }) => one.id === id)?.name
      return product_groups.map((one: { readonly name: string; readonly parent_id: number | null }) => [
        one.name,
        named(one.parent_id)
      ])
    }
    expect(await groupsOf(fourth)).toEqual(await groupsOf(third))
  }, 60_000)

  it("fails at once without a replica or a server, and writes nothing", async () => {
    const folder = join(third.folder, "nothing")
    const { code, err } = await third.type(["export", folder, "--offline", "--profile", "nobody"])
    expect([code, err.match(/--offline forbids/g)]).toEqual([7, ["--offline forbids"]])
    expect(existsSync(folder)).toBe(false)
  })

  it("keeps an earlier journal file, and no partial one, if the server refuses the journal", async () => {
    const { fetch } = globalThis
    const refusing = vi
      .spyOn(globalThis, "fetch")
      .mockImplementation(async (address, given) =>
        /system.journal/.test(address instanceof Request ? address.url : String(address))
          ? Response.json({ message: "Forbidden" }, { status: 403 })
          : fetch(address, given)
      )
    const folder = join(one.folder, "refused")
    mkdirSync(folder)
    writeFileSync(join(folder, "journal.ndjson"), "an earlier one")
    const exported = await one.done(["export", folder]).finally(() => refusing.mockRestore())
    expect(exported.err).toContain("only the owner may take it")
    expect(readdirSync(folder)).not.toContain("journal.ndjson.part")
    expect(readFileSync(join(folder, "journal.ndjson"), "utf8")).toBe("an earlier one")
  }, 60_000)

  it("asks for a folder where a file has its name", async () => {
    writeFileSync(join(one.folder, "taken"), "")
    const { code, err } = await one.type("export taken")
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^flightcase: \S*taken is no folder\.\n$/) })
  })
  it("is not imported if it is damaged or has no journal", async () => {
    const damaged = join(one.folder, "damaged")
    cpSync(join(one.folder, "out"), damaged, { recursive: true })
    appendFileSync(join(damaged, "journal.ndjson"), "{}\n")
    expect(await other.type(["import", "all", damaged])).toMatchObject({
      code: 5,
      err: expect.stringContaining("its checksum differs")
    })
    rmSync(join(damaged, "journal.ndjson"))
    expect(await other.type(["import", "all", damaged])).toMatchObject({
      code: 5,
      err: expect.stringContaining("journal.ndjson is missing")
    })
    expect(await other.type(["import", "all", one.folder])).toMatchObject({
      code: 2,
      err: expect.stringContaining("no manifest.json")
    })
    const offline = await one.type(["export", join(one.folder, "offline"), "--offline"])
    expect(offline).toMatchObject({ code: 0, err: expect.stringContaining("--offline forbids") })
    await one.stop()
    const cut_off = await one.type(["export", join(one.folder, "cut-off")])
    expect(cut_off).toMatchObject({ code: 0, err: expect.stringContaining("cannot be reached") })
    await one.start()
    expect(linesOf(join(one.folder, "cut-off", "tables", "products.ndjson")).length).toBe(1)
    expect(await other.type(["import", "all", join(one.folder, "offline")])).toMatchObject({
      code: 5,
      err: expect.stringContaining("has no journal")
    })
  }, 120_000)
})

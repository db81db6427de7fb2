/** A business taken out of one server at the command line and brought into another, empty one. */
import { appendFileSync, cpSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parse } from "csv-parse/sync"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { callOf, openPlace, owner_token, type Place, runHere as run } from "../../../session.ts"

let one: Place, other: Place
beforeAll(async () => {
  ;[one, other] = [await openPlace(), await openPlace()]
})
afterAll(async () => {
  await one.close()
  await other.close()
})
const manifestOf = async (place: Place): Promise<any> => (await callOf(place)("GET", "/system/manifest")).body.manifest
const lines = (file: string): ReadonlyArray<any> =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

describe("an export", () => {
  it("contains every list as NDJSON and CSV, and the journal, which restores an equal server", async () => {
    const did = async (...words: ReadonlyArray<string>): Promise<void> =>
      expect(await run(one, words)).toMatchObject({ code: 0 })
    await did("login", one.url, "--token", owner_token)
    await did(
      "products",
      "create",
      "--name",
      'Speaker, "12 inch"; small',
      "--sku",
      "=1+1",
      "--tag-list",
      "audio",
      "--description",
      "two\nlines é 🎪"
    )
    await did("members", "create", "--name", "Müller & Söhne", "--membership-type", "organisation")
    await did("quote", "new", "--subject", "Garden party", "--from", "2027-07-01", "--to", "2027-07-03", "--no-input")
    await did("quote", "add", "1", "=1+1", "--quantity", "2")
    await did("sync")
    await did("inbound-sources", "create", "--name", "shop", "--kind", "generic")
    await did("webhooks", "create", "--url", "https://hooks.example.com/secret-path", "--events", "*", "--no-input")
    await did("settings", "update", "mail", "-d", '{"settings":{"smtp_url":"smtp://a:b@c"}}')
    const folder = join(one.folder, "out")
    const exported = await run(one, ["export", folder, "--json"])
    expect(exported.code, exported.err).toBe(0)
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
      expect(lines(join(folder, file)).length, file).toBe(rows)
      const table = parse(readFileSync(join(folder, file.replace(".ndjson", ".csv"))), {
        bom: true,
        columns: true
      }) as ReadonlyArray<any>
      expect(table.length, file).toBe(rows)
    }
    const [product] = lines(join(folder, "products.ndjson"))
    const [row] = parse(readFileSync(join(folder, "products.csv")), { bom: true, columns: true }) as ReadonlyArray<any>
    expect([row.name, row.sku, row.description, row.tag_list, row.id]).toEqual([
      product.name,
      "'=1+1",
      "two\nlines é 🎪",
      '["audio"]',
      String(product.id)
    ])
    // Every table whole, what no list shows among them.
    const { tables } = manifest.journal.manifest
    for (const { name, rows } of tables) expect(lines(join(folder, "tables", `${name}.ndjson`)).length, name).toBe(rows)
    expect(readdirSync(join(folder, "tables")).length).toBe(tables.length * 2)
    expect(
      lines(join(folder, "tables", "opportunity_items.ndjson")).map(({ name, quantity }) => [name, quantity])
    ).toEqual([['Speaker, "12 inch"; small', "2.00"]])
    expect(lines(join(folder, "journal.ndjson")).length).toBe(manifest.journal.manifest.events)

    const told = await run(other, ["import", "all", folder, "--dry-run", "--json"])
    expect([told.code, JSON.parse(told.out).events]).toEqual([0, manifest.journal.manifest.events])
    expect((await manifestOf(other)).events).not.toBe(manifest.journal.manifest.events)
    const brought = await run(other, ["import", "all", folder])
    expect([brought.code, brought.out], brought.err).toEqual([
      0,
      expect.stringContaining(String(manifest.journal.manifest.events))
    ])
    expect(brought.err).toContain("let devices log in again")
    expect(await manifestOf(other)).toEqual(await manifestOf(one))
    const shown = await run(other, ["orders", "show", "1", "--json"])
    expect(JSON.parse(shown.out).opportunity.subject).toBe("Garden party")
    const again = await run(other, ["import", "all", folder])
    expect([again.code, again.err]).toEqual([6, expect.stringContaining("This server has data already")])
  }, 120_000)

  it("that is damaged or has no journal is not imported", async () => {
    const damaged = join(one.folder, "damaged")
    cpSync(join(one.folder, "out"), damaged, { recursive: true })
    appendFileSync(join(damaged, "journal.ndjson"), "{}\n")
    expect(await run(other, ["import", "all", damaged])).toMatchObject({
      code: 5,
      err: expect.stringContaining("its checksum differs")
    })
    rmSync(join(damaged, "journal.ndjson"))
    expect(await run(other, ["import", "all", damaged])).toMatchObject({
      code: 5,
      err: expect.stringContaining("journal.ndjson is missing")
    })
    expect(await run(other, ["import", "all", one.folder])).toMatchObject({
      code: 2,
      err: expect.stringContaining("no manifest.json")
    })
    const offline = await run(one, ["export", join(one.folder, "offline"), "--offline"])
    expect(offline).toMatchObject({ code: 0, err: expect.stringContaining("--offline forbids") })
    await one.stop()
    const cut_off = await run(one, ["export", join(one.folder, "cut-off")])
    expect(cut_off).toMatchObject({ code: 0, err: expect.stringContaining("cannot be reached") })
    await one.start()
    expect(lines(join(one.folder, "cut-off", "tables", "products.ndjson")).length).toBe(1)
    expect(await run(other, ["import", "all", join(one.folder, "offline")])).toMatchObject({
      code: 5,
      err: expect.stringContaining("has no journal")
    })
  }, 120_000)
})

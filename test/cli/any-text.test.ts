/**
 * A company whose text fields all hold unusual texts: exported, imported into another server, synced to a device, and
 * printed safely.
 */
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { type AskAny, furnishOddly, odd_text } from "../any-text.ts"
import { cellsOf, linesOf, placeOfSuite } from "./place.ts"

const one = placeOfSuite(),
  other = placeOfSuite()
const asking: AskAny = ({ method, path, body }) => one.house.call(method, path.replace("/api/v1", ""), body)
beforeAll(async () => {
  expect((await furnishOddly(asking)).length).toBeGreaterThan(150)
  await one.login(`van ${odd_text}`)
}, 400_000)

describe("unusual characters at the command line", () => {
  it("are exported in full, as NDJSON, CSV and journal, and restore an equal server", async () => {
    const folder = join(one.folder, "out")
    const { files, journal } = await one.json(["export", folder, "--raw"])
    for (const { file, rows } of files) {
      expect(linesOf(join(folder, file)).length, file).toBe(rows)
      expect(cellsOf(join(folder, file.replace(".ndjson", ".csv"))).length, file).toBe(rows)
    }
    const products = linesOf(join(folder, "tables", "products.ndjson"))
    expect(products.filter(({ name }) => name.includes(odd_text)).length).toBeGreaterThan(5)
    const named = ({ id, name }: any) => ({ id: Number(id), name })
    expect(cellsOf(join(folder, "products.csv")).map(named)).toEqual(
      linesOf(join(folder, "products.ndjson")).map(named)
    )
    await other.done(["import", "all", folder])
    expect((await other.manifest()).events).toBe(journal.manifest.events)
    expect(await other.manifest()).toEqual(await one.manifest())
  }, 400_000)

  it("are exported with a leading ' where they start a spreadsheet formula, and imported unchanged", async () => {
    const formulas = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "\uff1d1", "'=already", "''=twice"]
    const plain = ["-5.00", "+44", "Lamp = light", "'tis", "1-2"]
    const named: ReadonlyArray<string> = [...formulas, ...plain]
    for (const [at, name] of named.entries()) await one.house.product({ name, sku: `F-${at}` })
    const namesIn = (folder: string): ReadonlyArray<string> =>
      cellsOf(join(folder, "products.csv"))
        .filter(({ sku }) => sku.startsWith("F-"))
        .sort((a, b) => Number(a.id) - Number(b.id))
        .map(({ name }) => name)
    const [led, raw] = [join(one.folder, "led"), join(one.folder, "raw")]
    const exported = await one.type(["export", led, "--url", one.url])
    expect([exported.code, exported.err]).toEqual([
      0,
      expect.stringMatching(
        /^\d+ cells that a spreadsheet would run as formulas begin with ' in the CSV; --raw writes them as they are\.$/m
      )
    ])
    expect(namesIn(led)).toEqual([...formulas.map((text) => `'${text}`), ...plain])
    expect(
      linesOf(join(led, "products.ndjson"))
        .filter(({ sku }) => String(sku).startsWith("F-"))
        .map(({ name }) => name)
    ).toEqual(expect.arrayContaining([...named]))
    const again = await one.type(["export", raw, "--url", one.url, "--raw"])
    expect([again.code, again.err.includes("spreadsheet"), namesIn(raw)]).toEqual([0, false, named])
    const verdicts = async (...words: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
      (await one.json(["import", "products", ...words, "--map", "sku=sku,name=name"])).verdicts
        .filter(({ key }: any) => key?.startsWith("F-"))
        .map(({ status }) => status)
    const unchanged = named.map(() => "unchanged")
    expect(await verdicts(join(led, "products.csv"))).toEqual(unchanged)
    expect(await verdicts(join(raw, "products.csv"), "--raw")).toEqual(unchanged)
  }, 400_000)
})

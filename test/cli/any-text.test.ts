/** A business whose every text field holds odd text: it is exported, brought into another server, kept by a device, and shown to people without harm. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parse } from "csv-parse/sync"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type AskAny, furnishOddly, odd_text } from "../any-text.ts"
import { callOf, openPlace, owner_token, type Place, runHere as run } from "./session.ts"

let one: Place, other: Place
const asking =
  (place: Place): AskAny =>
  ({ method, path, body }) =>
    callOf(place)(method, path.replace("/api/v1", ""), body)
const manifestOf = async (place: Place): Promise<any> => (await callOf(place)("GET", "/system/manifest")).body.manifest
const lines = (file: string): ReadonlyArray<any> =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

beforeAll(async () => {
  ;[one, other] = [await openPlace(), await openPlace()]
  expect((await furnishOddly(asking(one))).length).toBeGreaterThan(150)
  expect(await run(one, ["login", one.url, "--token", owner_token, "--name", `van ${odd_text}`])).toMatchObject({
    code: 0
  })
}, 400_000)
afterAll(async () => {
  await one.close()
  await other.close()
})

describe("unusual characters", () => {
  it("are exported in full, as NDJSON, CSV and journal, and restore an equal server", async () => {
    const folder = join(one.folder, "out")
    const exported = await run(one, ["export", folder, "--json", "--raw"])
    expect(exported.code, exported.err).toBe(0)
    const { files, journal } = JSON.parse(exported.out)
    for (const { file, rows } of files) {
      expect(lines(join(folder, file)).length, file).toBe(rows)
      expect(
        (
          parse(readFileSync(join(folder, file.replace(".ndjson", ".csv"))), {
            bom: true,
            columns: true
          }) as ReadonlyArray<unknown>
        ).length,
        file
      ).toBe(rows)
    }
    expect(
      lines(join(folder, "tables", "products.ndjson")).filter(({ name }) => name.includes(odd_text)).length
    ).toBeGreaterThan(5)
    expect(
      (parse(readFileSync(join(folder, "products.csv")), { bom: true, columns: true }) as ReadonlyArray<any>).map(
        ({ id, name }) => ({ id: Number(id), name })
      )
    ).toEqual(lines(join(folder, "products.ndjson")).map(({ id, name }) => ({ id, name })))
    const brought = await run(other, ["import", "all", folder])
    expect(brought.code, brought.err).toBe(0)
    expect((await manifestOf(other)).events).toBe(journal.manifest.events)
    expect(await manifestOf(other)).toEqual(await manifestOf(one))
  }, 400_000)

  it("that start a spreadsheet formula are exported as text, and imported unchanged", async () => {
    const formulas = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "\uff1d1", "'=already", "''=twice"]
    const plain = ["-5.00", "+44", "Lamp = light", "'tis", "1-2"]
    const named: ReadonlyArray<string> = [...formulas, ...plain]
    for (const [at, name] of named.entries()) {
      expect(await callOf(one)("POST", "/products", { name, sku: `F-${at}` })).toMatchObject({ status: 201 })
    }
    const cellsOf = (folder: string): ReadonlyArray<string> =>
      (parse(readFileSync(join(folder, "products.csv")), { bom: true, columns: true }) as ReadonlyArray<any>)
        .filter(({ sku }) => sku.startsWith("F-"))
        .sort((a, b) => Number(a.id) - Number(b.id))
        .map(({ name }) => name)
    const [led, raw] = [join(one.folder, "led"), join(one.folder, "raw")]
    const exported = await run(one, ["export", led, "--url", one.url])
    expect([exported.code, exported.err]).toEqual([
      0,
      expect.stringMatching(
        /^\d+ cells that a spreadsheet would run as formulas begin with ' in the CSV; --raw writes them as they are\.$/m
      )
    ])
    expect(cellsOf(led)).toEqual([...formulas.map((text) => `'${text}`), ...plain])
    expect(
      lines(join(led, "products.ndjson"))
        .filter(({ sku }) => String(sku).startsWith("F-"))
        .map(({ name }) => name)
    ).toEqual(expect.arrayContaining([...named]))
    const again = await run(one, ["export", raw, "--url", one.url, "--raw"])
    expect([again.code, again.err.includes("spreadsheet"), cellsOf(raw)]).toEqual([0, false, named])
    const verdicts = async (...words: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
      JSON.parse((await run(one, ["import", "products", ...words, "--map", "sku=sku,name=name", "--json"])).out)
        .verdicts.filter(({ key }: any) => key?.startsWith("F-"))
        .map(({ status }: any) => status)
    const unchanged = named.map(() => "unchanged")
    expect(await verdicts(join(led, "products.csv"))).toEqual(unchanged)
    expect(await verdicts(join(raw, "products.csv"), "--raw")).toEqual(unchanged)
  }, 400_000)
})

/** Import rows too long for a request, rows too long together, and workbooks. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { placeOfSuite } from "../../../place.ts"

describe("flightcase import", () => {
  const place = placeOfSuite()
  const written = (name: string, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
    writeFileSync(join(place.folder, name), rows.map((cells) => `${cells.join(",")}\n`).join(""))
    return name
  }
  const imported = async (...words: ReadonlyArray<string>) => {
    const { code, err, out } = await place.type(["import", ...words, "--json"])
    return { code, err, of: JSON.parse(out).import }
  }

  it.each([
    ["members", "number", "notes"],
    ["products", "sku", "description"]
  ])(
    "refuses the row of %s with a cell of 1.2 MB, naming line and column, and accepts the others",
    async (kind, key, text) => {
      const file = written(`${kind}.csv`, [
        [key, "name", text],
        [`${kind}-1`, "First", "short"],
        [`${kind}-2`, "Second", "é".repeat(600_000)],
        [`${kind}-3`, "Third", "short"]
      ])
      const planned = await imported(kind, file, "--plan", "--chunk", "1")
      expect(planned).toMatchObject({ code: 5, of: { created: 2, rejected: 1 } })
      expect(planned.err).not.toContain("are in")
      const { code, err, of } = await imported(kind, file)
      expect({ code, of }).toMatchObject({ code: 5, of: { created: 2, rejected: 1 } })
      expect(err).toMatch(new RegExp(`row 2 \\(line 3\\): ${text}: This takes 1200002 bytes, .*shorten it`))
      expect(await imported(kind, file)).toMatchObject({ code: 5, of: { unchanged: 2, rejected: 1 } })
    }
  )

  it.each([
    ["price-list.xlsx", "504b0304140006000800"],
    ["price-list.xls", "d0cf11e0a1b11ae10000"]
  ])("refuses the workbook %s, naming the way out", async (name, bytes) => {
    writeFileSync(join(place.folder, name), Buffer.from(bytes, "hex"))
    expect(await place.type(["import", "products", name])).toMatchObject({
      code: 5,
      err: expect.stringMatching(/is a workbook of Excel .*\n *Save its sheet as CSV \(UTF-8\)/)
    })
  })

  it("imports forty rows of 100 kB each, which together exceed one request", async () => {
    const rows = Array.from({ length: 40 }, (_, at) => [`L-${at}`, `Long ${at}`, "é".repeat(50_000)])
    const file = written("long.csv", [["number", "name", "notes"], ...rows])
    expect(await imported("members", file)).toMatchObject({ code: 0, of: { created: 40 } })
  })

  it("reports how many rows were accepted before an unreadable one, and none for a plan", async () => {
    const rows = Array.from({ length: 1_000 }, (_, at) => [`B-${at}`, `Row ${at}`, "x".repeat(500)])
    const file = written("broken.csv", [["number", "name", "notes"], ...rows, ["B-x", '"Never closed']])
    const args = ["import", "members", file, "--chunk", "100"]
    const { code, err } = await place.type(args)
    expect(code).toBe(5)
    expect(err).toMatch(/cannot be read from line 1002 on/)
    expect(err).toMatch(/written twice. The first \d+ rows are in; the same command again leaves them as they are/)
    expect((await place.type([...args, "--plan"])).err).not.toContain("are in")
  })

  it("names rows as the file counts them, in every request", async () => {
    const file = written("again.csv", [
      ["number", "name", "colour"],
      ["R-1", "First", "red"],
      ["R-2", "Second", "red"],
      ["R-3", '"Third" and more', "red"],
      ["R-4", "Fourth", "red"],
      ["R-4", "Fourth again", "red"]
    ])
    const { code, err, out } = await place.type(`import members ${file} --plan --chunk 3 --json`)
    expect(code).toBe(5)
    expect(err).toContain("✗ row 5 (line 6) R-4: row: Row 4 is already about R-4.")
    expect(err).toContain("! There is no column colour; it is passed over. (from row 1)")
    const { verdicts } = JSON.parse(out)
    expect(verdicts[0].ignored).toEqual(["colour"])
    expect(verdicts[4]).toMatchObject({ same_as_row: 4, errors: { row: ["Row 4 is already about R-4."] } })
  })

  it("reports no accepted rows for a refused plan", async () => {
    const file = written("plain.csv", [
      ["number", "name"],
      ["P-1", "One"]
    ])
    const { code, err } = await place.type(`import members ${file} --plan --token wrong`)
    expect(code).not.toBe(0)
    expect(err).not.toContain("are in")
  })
})

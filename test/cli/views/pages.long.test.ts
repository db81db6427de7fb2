import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { chromiumPath, look, openBrowser, views } from "../../browser/browser.ts"
import { decoded, pixelsOfSvg } from "../../browser/decode.ts"
import { all, classed, faultsOf, readPage, textOf } from "../../browser/page.ts"
import { pagesOf, writePages } from "../../browser/pages.ts"
import { dayFrom, hostile, makeSample } from "../../browser/sample.ts"
import { share } from "../../share.ts"
import { placeOfSuite } from "../place.ts"
import { run } from "../session.ts"

const now = Date.now()
const place = placeOfSuite()
let folder: string
let files: ReadonlyArray<string> = []
beforeAll(async () => {
  await makeSample(place, now)
  folder = join(place.folder, "pages")
  mkdirSync(folder)
  files = await writePages(place, now, folder)
}, 600_000)
const pageOf = (name: string) => readPage(readFileSync(join(folder, `${name}.html`), "utf8"))
const tool = (...args: ReadonlyArray<string>) => run(place, args)

describe("HTML pages of the command line", () => {
  it("are self-contained, and no other file is left in the folder", () => {
    expect(files.length).toBe(Object.keys(pagesOf(now)).length)
    for (const file of files) expect([file, faultsOf(readFileSync(file, "utf8"))]).toEqual([file, []])
    expect(readdirSync(folder).sort()).toEqual(files.map((file) => file.slice(folder.length + 1)).sort())
  })
  it("open in a browser without console messages and without requests", async () => {
    const path = chromiumPath()
    // Without a browser, the content security policy must do, which the test before this one checked in every page.
    if (path === undefined)
      return expect(files.every((file) => readFileSync(file, "utf8").includes("default-src 'none'"))).toBe(true)
    const browser = await openBrowser(path)
    try {
      for (const [file, view] of share(files.flatMap((file) => views.map((view) => [file, view] as const))))
        expect([file, view, (await look(browser, file, view)).complaints]).toEqual([file, view, []])
    } finally {
      await browser.close()
    }
  }, 600_000)
  it("show the same availability numbers as the JSON output", async () => {
    const dates = ["--from", dayFrom(now, -6), "--to", dayFrom(now, 38)]
    const { out } = await tool("availability", "calendar", ...dates, "--json")
    const { calendar } = JSON.parse(out) as {
      readonly calendar: {
        readonly products: ReadonlyArray<{
          readonly product_name: string
          readonly days: ReadonlyArray<{ readonly available: number }>
        }>
      }
    }
    const rows = all(all(pageOf("calendar"), "tbody")[0]!, "tr")
    expect(rows.map((row) => textOf(all(row, "th")[0]!))).toEqual(calendar.products.map((one) => one.product_name))
    expect(
      rows.map((row) => all(row, "td").map((cell) => Number(textOf(cell).replace("\u2212", "-").replace("•", ""))))
    ).toEqual(calendar.products.map((one) => one.days.map((day) => day.available)))
    expect(calendar.products.some((one) => one.days.some((day) => day.available < 0))).toBe(true)
  })
  it("name customers and orders, and mark overdue ones", () => {
    const rows = all(all(pageOf("gantt-units"), "tbody")[0]!, "tr").map((row) =>
      [...all(row, "th"), ...all(row, "td")].map(textOf)
    )
    expect(rows[0]!.slice(0, 6)).toEqual([
      "Harbour Festival",
      "1",
      "0000000001",
      "Northern Lights Ltd",
      "SPI-001 (RS-77121)",
      "overdue"
    ])
    expect(rows.find((row) => row[0] === hostile.arabic)!.slice(0, 6)).toEqual([
      hostile.arabic,
      "3",
      "0000000004",
      hostile.arabic,
      "",
      "reserved"
    ])
  })
})

describe("labels and manifests of the command line", () => {
  it("have codes that 'pack' reads as their own units", async () => {
    const sheet = pageOf("labels-code128")
    const labels = classed(sheet, "label").map((one) => {
      const kind = (one.attributes["class"] ?? "").includes("qr") ? ("qr" as const) : ("code128" as const)
      return { code: decoded(pixelsOfSvg(all(one, "svg")[0]!), kind), said: textOf(all(one, "code")[0]!) }
    })
    expect(labels.map(({ code }) => code)).toEqual([
      "5012345678900",
      "4006381333931",
      "MH-002",
      "MH-003 \u00dcber",
      "CASE-0008",
      "MH-004",
      "MH-005"
    ])
    expect(labels.map(({ said }) => said)).toEqual(labels.map(({ code }) => code))
    const out = await run(place, ["pack", labels[0]!.code, "--out", "--json"], {
      input: labels
        .slice(1, 5)
        .map(({ code }) => `${code}\n`)
        .join("")
    })
    expect(JSON.parse(out.out)).toMatchObject({ unpacked: 4, failed: 0 })
    const back = await run(place, ["pack", labels[4]!.code, "--json"], { input: `${labels[1]!.code}\n` })
    expect(JSON.parse(back.out)).toMatchObject({ packed: 1, failed: 0 })
  })
  it("give units whose codes are ambiguous another code, which names one unit", async () => {
    const { create } = place.house
    const unit = async (fields: object): Promise<number> =>
      (await create("/stock_levels", { product_id: 10, store_id: 1, ...fields })).id
    const box = (await create("/containers/temporary", { name: "Box", barcode: "BOX-1", store_id: 1 })).id
    // One barcode on two units; an asset number that is another unit's barcode; one that looks like five of a product.
    const ids = [
      await unit({ asset_number: "TWIN-1", barcode: "SAME" }),
      await unit({ asset_number: "TWIN-2", barcode: "SAME" }),
      await unit({ asset_number: "X-1", serial_number: "SN-X", barcode: "TWIN-3" }),
      await unit({ asset_number: "TWIN-3", serial_number: "SN-T3" }),
      await unit({ asset_number: "CABLE*5" }),
      await unit({ asset_number: " spaced " })
    ]
    for (const serialised_item_id of ids) await create(`/containers/${box}/pack`, { serialised_item_id })
    const { manifest } = await place.json("containers manifest BOX-1")
    expect(manifest.code).toBe("BOX-1")
    const codes: ReadonlyArray<string> = manifest.items.map((item: { readonly code: string }) => item.code)
    expect(codes.slice(0, 4)).toEqual(["TWIN-1", "TWIN-2", "TWIN-3", "SN-T3"])
    expect(codes[4]).toBe(`unit:${ids[4]}`)
    const again = await run(place, ["pack", "BOX-1", "--out", "--json"], {
      input: codes.map((code) => `${code}\n`).join("")
    })
    expect(JSON.parse(again.out).results).toMatchObject(ids.map((asset_id) => ({ asset_id })))
  })
  it("name the box in use when an older one had the same barcode", async () => {
    const { create } = place.house
    const temporary = async (): Promise<number> =>
      (await create("/containers/temporary", { name: "Box", barcode: "BOX-9", store_id: 1 })).id
    await create(`/containers/${await temporary()}/dissolve`)
    const now_in_use = { container_id: await temporary(), code: "BOX-9" }
    expect((await place.json("containers manifest BOX-9")).manifest).toMatchObject(now_in_use)
  })
  it("show the content of a sealed case, and whether it is complete, on a terminal and as JSON", async () => {
    await place.house.create("/containers/2/seal")
    expect((await place.json("containers manifest CASE-0008")).manifest).toMatchObject({
      status: "sealed",
      is_compliant: true,
      code: "CASE-0008",
      sealed_at: expect.any(String)
    })
    const lines = (await tool("containers", "manifest", "CASE-0008")).out.split("\n")
    expect(lines[0]).toBe("name\tCase 8, accessories")
    expect(lines).toContain("Case 8, accessories\t\tMoving head in a case\tMH-004\t\tMH-004")
    const seen = await run(place, ["container", "manifest", "CASE-0008"], {
      env: { FLIGHTCASE_TTY: "1", COLUMNS: "90" }
    })
    expect(seen.out).toContain("complete   yes")
  })
})

describe("the destination of a page", () => {
  const dates = ["--from", dayFrom(now, 0), "--to", dayFrom(now, 3)]
  it("is standard output for -, and only the page is written", async () => {
    const { code, err, out } = await tool("availability", "calendar", ...dates, "--html", "-")
    expect([code, err]).toEqual([0, ""])
    expect(faultsOf(out)).toEqual([])
  })
  it("is the named file; --json still prints JSON on standard output", async () => {
    const file = join(place.folder, "both.html")
    const { err, out } = await tool("availability", "gantt", "XLR10", ...dates, "--html", file, "--json")
    expect(err).toContain(`Wrote ${file}.`)
    expect(JSON.parse(out)).toMatchObject({ gantt: { total_stock: 120 } })
    expect(faultsOf(readFileSync(file, "utf8"))).toEqual([])
  })
  it.each([
    [["availability", "calendar", ...dates, "--html", "-", "--json"], "would both write to standard output"],
    [["availability", "calendar", ...dates, "--html", "."], "it is a folder"],
    [["availability", "calendar", ...dates, "--html", "no/such/folder.html"], "its folder does not exist"],
    [["containers", "manifest", "1", "--labels", "qr"], "say where with --html"],
    [["containers", "manifest", "1", "--html", "x.html", "--sheet", "3x8"], "--sheet is about labels"],
    [["containers", "manifest", "1", "--html", "x.html", "--labels", "qr", "--sheet", "9x9"], "is none of 3x8"],
    [["containers", "manifest", "1", "--html", "x.html", "--labels", "qr", "--skip", "24"], "at most 23"],
    [["containers", "manifest", "1", "--html", "x.html", "--labels", "ean13"], "code128"]
  ])("is refused if it cannot be written or its options do not fit: %j", async (words, text) => {
    const { code, err, out } = await tool(...words)
    expect([code, out]).toEqual([2, ""])
    expect(err).toContain(text)
  })
})

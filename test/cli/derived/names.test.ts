import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { nearest } from "../../../core/values/nearest.ts"
import { allEndpoints } from "../../../cli/context/routing.ts"
import { commands } from "../../../cli/frame/command-list.ts"
import { overview } from "../../../cli/frame/help.ts"
import { normalizeFlags, noun_aliases, nounsIn, verbsOf, wordsOf } from "../../../cli/derived/names.ts"
import { convert, mapperFor, readMapping, unitOf, writingOf } from "../../../cli/commands/imports/import/mapping.ts"
import { productColumns } from "../../../core/imports/part-rows.ts"
import { separatorIn } from "../../../cli/commands/imports/import/source.ts"
import { oneLine, padded, widthOf, truncateToWidth } from "../../../cli/output/text.ts"
import { tableText, column } from "../../../cli/output/table.ts"
import { queryPart } from "../../../cli/context/pages.ts"
import { words } from "../../words.ts"

const endpoints = await allEndpoints()

describe("the nouns of the API", () => {
  it("are all listed in the help overview, each once and in a group", () => {
    const text = overview(nounsIn(endpoints))
    const [, groups = ""] = /its own verbs:\n([^]*?)\n\nEverywhere/.exec(text) ?? []
    const shown = groups.replace(/^ {2}[A-Z][^:]*:/gm, "").match(/[a-z-]+/g) ?? []
    const derived = nounsIn(endpoints).filter((noun) => commands[noun] === undefined)
    expect(shown.toSorted()).toEqual(derived.toSorted())
    expect(groups).not.toContain("More:")
  })
  it("are listed in the help overview even without a group", () => {
    expect(overview([...nounsIn(endpoints), "dollies"])).toContain("\n  More: dollies\n")
  })
  it("offer a command for every operation under /api/v1 except sync, inbound webhooks, files and event streams", () => {
    const named = new Set(verbsOf(endpoints).map(({ endpoint }) => endpoint))
    const unreached = endpoints
      .filter((endpoint) => !named.has(endpoint) && endpoint.produces !== "text/event-stream")
      .map(({ method, path }) => `${method} ${path}`)
    expect(
      unreached.filter(
        (one) =>
          !/ (\/(board|calendar|d|files|metrics|docs)\b|\/api\/v1\/(sync|webhooks\/inbound)\/|.*\.\w+$)/.test(one)
      )
    ).toEqual([])
  })
  it("have aliases that stand for existing nouns", () => {
    const all = new Set(verbsOf(endpoints).map(({ words }) => words[0]))
    expect(Object.values(noun_aliases).filter((noun) => !all.has(noun))).toEqual([])
  })
  it.each([
    ["GET", "/api/v1/products", "products.list", "products list"],
    ["POST", "/api/v1/products/{product}/rates", "product_rates.create", "products rates create"],
    [
      "POST",
      "/api/v1/opportunities/{id}/convert_to_order",
      "opportunities.convert_to_order",
      "opportunities convert-to-order"
    ],
    ["PATCH", "/api/v1/opportunities/{id}/items/{item}", "opportunities.update_item", "opportunities items update"],
    ["POST", "/api/v1/opportunities/{id}/items", "opportunities.add_item", "opportunities items add"],
    [
      "DELETE",
      "/api/v1/opportunities/{id}/deal_price",
      "opportunities.clear_deal_price",
      "opportunities deal-price clear"
    ],
    ["GET", "/api/v1/availability", "availability.show", "availability show"],
    ["GET", "/api/v1/availability/{product}/gantt", "availability.gantt", "availability gantt"],
    ["POST", "/api/v1/containers/{container}/pack", "containers.pack", "containers pack"]
  ])("make $0 $1 the command '$3'", (method, path, name, words) => {
    expect(wordsOf({ ...endpoints[0]!, method: method as "GET", path, name })?.join(" ")).toBe(words)
  })
})

describe("words on the command line", () => {
  it("are corrected to the nearest known word, if one is near", () => {
    expect(nearest("prodcts", ["products", "price"])).toBe("products")
    expect(nearest("xyzzy", ["products", "price"])).toBeUndefined()
  })
  it("are the value of a boolean flag before them only if they are true or false", () => {
    const booleans = new Set(["--is-active"])
    for (const [typed, read] of [
      ["update --is-active 12", "update --is-active=true 12"],
      ["update --is-active false 12", "update --is-active=false 12"],
      ["update --no-is-active -- --is-active", "update --is-active=false -- --is-active"]
    ] as const)
      expect(normalizeFlags(words(typed), booleans)).toEqual(words(read))
  })
  it("become filters if they end in a predicate", () => {
    expect(queryPart("name_cont=a=b")).toEqual(["q[name_cont]", "a=b"])
    expect(queryPart("cf.colour_eq=red")).toEqual(["q[cf.colour_eq]", "red"])
    expect(queryPart("page=2")).toEqual(["page", "2"])
    expect(queryPart("q[name_eq]=x")).toEqual(["q[name_eq]", "x"])
  })
})

describe("numbers in imported files", () => {
  it.each([
    ["weight", "3.100,5", "g", true, "3.1005"],
    ["weight", "12,5", undefined, true, "12.5"],
    ["weight", "10", "lbs", false, "4.5359"],
    ["weight", "heavy", "kg", false, "heavy"],
    ["price", "£1,234.50", undefined, false, "1234.50"],
    ["price", "250", "pence", false, "2.5"],
    ["price", "1.234,50 €", undefined, true, "1234.50"],
    ["post_rent_unavailability", "1.5", "hours", false, "90"],
    ["sku", "1,234", undefined, false, "1,234"]
  ] as const)("are converted: $0 $1 (unit $2) is read as $4", (column_name, text, unit, comma, expected) =>
    expect(convert(column_name, text, unit, comma)).toBe(expected)
  )
  it("take their unit from the heading if it is a known one", () => {
    expect(unitOf("Weight (kg)")).toEqual({ base: "Weight", unit: "kg" })
    expect(unitOf("Name (German)")).toEqual({ base: "Name (German)", unit: undefined })
  })
})

describe("columns of imported files", () => {
  const mapped = (
    maps: ReadonlyArray<string>,
    headers: ReadonlyArray<string>,
    cells: { [column: string]: string },
    sets: ReadonlyArray<string> = []
  ) => mapperFor(readMapping(maps, undefined, sets), headers, productColumns, writingOf(undefined, false)).map(cells)
  it("hold dates, numbers and countries in the locale's format", () => {
    const { map } = mapperFor(readMapping([], undefined, []), ["price"], productColumns, writingOf("de-AT", false))
    expect(map({ price: "1.234,50", "custom_fields.bought": "1.12.2026", country: "Österreich" })).toEqual({
      price: "1234.50",
      "custom_fields.bought": "2026-12-01",
      country: "AT"
    })
    expect(() => writingOf("no locale", false)).toThrow("is no locale")
  })
  it("are used unchanged without a mapping", () => {
    expect(mapped([], ["sku", "Weight (kg)", "Anything"], { sku: "A", "Weight (kg)": "2", Anything: "x" })).toEqual({
      sku: "A",
      Weight: "2",
      Anything: "x"
    })
  })
  it("are ignored in a mapped file if they are neither mapped nor named like a field", () => {
    expect(
      mapped(["name=Model"], ["Model", "Type", "weight"], { Model: "Aura", Type: "Moving Head", weight: "6" })
    ).toEqual({ name: "Aura", weight: "6" })
  })
  it("are filled by templates and constants, and a rate without a price is left out", () => {
    expect(
      mapped(
        ["name={Maker}, {Model},sku=Key,rate.price=Day,rate2.price=Week"],
        ["Maker", "Model", "Key", "Day", "Week"],
        { Maker: "Robe", Model: "Spiider", Key: "k", Day: "10", Week: "" },
        ["rate.preset=daily-rate", "rate2.preset=weekly-rate"]
      )
    ).toEqual({ name: "Robe, Spiider", sku: "k", rate: [{ price: "10", preset: "daily-rate" }] })
  })
  it("hold unit numbers or a count if they are for stock", () => {
    expect(mapped([], ["stock.Main"], { "stock.Main": "A-1; A-2" })).toEqual({ "stock.Main": ["A-1", "A-2"] })
    expect(mapped([], ["stock.Main"], { "stock.Main": "1,200" })).toEqual({ "stock.Main": "1,200" })
  })
  it("are split at the separator most frequent in the heading, outside quotes", () => {
    expect(separatorIn('a;b;"c,d,e,f"\n1;2;3')).toBe(";")
    expect(separatorIn("a\tb\nx,y,z")).toBe("\t")
    expect(separatorIn("only")).toBe(",")
  })
})

describe("printed tables", () => {
  const seen = { is_tty: true, progress: false, colour: false, columns: 24 }
  it("measure wide and combining characters, and truncate with an ellipsis", () => {
    expect([widthOf("abc"), widthOf("日本"), widthOf("e\u0301")]).toEqual([3, 4, 1])
    expect(truncateToWidth("Moving head", 7)).toBe("Moving…")
    expect(padded("日", 4, true)).toBe("  日")
  })
  it("replace escape sequences and line breaks in values", () => {
    expect(oneLine("a\tb\nc\u001b[31m")).toBe("a b c\ufffd[31m")
  })
  it("fit the terminal by taking from the widest column, and align numbers to the right", () => {
    const rows = [
      { id: 1, name: "A name that is far too long" },
      { id: 12, name: "B" }
    ]
    const text = tableText([column("id"), column("name")], rows, seen)
    expect(text).toBe("ID  NAME\n 1  A name that is far …\n12  B\n")
  })
  it("are tab-separated and without a heading in a pipe", () => {
    expect(tableText([column("id"), column("on")], [{ id: 1, on: true }], { ...seen, is_tty: false })).toBe("1\tyes\n")
  })
})

describe("the sample price list", () => {
  it("equals the output of its script", () => {
    const folder = mkdtempSync(join(tmpdir(), "flightcase-list-"))
    const fixtures = new URL("../../fixtures/", import.meta.url).pathname
    try {
      execFileSync(process.execPath, [join(fixtures, "make-price-list.ts"), folder])
      for (const file of ["price-list.csv", "rates.csv", "rates.json"])
        expect(readFileSync(join(folder, file), "utf8")).toBe(readFileSync(join(fixtures, file), "utf8"))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

/** Content of documents: golden trees of blocks, exact totals, and the listed fields only. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { narrowest } from "../../../core/documents/brand.ts"
import { dataOf, type FieldGroup, pathsOf } from "../../../core/documents/content/shared-fields.ts"
import { fieldsOfType, pathsOfType } from "../../../core/documents/content/fields.ts"
import { purchaseDocument, purchaseGroups } from "../../../core/documents/content/purchase.ts"
import { salesRows } from "../../../core/documents/content/sales-table.ts"
import { salesDocument, salesGroups } from "../../../core/documents/content/sales.ts"
import { letterWordsOf } from "../../../core/documents/content/words.ts"
import { document_types, type DocumentType } from "../../../core/documents/schema.ts"
import { itemAt } from "../../../core/values/text.ts"
import { type Block, readDocument, type Table } from "../../../core/pricing/print/blocks.ts"
import { flat } from "../billing/paper/samples.ts"
import { purchaseSample, sampleOptions, salesSample, type SalesSample } from "./samples.ts"

const plain = { lines: 12, currency: "EUR", language: "en-GB" }
const quoted = (sample: SalesSample, set: Parameters<typeof sampleOptions>[1] = {}) => {
  const options = sampleOptions(sample.language, set)
  return salesDocument(salesSample(sample, options), options)
}
const tableOf = (blocks: ReadonlyArray<Block>): Table => {
  const found = flat(blocks).find((block): block is Table => block.kind === "table")
  if (found === undefined) throw new Error("there is no table")
  return found
}
const golden = (name: string, document: unknown) =>
  expect(`${JSON.stringify(document, null, 1)}\n`).toMatchFileSnapshot(`goldens/${name}.json`)

describe("document content", () => {
  it("equals its golden file for a quotation", () =>
    golden("quotation", quoted(plain, { intro: "Thank you.", terms: "Pay first." })))
  it("equals its golden file for a quotation in German at an agreed price", () =>
    golden("quotation-deal", quoted({ ...plain, lines: 3, language: "de", header: { deal_total: 123_456 } })))
  it("equals its golden file for a quotation with lines only", () =>
    golden("quotation-bare", quoted({ ...plain, lines: 2, currency: "JPY", language: "en-US", is_bare: true })))
  it("equals its golden file for an order confirmation in French with tax in the prices", () =>
    golden(
      "order_confirmation",
      quoted({ ...plain, lines: 4, currency: "KWD", language: "fr", type: "order_confirmation", inclusive: true })
    ))
  it("equals its golden file for a purchase order", () =>
    golden("purchase_order", purchaseDocument(purchaseSample({ lines: 9, currency: "EUR" }), sampleOptions("en-GB"))))
})

describe.each([
  ["EUR", 2],
  ["JPY", 0],
  ["KWD", 3]
] as const)("amounts of a document in %s", (currency, scale) => {
  const minor = (text: string): number => {
    const digits = Number(text.replace(/[^\d.-]/g, ""))
    return Math.round(digits * 10 ** scale)
  }
  it.each([
    ["without tax", false],
    ["with tax", true]
  ])("add up to the total for prices %s, by line and by group", (_what, inclusive) => {
    const paper = salesSample({ ...plain, currency, lines: 60, inclusive })
    const document = salesDocument(paper, sampleOptions("en-GB"))
    const { rows } = tableOf(document.blocks)
    const end = rows.findIndex((row) => row.kind === "group" && row.text === letterWordsOf("en").optional)
    const amounts = rows
      .slice(0, end)
      .flatMap((row) => (row.kind === "row" ? [minor(row.cells.at(-1)?.runs[0]?.text ?? "")] : []))
    const groups = rows.slice(0, end).flatMap((row) => (row.kind === "group" ? [minor(row.value ?? "")] : []))
    const sum = (all: ReadonlyArray<number>) => all.reduce((one, other) => one + other, 0)
    const wanted = inclusive ? paper.totals.net + paper.totals.tax : paper.totals.net
    expect([sum(amounts), sum(groups)]).toEqual([wanted, wanted])
  })
})

describe("days of hire of a quotation", () => {
  const sample = salesSample({ ...plain, lines: 1, currency: "EUR" })
  const first = itemAt(sample.lines, 0)
  type Line = Partial<(typeof sample.lines)[number]>
  const charged = (ends_at: string, ...lines: ReadonlyArray<Line>): string | undefined => {
    const header = { ...sample.header, starts_at: "2026-12-01T08:00:00.000Z", ends_at: `2026-12-${ends_at}:00:00.000Z` }
    const all = lines.map((line) => ({ ...first, quantity: "1.00", discount_percent: null, unit_price: 100, ...line }))
    const options = sampleOptions("en-GB")
    const rows = salesRows({ ...sample, header, lines: all, costs: [], billed: [] }, options)
    const written = JSON.stringify(salesDocument({ ...sample, header, rows }, options))
    return /"label":"Days of hire","value":"(\d+)"/.exec(written)?.[1]
  }
  it("are those that rates charge, which count a part of a day as a day", () => {
    expect(charged("04T17", { discounted_total: 400 })).toBe("4")
  })
  it("are one more than the whole days where rates charge one more for a late return", () => {
    expect(charged("04T08", { discounted_total: 400 })).toBe("4")
    expect(charged("04T08", { discounted_total: 400 }, { discounted_total: 300 })).toBeUndefined()
    expect(charged("04T08", { discounted_total: 300 })).toBe("3")
  })
  it("are the whole days that prices without a rate are charged", () => {
    expect(charged("04T17", { discounted_total: 300 })).toBe("3")
  })
  it("are left out where lines are charged different days", () => {
    expect(charged("04T17", { discounted_total: 400 }, { discounted_total: 300 })).toBeUndefined()
  })
  it("do not depend on sales, fixed prices and lines with dates of their own", () => {
    const others: ReadonlyArray<Line> = [
      { discounted_total: 100, transaction_type: 1 },
      { discounted_total: 100, charge_period: 4 },
      { discounted_total: 200, ends_at: "2026-12-03T08:00:00.000Z" }
    ]
    expect(charged("02T17", { discounted_total: 200 }, ...others)).toBe("2")
    expect(charged("02T08", ...others)).toBe("1")
    expect(charged("02T17", ...others)).toBeUndefined()
  })
})

describe("a document", () => {
  it.each([1, 40, 1_000])("can be read back from stored JSON with %i lines", (lines) => {
    for (const document of [
      quoted({ ...plain, lines }),
      purchaseDocument(purchaseSample({ lines, currency: "KWD" }), sampleOptions("de"))
    ])
      expect(Result.isSuccess(readDocument(JSON.parse(JSON.stringify(document))))).toBe(true)
  })
  it("is marked VOID for a lost quotation, and unmarked for a draft", () => {
    expect(quoted({ ...plain, header: { state: 1, status: 2 } }).watermark).toBe("VOID")
    expect(quoted({ ...plain, header: { state: 0, status: 0 } }).watermark).toBeUndefined()
  })
  it("has a signature field on a quotation, and none on an order confirmation", () => {
    const signs = (sample: SalesSample) => flat(quoted(sample).blocks).some(({ kind }) => kind === "signature")
    expect([signs(plain), signs({ ...plain, type: "order_confirmation" })]).toEqual([true, false])
  })
  it("is marked DRAFT for a draft purchase order, and VOID for a cancelled one", () => {
    const markOf = (status: "draft" | "sent" | "cancelled") =>
      purchaseDocument(purchaseSample({ lines: 1, currency: "EUR", order: { status } }), sampleOptions("en")).watermark
    expect([markOf("draft"), markOf("sent"), markOf("cancelled")]).toEqual(["DRAFT", undefined, "VOID"])
  })
})

describe("template fields", () => {
  const namesIn = (data: { readonly [key: string]: unknown }): ReadonlyArray<string> =>
    Object.entries(data).flatMap(([key, value]) => {
      const [one] = Array.isArray(value) ? value : [value]
      return Object.keys(one ?? {}).map((name) => `${key}.${name}`)
    })
  const same = <F>(groups: ReadonlyArray<FieldGroup<F>>, facts: F) => {
    const data = dataOf(groups, facts, { language: "en-GB", zone: "Europe/Berlin", currency: "EUR" })
    expect([...namesIn(data)].sort()).toEqual([...pathsOf(groups)].sort())
    for (const value of Object.values(data).flatMap((one) => (Array.isArray(one) ? one : [one])))
      for (const field of Object.values(value)) expect(["string", "boolean"]).toContain(typeof field)
  }
  it("are the listed ones and no others for quotations, each a text or a boolean", () =>
    same(salesGroups, salesSample(plain)))
  it("are the listed ones and no others for purchase orders, each a text or a boolean", () =>
    same(purchaseGroups, purchaseSample({ lines: 2, currency: "EUR" })))
  it.each(Object.keys(document_types) as ReadonlyArray<DocumentType>)(
    "are listed once for a %s, and are exactly the paths that templates accept",
    (type) => {
      const offered = fieldsOfType(type).flatMap(({ fields }) => fields)
      expect(new Set(offered.map(({ name }) => name)).size).toBe(offered.length)
      const checked = offered
        .filter((one) => one.type !== "collection")
        .map(({ name }) => name.replace(/^item\./, "items."))
      expect(checked.sort()).toEqual([...pathsOfType(type)].sort())
    }
  )
  it("format dates and amounts in the document's language", () => {
    const data = dataOf(salesGroups, salesSample({ ...plain, language: "de" }), {
      language: "de",
      zone: "Europe/Berlin",
      currency: "EUR"
    })
    expect(data["opportunity"]).toMatchObject({ starts_at: "1. Dezember 2026", customer_collecting: false })
    expect(JSON.stringify(data["items"])).toContain("36,00\u00a0€")
  })
  it("include no amounts of money for warehouse documents", () => {
    for (const type of ["pick_list", "delivery_note", "return_note"] as const)
      expect(
        fieldsOfType(type)
          .flatMap(({ fields }) => fields)
          .filter((one) => one.type === "currency")
      ).toEqual([])
  })
  it("for all document types exclude the fields of single types", () => {
    expect(pathsOfType(null)).toContain("store.name")
    expect(pathsOfType(null)).not.toContain("opportunity.subject")
  })
})

describe("a layout", () => {
  const none = {
    logo_attachment_id: null,
    accent: null,
    page_size: null,
    intro: null,
    terms: null,
    footer: null,
    mail_subject: null,
    mail_text: null
  }
  const all = [
    { ...none, store_id: null, document_type: null, accent: "#000001", intro: "all", footer: "all", terms: "all" },
    { ...none, store_id: null, document_type: "quotation", intro: "type", footer: "type", terms: "type" },
    { ...none, store_id: 1, document_type: null, intro: "store", footer: "store" },
    { ...none, store_id: 1, document_type: "quotation", intro: "both" }
  ] as const
  it("takes each field from the most specific level that sets it", () => {
    const said = { accent: "#000001", terms: "type", footer: "store", intro: "both" }
    expect(narrowest(all, "quotation", 1)).toEqual(said)
    expect(narrowest(all.toReversed(), "quotation", 1)).toEqual(said)
    expect(narrowest(all, "quotation", 2)).toEqual({ accent: "#000001", terms: "type", footer: "type", intro: "type" })
    expect(narrowest(all, "invoice", 1)).toEqual({ accent: "#000001", terms: "all", footer: "store", intro: "store" })
    expect(narrowest(all, "invoice", null)).toEqual({ accent: "#000001", terms: "all", footer: "all", intro: "all" })
  })
})

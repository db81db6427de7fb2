/** Sheets of labels as a page to print (rules/availability 8.7). */
import { Effect } from "effect"
import { choice, get, integer, invalidField, text, type Answer } from "../../core/kernel/index.ts"
import { contentDisposition } from "../../core/values/file-name.ts"
import { reading } from "../../core/warehouse/labels/api.ts"
import { label_access, label_fields, symbols } from "../../core/warehouse/labels/schema.ts"

/** Drawing's code, loaded with the first sheet. */
const drawing = Effect.promise(() => import("../print/sheet.ts"))

export const labelSheet = get("/api/v1/labels/sheet", {
  produces: "text/html",
  error_answers: { 422: null },
  answer_headers: {
    "Content-Disposition": "Name of the file",
    "Content-Security-Policy": "The page runs and fetches nothing"
  },
  name: "labels.sheet",
  summary: "Download labels on A4 sheets, as a page to print at full size",
  ...label_access,
  server_only: true,
  fields: {
    ...label_fields,
    symbol: choice(symbols, { default: "code128", describe: "Kind of barcode on the label" }),
    sheet: text({ default: "3x8", max: 30, describe: "Label sheet: a grid or a product, such as 3x8 or avery-l4737" }),
    skip: integer({ min: 0, max: 64, default: 0, describe: "Number of labels already used on the first sheet" })
  },
  run: Effect.fnUntraced(function* (input) {
    const { sheet: name = "3x8", skip = 0, symbol = "code128" } = input.values
    const { labelSheets, LabelsRefused, sheetNamed, sheets } = yield* drawing
    const sheet = sheetNamed(name)
    if (sheet === undefined)
      return yield* invalidField("sheet", `The sheet field must be one of ${Object.keys(sheets).join(", ")}.`)
    const { loadLabels } = yield* reading
    const { labels } = yield* loadLabels(input)
    const drawn = yield* Effect.promise(() =>
      labelSheets("Labels", labels, { kind: symbol, sheet, skip }).catch((error: unknown) => {
        if (error instanceof LabelsRefused) return error
        throw error
      })
    )
    if (drawn instanceof Error) return yield* invalidField(drawn.field === "skip" ? "skip" : "codes", drawn.message)
    const answer: Answer<never> = {
      status: 200,
      content: { type: "text/html; charset=utf-8", text: drawn.page },
      headers: {
        "content-disposition": contentDisposition("labels.html", "attachment"),
        "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"
      }
    }
    return answer
  })
})

/** Endpoints of labels for units, containers and bulk products (rules/availability 8.7). */
import { Effect } from "effect"
import { choice, get, integer, later, ok, type Answer, type Endpoint, type Slice } from "../../kernel/index.ts"
import { contentDisposition } from "../../values/file-name.ts"
import { label_access, label_fields, labels_shown, symbols } from "./schema.ts"

export const reading = later(() => import("./rules.ts"))

const listing = get("/api/v1/labels", {
  answer: labels_shown,
  name: "labels.show",
  summary: "Show labels for units, containers and bulk products",
  ...label_access,
  fields: label_fields,
  run: (input) =>
    Effect.map(
      Effect.flatMap(reading, ({ loadLabels }) => loadLabels(input)),
      ok
    )
})

const size = { min: 10, max: 300 }
const zpl = get("/api/v1/labels/zpl", {
  produces: "application/zpl",
  error_answers: { 422: null },
  answer_headers: { "Content-Disposition": "Name of the file" },
  name: "labels.zpl",
  summary: "Download labels in ZPL II, for label printers",
  ...label_access,
  fields: {
    ...label_fields,
    symbol: choice(symbols, { default: "code128", describe: "Kind of barcode on the label" }),
    width_mm: integer({ ...size, default: 57, describe: "Width of a label in millimetres" }),
    height_mm: integer({ ...size, default: 32, describe: "Height of a label in millimetres" }),
    dots_per_mm: integer({
      min: 6,
      max: 24,
      default: 8,
      describe: "Dots per millimetre: 8 for 203 dpi, 12 for 300, 24 for 600"
    })
  },
  run: Effect.fnUntraced(function* (input) {
    const { loadLabels, zplOf } = yield* reading
    const { labels } = yield* loadLabels(input)
    const answer: Answer<never> = {
      status: 200,
      content: { type: "application/zpl; charset=utf-8", text: zplOf(labels, input.values) },
      headers: { "content-disposition": contentDisposition("labels.zpl", "attachment") }
    }
    return answer
  })
})

const endpoints: ReadonlyArray<Endpoint> = [listing, zpl]
export const labelsSlice: Slice = { name: "labels", endpoints }

/** Billing documents as PDF: drawn on request, never stored. */
import { Effect, Stream } from "effect"
import type { Failure } from "../../../core/kernel/store/store.ts"
import { invalidField, Rejection } from "../../../core/kernel/fields/rejection.ts"
import { picturesOf, type PrintDocument } from "../../../core/pricing/print/blocks.ts"
import type { DrawingTooLong, DrawingUnavailable, DrawOptions, Undrawable } from "../../print/renderer.ts"
import { serverContext } from "../../ports/server-context.ts"

/** Pictures in a document. An unreadable logo is left out, as the document matters more. */
const picturesFor = Effect.fnUntraced(function* (document: PrintDocument) {
  const { blobs } = yield* serverContext
  const pictures = new Map<string, Uint8Array>()
  for (const sha256 of picturesOf(document.blocks)) {
    const parts = yield* blobs.read(sha256).pipe(
      Effect.flatMap(({ content }) => Stream.runCollect(content)),
      Effect.catch(() => Effect.succeed(undefined))
    )
    if (parts !== undefined) pictures.set(sha256, Buffer.concat([...parts]))
  }
  return pictures
})
const withoutPictures = (document: PrintDocument, kept: ReadonlyMap<string, unknown>): PrintDocument => ({
  ...document,
  blocks: document.blocks.map((block) =>
    block.kind !== "columns"
      ? block
      : {
          ...block,
          columns: block.columns.map((column) => ({
            ...column,
            blocks: column.blocks.filter(
              (one) => one.kind !== "image" || !("sha256" in one.picture) || kept.has(one.picture.sha256)
            )
          }))
        }
  )
})

/** The PDF, with its sources, without unavailable pictures. */
export const drawn = Effect.fnUntraced(function* (
  document: PrintDocument,
  options: Pick<DrawOptions, "limit_millis" | "carried_xml"> = {}
) {
  const { renderer } = yield* serverContext
  const pictures = yield* picturesFor(document)
  const draw = (kept: ReadonlyMap<string, Uint8Array>) => {
    const whole = withoutPictures(document, kept)
    return Effect.map(renderer.pdf(whole, { ...options, pictures: kept }), (pdf) => ({
      ...pdf,
      document: whole,
      pictures: kept
    }))
  }
  return yield* draw(pictures).pipe(
    // The logo may be at fault, as it is an arbitrary file: draw without it.
    Effect.catchTag("Undrawable", (failure) => (pictures.size === 0 ? Effect.fail(failure) : draw(new Map())))
  )
})

/** Whether only another document would be drawn: this one is not tried again. */
export const isUndrawable = (failure: unknown): boolean =>
  typeof failure === "object" &&
  failure !== null &&
  "_tag" in failure &&
  (failure._tag === "Undrawable" || failure._tag === "DrawingTooLong")

/** Failures of drawing as answers. */
export const drawingRefused = (
  failure: Undrawable | DrawingTooLong | DrawingUnavailable
): Effect.Effect<never, Failure> =>
  failure._tag === "DrawingUnavailable"
    ? Effect.fail(new Rejection({ kind: "unavailable", message: failure.message, headers: { "retry-after": "30" } }))
    : Effect.fail(invalidField("document", `It cannot be drawn: ${failure.message}`))

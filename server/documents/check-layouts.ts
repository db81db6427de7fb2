/** Layouts of documents as a server checks them when they are saved: their texts with fields, and their logo. */
import { Effect } from "effect"
import { attachments } from "../../core/attachments/schema.ts"
import { mail_places, text_places } from "../../core/documents/branding/brand.ts"
import { document_layouts } from "../../core/documents/schema.ts"
import { document_types, type DocumentType } from "../../core/documents/types.ts"
import type { Answer } from "../../core/kernel/endpoint.ts"
import { isJsonObject, type JsonObject } from "../../core/kernel/json.ts"
import { type FieldErrors, invalid } from "../../core/kernel/rejection.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { authorizeCall } from "../../core/kernel/prepare.ts"
import { unknownFields } from "../../core/print/texts.ts"
import { serverContext } from "../server-context.ts"
import type { ServerCall, ServerEndpoint } from "../server-slice.ts"

type Errors = { [field: string]: ReadonlyArray<string> }
const places = [...text_places, ...mail_places]

/** Wraps the calls that save a layout. Those who may not, or name none, are answered that first. */
export const checkedLayouts = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> => {
  const { name } = call.endpoint
  const { body } = call.request
  return (name === "document_layouts.create" || name === "document_layouts.update") && isJsonObject(body)
    ? authorizeCall(call).pipe(Effect.andThen(checkLayout(call, body)), Effect.andThen(next))
    : next
}

/** The layout as it would be; undefined where its row is gone or its type is none, which is answered without us. */
const layoutAfter = Effect.fnUntraced(function* ({ endpoint, params }: ServerCall, body: JsonObject) {
  const row =
    endpoint.name === "document_layouts.create"
      ? undefined
      : yield* (yield* Store).get(document_layouts, Number(params["id"]))
  if (row === undefined && endpoint.name !== "document_layouts.create") return undefined
  const given = "document_type" in body ? body["document_type"] : row?.document_type
  const type = typeNamed(given)
  if (type === undefined) return undefined
  const texts = places.map((place) => {
    const text = place in body ? body[place] : row?.[place]
    return [place, typeof text === "string" ? text : ""] as const
  })
  return { type, texts: Object.fromEntries(texts.filter(([, text]) => text.trim() !== "")) }
})
const typeNamed = (given: unknown): DocumentType | null | undefined => {
  if (given === null || given === undefined || given === "") return null
  const word = String(given).trim().toLowerCase()
  const keys = Object.keys(document_types) as ReadonlyArray<DocumentType>
  return keys.find((key) => key === word || document_types[key].name.toLowerCase() === word)
}

const checkLayout = Effect.fnUntraced(function* (call: ServerCall, body: JsonObject) {
  const errors: Errors = {}
  const layout = yield* layoutAfter(call, body)
  if (layout !== undefined) yield* checkTexts(layout.type, layout.texts, errors)
  yield* checkLogo(body["logo_attachment_id"], errors)
  if (Object.keys(errors).length > 0) return yield* invalid(errors satisfies FieldErrors)
})

const checkTexts = Effect.fnUntraced(function* (
  type: DocumentType | null,
  texts: { readonly [place: string]: string },
  errors: Errors
) {
  const { renderer } = yield* serverContext
  const { nearestPath, pathsOfType } = yield* Effect.promise(() => import("./field-paths.ts"))
  const paths = pathsOfType(type)
  for (const [place, text] of Object.entries(texts)) {
    const found = yield* renderer.fieldsOf({ [place]: text }).pipe(
      Effect.catchTag("TextInvalid", ({ faults, message }) => {
        const [first] = faults
        const line = first?.line === undefined ? "" : ` in line ${first.line}`
        errors[place] = [`The ${place} field cannot be read${line}: ${first?.message ?? message}.`]
        return Effect.succeed({ [place]: [] })
      }),
      // A busy server saves without the check: a text that cannot be filled later is left out.
      Effect.catch(() => Effect.succeed({ [place]: [] }))
    )
    const [unknown] = unknownFields(found[place] ?? [], paths)
    if (unknown === undefined) continue
    const near = nearestPath(unknown, paths)
    const whose = type === null ? "that documents of every type have" : `of ${document_types[type].name.toLowerCase()}s`
    errors[place] = [
      `The ${place} field names ${unknown}, which is no field ${whose}. ` +
        (near === undefined
          ? `GET /api/v1/document_types/${type ?? "{type}"}/fields lists them.`
          : `Did you mean ${near}?`)
    ]
  }
})

const pictures = ["image/png", "image/jpeg", "image/svg+xml"]
const checkLogo = Effect.fnUntraced(function* (id: unknown, errors: Errors) {
  if (typeof id !== "number" || !Number.isSafeInteger(id)) return
  const row = yield* (yield* Store).get(attachments, id)
  if (row !== undefined && !pictures.includes(row.mime_type))
    errors["logo_attachment_id"] = ["The attachment of the logo must be a PNG, JPEG or SVG picture."]
})

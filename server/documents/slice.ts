/** Server side of documents: drawing, files, public pages. */
import { Clock, Effect, Latch, Option, Schema } from "effect"
import { attachments } from "../../core/office/attachments/attachables.ts"
import { mail_places, text_places } from "../../core/documents/brand.ts"
import type { DocumentRow, DocumentType } from "../../core/documents/schema.ts"
import {
  document_layouts,
  document_types,
  documentFailed,
  documentRequested,
  documents,
  documentsBatched,
  documentStream
} from "../../core/documents/schema.ts"
import { bodyOf, CommandRuntime, invalid, invalidField, isJsonObject, journal } from "../../core/kernel/index.ts"
import { keysOf, Rejection, renderOne, statusOf, Store, viewContext } from "../../core/kernel/index.ts"
import type { Answer, FieldErrors, JsonObject } from "../../core/kernel/index.ts"
import { authorizeCall } from "../../core/kernel/runtime/prepare.ts"
import { unknownFields } from "../../core/pricing/print/texts.ts"
import { type AnyJobKind, jobKind, jobOffer, type Process, processOf, serverContext } from "../ports/server-context.ts"
import type { ServerCall, ServerEndpoint, ServerSlice } from "../ports/server-slice.ts"
import * as Semaphore from "effect/Semaphore"
import {
  documentResource,
  draw_kinds,
  drawJobId,
  generate,
  queuedAnswer,
  request_waits_millis
} from "../../core/documents/lifecycle-api.ts"
import { isSignedFor, showFile } from "../files/serve.ts"
import { instantOf } from "../../core/values/time.ts"
import { answeredLater } from "../access/idempotency/slice.ts"
import { system_jobs } from "../delivery/jobs/queue-table.ts"
import { labelSheet } from "./labels.ts"
import { certificateFollows, drawCertificate, isPublicPage, linkEndpoints, mailDocument } from "./links/api.ts"
import { document_link_pins, document_link_tries, PublicCall } from "./links/public-links.ts"

// Layouts of documents as a server checks them when they are saved: their texts with fields, and their logo.

type Errors = { [field: string]: ReadonlyArray<string> }
const places = [...text_places, ...mail_places]

/** Middleware for calls that save a layout. Checks permission first, then the layout's texts and logo. */
const checkedLayouts = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> => {
  const { name } = call.endpoint
  const { body } = call.request
  return (name === "document_layouts.create" || name === "document_layouts.update") && isJsonObject(body)
    ? authorizeCall(call).pipe(Effect.andThen(checkLayout(call, body)), Effect.andThen(next))
    : next
}

/** The layout as it will be saved; undefined if its row or type does not exist, which the endpoint itself rejects. */
const layoutAfter = Effect.fnUntraced(function* ({ endpoint, params }: ServerCall, body: JsonObject) {
  const row =
    endpoint.name === "document_layouts.create" ? undefined : yield* Store.get(document_layouts, Number(params["id"]))
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
  const keys = keysOf(document_types)
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
  const { nearestPath, pathsOfType } = yield* Effect.promise(() => import("../../core/documents/content/fields.ts"))
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
  const row = yield* Store.get(attachments, id)
  if (row !== undefined && !pictures.includes(row.mime_type))
    errors["logo_attachment_id"] = ["The attachment of the logo must be a PNG, JPEG or SVG picture."]
})

// Jobs that draw documents. Those with a waiting request have their own workers, and never queue behind the others;
// background documents are drawn one at a time, so that requests stay fast.

const oneDocument = Schema.Struct({ document_id: Schema.Int })
const someDocuments = Schema.Struct({ document_ids: Schema.Array(Schema.Int) })

/** Shutdowns do not count as failed attempts: drawing cannot crash the server, as its threads have a memory limit. */
const harmless = { counts_broken_off: false } as const
/** Loaded with the first document, as most importers of this module draw none. */
const drawing = Effect.promise(() => import("./papers/drawing.ts"))
const drawOrFail = (
  id: number,
  how: { readonly job_id: string; readonly waits: boolean; readonly is_waited_for: boolean }
) => Effect.flatMap(drawing, (it) => it.drawOrFail(id, how))
const recordFailed = (id: number, error: string) => Effect.flatMap(drawing, (it) => it.recordFailed(id, error, true))
const ended = ({ document_id }: typeof oneDocument.Type, error: string) => recordFailed(document_id, error)

/** Serialises the drawing of background documents. */
const alone = Semaphore.makeUnsafe(1)

const waited_for = jobKind({
  ...harmless,
  kind: draw_kinds.request,
  meaning: "renders a document that a user waits for",
  asked_with: "documents:write",
  data: oneDocument,
  attempts_max: 3,
  waits_seconds: [1, 3],
  // The drawing threads limit concurrency further, by the length of the documents.
  at_a_time: 8,
  run: ({ document_id }, { is_last, job_id }) =>
    drawOrFail(document_id, { job_id, waits: !is_last, is_waited_for: true }),
  ended
})
const queued = jobKind({
  ...harmless,
  kind: draw_kinds.job,
  meaning: "renders a document",
  asked_with: "documents:write",
  data: oneDocument,
  attempts_max: 5,
  waits_seconds: [2, 10, 60, 300],
  at_a_time: 1,
  run: ({ document_id }, { is_last, job_id }) =>
    alone.withPermits(1)(drawOrFail(document_id, { job_id, waits: !is_last, is_waited_for: false })),
  ended
})
const batch = jobKind({
  ...harmless,
  kind: draw_kinds.batch,
  meaning: "renders documents one after another",
  asked_with: "documents:write",
  data: someDocuments,
  attempts_max: 5,
  waits_seconds: [2, 10, 60, 300],
  at_a_time: 1,
  run: Effect.fnUntraced(function* ({ document_ids }, { job_id, progress }) {
    for (const [at, id] of document_ids.entries()) {
      yield* alone.withPermits(1)(drawOrFail(id, { job_id, waits: false, is_waited_for: false }))
      yield* progress((at + 1) / document_ids.length)
    }
    const rows = yield* Store.getMany(documents, document_ids)
    const failed = rows.filter(({ status }) => status === "failed").length
    return { done: rows.length - failed, failed }
  }),
  ended: ({ document_ids }, error) => Effect.forEach(document_ids, (id) => recordFailed(id, error), { discard: true })
})

const drawing_jobs: ReadonlyArray<AnyJobKind> = [waited_for, queued, batch]
const drawing_processes: ReadonlyArray<Process> = [
  processOf({
    on: [documentRequested],
    jobs: ({ actor_id, data }) => {
      if (data.drawn_by === "batch") return []
      const kind = data.drawn_by === "job" ? "job" : "request"
      const about = { uuid: drawJobId(kind, data.id), owner_id: actor_id }
      return [jobOffer(kind === "job" ? queued : waited_for, { document_id: data.id }, about)]
    }
  }),
  processOf({
    on: [documentsBatched],
    jobs: ({ actor_id, data }) => [
      jobOffer(batch, { document_ids: data.document_ids }, { uuid: drawJobId("batch", data.id), owner_id: actor_id })
    ]
  })
]

// Draws a document again if a signed URL is requested and its PDF is missing from the file store.

const restored = Effect.fnUntraced(function* ({ params, request: { query } }: ServerCall) {
  const { blobs, key } = yield* serverContext
  const uuid = params["uuid"] ?? ""
  if (!isSignedFor(key, uuid, query, yield* Clock.currentTimeMillis)) return
  const [row] = yield* Store.find(documents, { uuid }, { limit: 1 })
  if (row === undefined || row.sha256 === null || (yield* blobs.has(row.sha256))) return
  const { pdfThere } = yield* Effect.promise(() => import("./papers/drawing.ts"))
  yield* pdfThere(row)
})
/**
 * Middleware of file downloads that draws a missing PDF again. If that fails, the response is that for any missing
 * file.
 */
const drawMissing = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> =>
  call.endpoint.name !== showFile.name
    ? next
    : Effect.andThen(
        Effect.catchCause(restored(call), (cause) =>
          Effect.logWarning("the PDF of a document is missing, and cannot be drawn again", cause)
        ),
        next
      )

// A request for a document (not for a job) waits until it is drawn: after its transaction, so that it blocks no other
// request. The job continues if the client hangs up.

/** Poll interval, as notices of other servers' commits may be lost. */
const look_millis = 1_000

/** The row once it is no longer pending; none if that takes longer than a request waits. */
const onceDrawn = Effect.fnUntraced(function* (id: number) {
  const { onCommit } = yield* serverContext
  const committed = Latch.makeUnsafe(false)
  const stop = onCommit(() => committed.openUnsafe())
  const look = Effect.gen(function* () {
    for (;;) {
      committed.closeUnsafe()
      const row = yield* Store.get(documents, id)
      if (row?.status !== "pending") return row
      yield* Effect.raceFirst(Effect.sleep(look_millis), committed.await)
    }
  })
  return yield* Effect.interruptible(Effect.timeoutOption(look, request_waits_millis)).pipe(
    Effect.ensuring(Effect.sync(stop))
  )
})

/** The rejection for a failed document: 503 if a retry may succeed, else 422. */
const refusalOf = Effect.fnUntraced(function* (row: DocumentRow): Store.Reads<Rejection> {
  const error = row.error ?? "It could not be drawn."
  const [event] = yield* Store.find(
    journal,
    { stream: documentStream(row.id), type: documentFailed.type },
    { order: ["-position"], limit: 1 }
  )
  return event?.data["may_work_later"] === true
    ? new Rejection({ kind: "unavailable", message: error, headers: { "retry-after": "30" } })
    : invalidField("document", `It cannot be drawn: ${error}`)
})

/** Id of the document in an answer that is still pending; undefined if there is none. */
const pendingIn = ({ body, status }: Answer): number | undefined => {
  const shown = isJsonObject(body) ? body["document"] : undefined
  return status === 201 && isJsonObject(shown) && shown["status"] === "pending" ? Number(shown["id"]) : undefined
}

const answerOnceDrawn = Effect.fnUntraced(function* (call: ServerCall, answer: Answer, id: number) {
  const drawn = yield* onceDrawn(id)
  if (Option.isNone(drawn))
    return queuedAnswer(drawJobId("request", id), "The document takes longer than usual; it is still being made.")
  const row = drawn.value
  if (row === undefined) return answer
  const headers = answer.headers === undefined ? {} : { headers: answer.headers }
  if (row.status === "failed") {
    const refusal = yield* refusalOf(row)
    if (refusal.kind !== "invalid") {
      yield* answeredLater(call, undefined)
      return yield* refusal
    }
    const refused = { status: statusOf[refusal.kind], body: { ...bodyOf(refusal) }, ...headers }
    yield* answeredLater(call, refused)
    return refused
  }
  const { catalogue, settings } = yield* CommandRuntime
  const now = instantOf(yield* Clock.currentTimeMillis)
  const context = viewContext({ viewer: call.viewer, settings: yield* settings, now, composed: catalogue.composed })
  const final = { status: 201, body: yield* renderOne(documentResource, row, call.request.query, context), ...headers }
  yield* answeredLater(call, final)
  return final
})

/**
 * Middleware outside the idempotency layer: waits until the document is drawn, then replaces the answer stored there by
 * the final one. Until then a repeated request waits as well.
 */
const waitForDocument = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> =>
  call.endpoint.name !== generate.name
    ? next
    : Effect.flatMap(next, (answer) => {
        const id = pendingIn(answer)
        return id === undefined ? Effect.succeed(answer) : answerOnceDrawn(call, answer, id)
      })

/** Middleware that says of a pending document that drawing it failed, and when it is tried again. */
const tellRetry = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> =>
  call.endpoint.name !== "documents.show"
    ? next
    : Effect.flatMap(
        next,
        Effect.fnUntraced(function* (answer) {
          const { document: shown, meta = {} } = isJsonObject(answer.body) ? answer.body : {}
          if (!isJsonObject(shown) || shown["status"] !== "pending" || !isJsonObject(meta)) return answer
          const ids = (["request", "job"] as const).map((kind) => drawJobId(kind, Number(shown["id"])))
          const job = (yield* Store.find(system_jobs, { id: ids })).find(({ error }) => error !== null)
          if (job === undefined) return answer
          const again =
            job.next_attempt_at === null ? "is being tried again" : `is tried again at ${job.next_attempt_at}`
          const warnings = [`Drawing it failed, and ${again}.`]
          return { ...answer, body: { document: shown, meta: { ...meta, warnings } } }
        })
      )

export const documentsServerSlice: ServerSlice = {
  name: "documents_server",
  endpoints: [...linkEndpoints, labelSheet],
  server_tables: [document_link_pins, document_link_tries],
  around: (call, next) =>
    isPublicPage(call.endpoint)
      ? Effect.provideService(next, PublicCall, call)
      : checkedLayouts(call, drawMissing(call, tellRetry(call, next))),
  jobs: [...drawing_jobs, drawCertificate, mailDocument],
  processes: [...drawing_processes, certificateFollows]
}
/** Listed before the idempotency layer: waiting starts after the command was recorded. */
export const documentAnswersSlice: ServerSlice = { name: "document_answers", around: waitForDocument }

/** Documents and their mails with the layouts' texts filled in. */
import { Context, Effect, Stream } from "effect"
import type { DocumentSource, PreparedDocument } from "../../../core/documents/content/invoices.ts"
import type { DocumentRow } from "../../../core/documents/schema.ts"
import { CommandRuntime, invalidField, later, Rejection, Store } from "../../../core/kernel/index.ts"
import type { Failure, Settings } from "../../../core/kernel/index.ts"
import { picturesOf, type PrintDocument } from "../../../core/pricing/print/blocks.ts"
import type { MailDraft } from "../../delivery/mail/compose.ts"
import { queueMail } from "../../delivery/mail/jobs.ts"
import type { DrawingTooLong, DrawingUnavailable, DrawOptions, Renderer, Undrawable } from "../../print/renderer.ts"
import { GivenUp, serverContext } from "../../ports/server-context.ts"

// Draws documents as PDF, without pictures that cannot be read.

/** Pictures of a document by hash. An unreadable logo is left out, as the document matters more. */
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

/** The PDF and the sources it was drawn from, without pictures that are unavailable. */
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

/** Whether the document itself cannot be drawn, so that retrying is useless. */
export const isUndrawable = (failure: unknown): boolean =>
  typeof failure === "object" &&
  failure !== null &&
  "_tag" in failure &&
  (failure._tag === "Undrawable" || failure._tag === "DrawingTooLong")

/** Converts a drawing failure to a rejection: 503 if temporary, else 422. */
export const drawingRefused = (
  failure: Undrawable | DrawingTooLong | DrawingUnavailable
): Effect.Effect<never, Failure> =>
  failure._tag === "DrawingUnavailable"
    ? Effect.fail(new Rejection({ kind: "unavailable", message: failure.message, headers: { "retry-after": "30" } }))
    : Effect.fail(invalidField("document", `It cannot be drawn: ${failure.message}`))

// Prepares documents' content; replaceable in tests.

/** Module that prepares documents' content, loaded with the first drawing. */
export const contents = later(() => import("../../../core/documents/content/prepare.ts"))

export type Prepare = Effect.Success<typeof contents>["prepareDocument"]
export const DocumentPreparation = Context.Reference<Prepare | undefined>("flightcase/DocumentPreparation", {
  defaultValue: () => undefined
})
const preparation: Effect.Effect<Prepare> = Effect.flatMap(DocumentPreparation, (prepare) =>
  prepare === undefined ? Effect.map(contents, ({ prepareDocument }) => prepareDocument) : Effect.succeed(prepare)
)

/** A document prepared from its row; undefined if its source is gone. Repeated attempts have the same date. */
export const preparedAgain = Effect.fnUntraced(function* (document: DocumentRow, settings: Settings) {
  const { created_at, document_number, document_type, documentable_id, store_id } = document
  const source = { document_type, documentable_id, store_id, document_number, now: created_at }
  return yield* (yield* preparation)(source, settings)
})

type Filled = { readonly [place: string]: string }

/**
 * Fills in texts. They were validated on saving; one that fails on these data is treated as empty, as the document
 * matters more than its introduction.
 */
const filledTexts = Effect.fnUntraced(function* (renderer: Pick<Renderer, "texts">, fragments: Filled, data: object) {
  if (Object.keys(fragments).length === 0) return {}
  return yield* renderer.texts(fragments, data).pipe(
    Effect.catchTag("TextInvalid", ({ faults }) => {
      const faulty = new Set(faults.map(({ name }) => name))
      const others = Object.entries(fragments).filter(([name]) => !faulty.has(name))
      return faulty.size === 0 || others.length === 0
        ? Effect.succeed<Filled>({})
        : renderer
            .texts(Object.fromEntries(others), data)
            .pipe(Effect.catchTag("TextInvalid", () => Effect.succeed<Filled>({})))
    })
  )
})

/** The document as blocks, with its texts filled in. */
export const filledDocument = Effect.fnUntraced(function* (prepared: PreparedDocument) {
  const { renderer } = yield* serverContext
  return prepared.compose(yield* filledTexts(renderer, prepared.fragments, prepared.data)) satisfies PrintDocument
})

/** Subject and text of the document's mail, filled in. */
export const filledMail = Effect.fnUntraced(function* ({ data, mail }: PreparedDocument) {
  const { renderer } = yield* serverContext
  const fragments = Object.fromEntries(Object.entries(mail?.fragments ?? {}).filter(([, text]) => text.trim() !== ""))
  const filled: Filled = yield* filledTexts(renderer, fragments, data)
  return {
    subject: filled["mail_subject"]?.replace(/\s+/g, " ").trim() || (mail?.plain.subject ?? ""),
    text: filled["mail_text"]?.trim() ? filled["mail_text"] : (mail?.plain.text ?? "")
  }
})

// Jobs that mail a document.

/** Retry policy of jobs that mail a document, whose data has addresses. */
export const mailing = {
  attempts_max: 8,
  waits_seconds: [5, 60, 300, 1_800, 7_200],
  at_a_time: 1,
  names_people: true
} as const

/** A document's mail. `sender_user_id`: 0 if no user sends it. */
type DocumentDraft = Omit<MailDraft, "sender_user_id"> & { readonly sender_user_id: number }
export const senderOf = ({ sender_user_id }: Pick<DocumentDraft, "sender_user_id">): number | null =>
  sender_user_id === 0 ? null : sender_user_id

/** Gives up the job on faults that only a user can fix: in the document, an address or the settings. */
const endedByFaults = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | GivenUp, R> =>
  Effect.mapError(work, (failure) => {
    if (isUndrawable(failure))
      return new GivenUp({ message: failure instanceof Error ? failure.message : String(failure) })
    return failure instanceof Rejection && failure.kind === "invalid"
      ? new GivenUp({ message: Object.values(failure.errors ?? {}).flat()[0] ?? failure.message })
      : failure
  })

export const queueDocumentMail = Effect.fnUntraced(function* (draft: DocumentDraft, settings: Settings) {
  const queued = yield* Store.transaction(queueMail({ ...draft, sender_user_id: senderOf(draft) }, settings))
  return { mail_job_id: queued.job_id }
}, endedByFaults)

/** Draws a document and queues the mail with it; nothing is mailed if it cannot be drawn. */
export const mailDocument = Effect.fnUntraced(function* <E>(
  source: DocumentSource,
  gone: string,
  draft: Omit<DocumentDraft, "subject" | "text">,
  textsOf: (
    prepared: PreparedDocument,
    settings: Settings
  ) => Effect.Effect<Pick<MailDraft, "subject" | "text">, E, Store>
) {
  const settings = yield* (yield* CommandRuntime).settings
  const prepared = yield* (yield* preparation)(source, settings)
  if (prepared === undefined) return yield* new GivenUp({ message: gone })
  const { bytes } = yield* drawn(yield* filledDocument(prepared), {
    limit_millis: (yield* Effect.promise(() => import("../../print/renderer.ts"))).background_limit_millis
  })
  const attachments = [{ name: `${prepared.file_name}.pdf`, mime_type: "application/pdf", bytes }]
  return yield* queueDocumentMail({ ...draft, ...(yield* textsOf(prepared, settings)), attachments }, settings)
}, endedByFaults)

/**
 * Stores the content a document was drawn from, and draws its PDF again from it: the same bytes, even if the source,
 * branding or logo changed since (rules/billing 3).
 */
import { createHash, randomUUID } from "node:crypto"
import { Data, Effect, Result, Stream } from "effect"
import { document_snapshots, type DocumentRow, type DocumentSnapshotRow } from "../../../core/documents/schema.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { type PrintDocument, readDocument } from "../../../core/pricing/print/blocks.ts"
import type { BlobMissing, BlobStoreFailure, StoredBlob } from "../../ports/blob-store.ts"
import { keepContent } from "../../files/keep.ts"
import { Undrawable } from "../../print/renderer.ts"
import { serverContext } from "../../ports/server-context.ts"

/** The document's PDF is missing and cannot be drawn again. */
class DocumentLost extends Data.TaggedError("DocumentLost")<{ readonly message: string }> {}

const tree_type = "application/json"
/** Maximum size of a stored file, larger than any document within its limits. */
const bytes_max = 256 * 1_024 * 1_024

/** Decodes a stored document. New documents are drawn from this, too, so that drawing again starts from equal data. */
export const readTree = (text: string): Effect.Effect<PrintDocument, Undrawable> =>
  Effect.suspend(() => {
    const parsed: unknown = JSON.parse(text)
    return Result.match(readDocument(parsed), {
      onFailure: (message) => Effect.fail(new Undrawable({ message })),
      onSuccess: (document) => Effect.succeed(document)
    })
  })

type Kept = Pick<DocumentSnapshotRow, "uuid" | "file_name" | "mime_type" | "file_size" | "sha256">
const kept = (blob: StoredBlob, file_name: string, mime_type: string): Kept => ({
  uuid: randomUUID(),
  file_name,
  mime_type,
  file_size: blob.size_bytes,
  sha256: blob.sha256
})
export const keepBytes = (bytes: Uint8Array) => keepContent(Stream.succeed(bytes), bytes_max)

/** Stores the document's content and its pictures, and returns the columns of their rows. */
export const keepSnapshot = Effect.fnUntraced(function* (
  file_name: string,
  tree: string,
  pictures: ReadonlyMap<string, Uint8Array>
) {
  const files: Array<Kept> = [kept(yield* keepBytes(Buffer.from(tree)), `${file_name}.json`, tree_type)]
  for (const [sha256, bytes] of pictures) {
    const blob = yield* keepBytes(bytes)
    files.push(kept(blob, `${sha256.slice(0, 16)}`, blob.mime_type))
  }
  return files
})

const contentOf = Effect.fnUntraced(function* (
  sha256: string
): Effect.fn.Return<Uint8Array, BlobStoreFailure | BlobMissing> {
  const { blobs } = yield* serverContext
  const { content } = yield* blobs.read(sha256)
  return Buffer.concat([...(yield* Stream.runCollect(content))])
})

/** Draws the document again from its stored content. */
export const drawnAgain = Effect.fnUntraced(function* (document_id: number) {
  const rows = yield* Store.find(document_snapshots, { document_id }, { order: ["id"] })
  const tree = rows.find(({ mime_type }) => mime_type === tree_type)
  if (tree === undefined)
    return yield* new DocumentLost({ message: "What this document was drawn from is not known here." })
  const document = yield* readTree(Buffer.from(yield* contentOf(tree.sha256)).toString("utf8"))
  const pictures = new Map<string, Uint8Array>()
  for (const { sha256 } of rows.filter((row) => row !== tree)) pictures.set(sha256, yield* contentOf(sha256))
  const { renderer } = yield* serverContext
  const { background_limit_millis } = yield* Effect.promise(() => import("../../print/renderer.ts"))
  return (yield* renderer.pdf(document, { pictures, limit_millis: background_limit_millis })).bytes
})

type WithPdf = Pick<DocumentRow, "id" | "sha256">
/**
 * The PDF of a document: the stored one, else drawn again and stored. Fails with DocumentLost if the bytes would
 * differ.
 */
export const documentPdf = Effect.fnUntraced(function* ({ id, sha256 }: WithPdf) {
  if (sha256 === null) return yield* new DocumentLost({ message: "This document was not drawn yet." })
  return yield* contentOf(sha256).pipe(
    Effect.catchTag("BlobMissing", () =>
      Effect.gen(function* () {
        const bytes = yield* drawnAgain(id)
        if (createHash("sha256").update(bytes).digest("hex") !== sha256)
          return yield* new DocumentLost({ message: "The PDF is lost, and what is drawn now would be another one." })
        yield* keepBytes(bytes)
        yield* Effect.logWarning("the PDF of a document was missing, and was drawn again", { document_id: id, sha256 })
        return bytes
      })
    )
  )
})
/** Makes sure that the PDF is stored: draws it again if it is missing. */
export const pdfThere = Effect.fnUntraced(function* (row: WithPdf) {
  const { blobs } = yield* serverContext
  if (row.sha256 !== null && !(yield* blobs.has(row.sha256))) yield* documentPdf(row)
})

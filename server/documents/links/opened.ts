/** Resolves a link's token to its document, and reads the parts of the document's page. */
import { timingSafeEqual } from "node:crypto"
import { Effect, Result, Stream } from "effect"
import type { DocumentLinkRow, DocumentRow, DocumentSnapshotRow } from "../../../core/documents/schema.ts"
import { document_links, document_snapshots, documents } from "../../../core/documents/schema.ts"
import { whyNotShared } from "../../../core/documents/links/decide.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { picturesOf, type PrintDocument, readDocument } from "../../../core/pricing/print/blocks.ts"
import { type Settings, settingText } from "../../../core/kernel/events/settings.ts"
import { stores } from "../../../core/setup/stores.ts"
import { zoneOf } from "../../../core/values/time.ts"
import { filesUnavailable } from "../../files/keep.ts"
import { serverContext } from "../../ports/server-context.ts"

export interface Opened {
  readonly link: DocumentLinkRow
  readonly document: DocumentRow & { readonly sha256: string }
}
const equal = (a: string, b: string): boolean => {
  const [one, other] = [Buffer.from(a), Buffer.from(b)]
  return one.length === other.length && timingSafeEqual(one, other)
}
/** The document of a token, "expired", or "gone": unknown, revoked and voided links are not told apart. */
export const openLink = Effect.fnUntraced(function* (token: string, now: string) {
  if (!/^[\w-]{40}$/.test(token)) return "gone" as const
  const link = yield* Store.first(document_links, { token })
  if (link === undefined || !equal(link.token, token)) return "gone" as const
  const document = yield* Store.get(documents, link.document_id)
  if (document === undefined || whyNotShared(document) !== undefined) return "gone" as const
  const { sha256 } = document
  if (sha256 === null) return "gone" as const
  if (link.expires_at !== null && link.expires_at <= now) return "expired" as const
  return { link, document: { ...document, sha256 } } satisfies Opened
})

const contentOf = Effect.fnUntraced(function* (sha256: string) {
  const { blobs } = yield* serverContext
  const { content } = yield* blobs.read(sha256)
  return Buffer.concat([...(yield* Stream.runCollect(content))])
})
export interface Text {
  readonly row: DocumentSnapshotRow
  readonly document: PrintDocument
}
/** The stored content of a document, as it was drawn. Dies if it is missing. */
export const textOf = Effect.fnUntraced(function* (document_id: number) {
  const [row] = yield* Store.find(document_snapshots, { document_id, mime_type: "application/json" }, { limit: 1 })
  if (row === undefined) return yield* Effect.die(new Error(`document ${document_id} has no text`))
  const bytes = yield* Effect.catch(contentOf(row.sha256), filesUnavailable)
  const read = readDocument(JSON.parse(bytes.toString("utf8")))
  if (Result.isFailure(read)) return yield* Effect.die(new Error(`document ${document_id}: ${read.failure}`))
  return { row, document: read.success } satisfies Text
})
/** Pictures of the document by SHA-256; unreadable ones are left out. */
export const picturesFor = Effect.fnUntraced(function* ({ blocks }: PrintDocument) {
  const found = yield* Effect.forEach(picturesOf(blocks), (sha256) =>
    Effect.map(
      Effect.catch(contentOf(sha256), () => Effect.succeed(undefined)),
      (bytes) => [sha256, bytes] as const
    )
  )
  return new Map(found.flatMap(([sha256, bytes]) => (bytes === undefined ? [] : [[sha256, bytes] as const])))
})

/** Time zone for a document's dates: the store's, else the company's. */
export const zoneFor = Effect.fnUntraced(function* (store_id: number | null, settings: Settings) {
  const place = store_id === null ? undefined : yield* Store.get(stores, store_id)
  return zoneOf(place?.timezone || settingText(settings, "company", "timezone"))
})

/** Public links of documents: callers, PIN hashes (scrypt with salt), tokens, mail data, recipients. */
import { Context, Effect, Result, Schema, Stream } from "effect"
import { filesUnavailable } from "../../files/downloads.ts"
import { type Headers, serverContext } from "../../ports/server-context.ts"
import { integer, plainTable, settingText, Store, text, timestamp } from "../../../core/kernel/index.ts"
import type { Settings, StoreRead } from "../../../core/kernel/index.ts"
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import type { DocumentLinkRow, DocumentRow, DocumentSnapshotRow } from "../../../core/documents/schema.ts"
import { document_links, document_snapshots, documents } from "../../../core/documents/schema.ts"
import { billingTypeIds, chosenContact } from "../../../core/billing/state/parties.ts"
import { credit_notes, invoices } from "../../../core/billing/state/tables.ts"
import { emails } from "../../../core/people/members/schema.ts"
import { opportunities } from "../../../core/orders/opportunities/tables/index.ts"
import { purchase_orders } from "../../../core/purchasing/schema.ts"
import { whyNotShared } from "../../../core/documents/links/decide.ts"
import { picturesOf, type PrintDocument, readDocument } from "../../../core/pricing/print/blocks.ts"
import { stores } from "../../../core/setup/stores.ts"
import { zoneOf } from "../../../core/values/time.ts"

/** Maximum size of a form at a public URL, in bytes; most of it is a drawn signature. */
export const form_bytes_max = 196_608

// Caller of a public link. Endpoints usually do not receive it, as they have a token.

export interface PublicCallShape {
  readonly headers: Headers
  readonly remote_address: string
}
/** Data of the calling request; the slice provides it to every endpoint below /d. */
export const PublicCall = Context.Reference<PublicCallShape>("flightcase/server/PublicCall", {
  defaultValue: () => {
    throw new Error("this endpoint is not below /d")
  }
})
export const headerOf = ({ headers }: PublicCallShape, name: string): string => {
  const value = headers[name]
  return typeof value === "string" ? value : (value?.join(", ") ?? "")
}

// Data of public links outside the journal: hashes of PINs, and wrong attempts.

const link_id = () => integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
export const document_link_pins = plainTable(
  "document_link_pins",
  "link_id",
  {
    link_id: link_id(),
    /** Hash of the PIN with its salt and parameters. */
    hash: text({ secret: true, max: 255 })
  },
  { entity: "document_link_pin" }
)
/**
 * An attempt is recorded before its PIN is checked, and removed if it was right, so that servers together allow no
 * extra attempt.
 */
export const document_link_tries = plainTable(
  "document_link_tries",
  "key",
  { key: text({ max: 36 }), link_id: link_id(), network: text({ max: 64 }), tried_at: timestamp() },
  { entity: "document_link_try", indexes: [["link_id"], ["tried_at"]] }
)

const cost = 16_384
const key_bytes = 32

const derived = (pin: string, salt: Buffer, N: number): Effect.Effect<Buffer> =>
  Effect.callback((resume) => {
    scrypt(pin, salt, key_bytes, { N, r: 8, p: 1 }, (cause, key) =>
      resume(cause === null ? Effect.succeed(key) : Effect.die(cause))
    )
  })

export const hashPin = (pin: string): Effect.Effect<string> =>
  Effect.suspend(() => {
    const salt = randomBytes(16)
    return Effect.map(
      derived(pin, salt, cost),
      (key) => `scrypt.${cost}.${salt.toString("base64url")}.${key.toString("base64url")}`
    )
  })
/** Compares a PIN with its hash. Takes equally long for right and wrong PINs, and without a hash. */
export const isPin = (pin: string, kept: string | undefined): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    const [form, given_cost, salt, key] = (kept ?? "").split(".")
    const right = Buffer.from(key ?? "", "base64url")
    const is_known = form === "scrypt" && right.length === key_bytes && Number(given_cost) === cost
    return Effect.map(
      derived(pin, Buffer.from(salt ?? "", "base64url"), cost),
      (tried) => timingSafeEqual(tried, is_known ? right : Buffer.alloc(key_bytes)) && is_known
    )
  })

// The public link of a document.

export const linkOf = (document_id: number): StoreRead<DocumentLinkRow | undefined> =>
  Store.first(document_links, { document_id })
// Data of the job that mails a document.

export const documentMail = Schema.Struct({
  /** Id of the message: a repeated request sends a second message. */
  id: Schema.String,
  document_id: Schema.Int,
  to: Schema.Array(Schema.String),
  cc: Schema.Array(Schema.String),
  /** Subject as given; null for the layout's. */
  subject: Schema.NullOr(Schema.String),
  message: Schema.NullOr(Schema.String),
  attach_pdf: Schema.Boolean,
  share: Schema.Boolean,
  sender_user_id: Schema.Int
})
export type DocumentMail = typeof documentMail.Type

// Recipient of a document's mail.

const memberOf = ({ documentable_id, documentable_type }: DocumentRow): StoreRead<number | null | undefined> =>
  Effect.gen(function* () {
    switch (documentable_type) {
      case "Opportunity":
        return (yield* Store.get(opportunities, documentable_id))?.member_id
      case "Invoice":
        return (yield* Store.get(invoices, documentable_id))?.member_id
      case "CreditNote": {
        const note = yield* Store.get(credit_notes, documentable_id)
        return note === undefined ? undefined : (yield* Store.get(invoices, note.invoice_id))?.member_id
      }
      case "PurchaseOrder":
        return (yield* Store.get(purchase_orders, documentable_id))?.supplier_id
    }
  })
/** The customer's or supplier's address: of billing documents the billing address, else the primary, else the first. */
export const customerOf = Effect.fnUntraced(function* (document: DocumentRow): Store.Reads<string | undefined> {
  const member_id = yield* memberOf(document)
  if (member_id === null || member_id === undefined) return undefined
  const rows = yield* Store.find(emails, { member_id }, { order: ["id"] })
  const is_bill = document.documentable_type === "Invoice" || document.documentable_type === "CreditNote"
  return chosenContact(rows, is_bill ? yield* billingTypeIds : new Set())?.address
})

// Resolves a link's token to its document, and reads the parts of the document's page.

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
/** The stored content of a document, as it was drawn. Dies without a row; 410 or 503 if the file cannot be read. */
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

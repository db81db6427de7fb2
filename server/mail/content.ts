/** The content of attachments, and the message as the mail library takes it. */
import { createHash } from "node:crypto"
import { Readable } from "node:stream"
import { Effect, type Scope, Stream } from "effect"
import type { SendMailOptions } from "nodemailer"
import type { BlobMissing, BlobStoreFailure } from "../files/blob-store.ts"
import { serverContext } from "../server-context.ts"
import type { Attached, Mailbox, MailMessage } from "./message.ts"

/** The same bytes for the same message: headers, order and boundaries are all settled by it. */
export const composed = Effect.fnUntraced(function* (
  message: MailMessage
): Effect.fn.Return<SendMailOptions, BlobMissing | BlobStoreFailure, Scope.Scope> {
  const attachments = yield* Effect.forEach(message.attachments, (one) =>
    Effect.map(contentOf(one), (content) => ({
      filename: one.name,
      contentType: one.mime_type,
      contentDisposition: "attachment" as const,
      content
    }))
  )
  return {
    messageId: message.message_id,
    date: new Date(message.written_at),
    from: boxFor(message.from),
    to: message.to.map(boxFor),
    cc: message.cc.map(boxFor),
    bcc: message.bcc.map(boxFor),
    ...(message.reply_to === null ? {} : { replyTo: boxFor(message.reply_to) }),
    subject: message.subject,
    text: message.text,
    ...(message.html === null ? {} : { html: message.html }),
    attachments,
    headers: { "Auto-Submitted": "auto-generated" },
    xMailer: false,
    envelope: { from: message.return_path === "" ? false : message.return_path, to: [...message.recipients] },
    baseBoundary: createHash("sha256").update(message.message_id).digest("hex").slice(0, 32),
    disableFileAccess: true,
    disableUrlAccess: true
  }
})
const boxFor = ({ name, address }: Mailbox): { name: string; address: string } => ({ name, address })

/** A stream that is closed when the scope is: whoever sends it may give up before its end. */
const contentOf = Effect.fnUntraced(function* ({
  content
}: Attached): Effect.fn.Return<Buffer | Readable, BlobMissing | BlobStoreFailure, Scope.Scope> {
  if ("base64" in content) return Buffer.from(content.base64, "base64")
  const { blobs } = yield* serverContext
  const found = yield* blobs.read(content.sha256)
  return yield* Effect.acquireRelease(
    Effect.sync(() => {
      const stream = Readable.from(Stream.toAsyncIterable(found.content), { objectMode: false })
      // Whoever reads it is told; destroyed early, nobody is left to hear of it.
      stream.on("error", () => {})
      return stream
    }),
    (stream) => Effect.sync(() => void stream.destroy())
  )
})

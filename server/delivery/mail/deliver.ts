/** One attempt to send a message: to the mail server, or to the outbox without one. */
import { createHash, createPrivateKey } from "node:crypto"
import { Readable } from "node:stream"
import { Data, Effect, type Scope, Stream } from "effect"
import type { SendMailOptions } from "nodemailer"
import type { BlobMissing, BlobStoreFailure } from "../../ports/blob-store.ts"
import { GivenUp, serverContext } from "../../ports/server-context.ts"
import type { Attached, Mailbox, MailMessage, Refusal } from "./compose.ts"
import { createWriteStream } from "node:fs"
import { mkdir, open, rename, rm } from "node:fs/promises"
import { basename, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { CommandRuntime, settingText, type Failure, type JsonObject, type Store } from "../../../core/kernel/index.ts"
import { secretSetting } from "../../../core/setup/settings/secrets.ts"
import { mailServer, MailTransport } from "./transport.ts"

// Loads attachments and builds the message in the mail library's format.

/**
 * Builds the message deterministically: headers, order and boundaries are fixed, so that every attempt sends equal
 * bytes.
 */
const composed = Effect.fnUntraced(function* (
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

/** The bytes, or a stream that closes with its scope, as the sender may stop early. */
const contentOf = Effect.fnUntraced(function* ({
  content
}: Attached): Effect.fn.Return<Buffer | Readable, BlobMissing | BlobStoreFailure, Scope.Scope> {
  if ("base64" in content) return Buffer.from(content.base64, "base64")
  const { blobs } = yield* serverContext
  const found = yield* blobs.read(content.sha256)
  return yield* Effect.acquireRelease(
    Effect.sync(() => {
      const stream = Readable.from(Stream.toAsyncIterable(found.content), { objectMode: false })
      // Read errors reach the reader; after an early destroy there is no reader to report to.
      stream.on("error", () => {})
      return stream
    }),
    (stream) => Effect.sync(() => void stream.destroy())
  )
})

// Outbox of a server without a mail server: one file per message, for sending by other means.

/** File name of a message, sortable by time. A second attempt has the same name and replaces the file. */
const outboxName = ({ id, written_at }: Pick<MailMessage, "id" | "written_at">): string => {
  const plain = id.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "")
  // Ids that are too long, or differ only in special characters, get a hash.
  const named = plain === id && id.length <= 120 ? id : `${plain.slice(0, 100)}.${hashOf(id)}`
  return `${written_at.replace(/[:.]/g, "-")}-${named}.eml`
}
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 12)

/**
 * Writes the message as sent, plus its Bcc, which is recorded nowhere else. Atomic; readable by the server's account
 * only.
 */
const writeToOutbox = async (folder: string, name: string, message: SendMailOptions): Promise<string> => {
  const { default: MailComposer } = await import("nodemailer/lib/mail-composer")
  const node = new MailComposer(message).compile()
  node.keepBcc = true
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, name)
  const temporary = `${path}.${process.pid}.tmp`
  try {
    // Flushed to disk before the rename.
    await pipeline(node.createReadStream(), createWriteStream(temporary, { mode: 0o600, flush: true }))
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  const directory = await open(folder, "r")
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
  return path
}

// Signatures of the sender's domain (DKIM), if the settings hold a key.

interface Signing {
  readonly domainName: string
  readonly keySelector: string
  readonly privateKey: string
}

/** Signing key and domain; undefined if messages are not signed, an error text if the settings are invalid. */
const signing: Effect.Effect<Signing | string | undefined, Failure, Store | CommandRuntime> = Effect.gen(function* () {
  const settings = yield* (yield* CommandRuntime).settings
  const domainName = settingText(settings, "mail", "dkim_domain")
  const keySelector = settingText(settings, "mail", "dkim_selector")
  const privateKey = yield* secretSetting("mail", "dkim_private_key")
  if (domainName === "" || keySelector === "" || privateKey === undefined) return undefined
  if (![domainName, keySelector].every((one) => /^[A-Za-z0-9.-]+$/.test(one)))
    return "The settings mail.dkim_domain and mail.dkim_selector must be names of the DNS."
  // The library sends unsigned if the key is invalid.
  return isRsaKey(privateKey)
    ? { domainName, keySelector, privateKey }
    : "The setting mail.dkim_private_key must be an RSA private key as PEM, without a passphrase."
})
const isRsaKey = (text: string): boolean => {
  try {
    return createPrivateKey(text).asymmetricKeyType === "rsa"
  } catch {
    return false
  }
}

/** Failure of an attempt that reached no recipient and is to be retried. */
class MailDeferred extends Data.TaggedError("MailDeferred")<{ readonly message: string }> {}

/** Outcome of an attempt; `remaining` recipients are retried in a separate job. */
export interface Delivered {
  readonly result: JsonObject
  readonly refused: ReadonlyArray<Refusal>
  /** Recipients to retry in another job. */
  readonly remaining: ReadonlyArray<Refusal>
  /** Error text if no recipient accepted the message and none remains: the job has failed. */
  readonly failure: string | undefined
}

type Needs = Store | CommandRuntime | MailTransport | Scope.Scope

export const deliver = Effect.fnUntraced(function* (
  message: MailMessage
): Effect.fn.Return<Delivered, MailDeferred | GivenUp | Failure, Needs> {
  const found = yield* mailServer
  if ("fault" in found) return yield* new MailDeferred({ message: found.fault })
  const content = yield* Effect.catchTags(composed(message), {
    BlobMissing: () => new GivenUp({ message: "An attachment's file is gone: nothing was sent." }),
    BlobStoreFailure: (failure) => new MailDeferred({ message: `An attachment cannot be read: ${failure.message}` })
  })
  if (found.mode === "outbox") return yield* intoOutbox(message, content)
  const dkim = yield* signing
  if (typeof dkim === "string") return yield* new MailDeferred({ message: dkim })
  return yield* bySmtp(message, dkim === undefined ? content : { ...content, dkim }, found.server)
})

const intoOutbox = Effect.fnUntraced(function* (message: MailMessage, content: Content) {
  const { data_folder } = yield* serverContext
  if (data_folder === undefined)
    return yield* new MailDeferred({ message: "There is neither a mail server nor a data folder for the outbox." })
  const path = yield* Effect.tryPromise({
    try: () => writeToOutbox(join(data_folder, "outbox"), outboxName(message), content),
    catch: (error) => new MailDeferred({ message: `The outbox cannot be written: ${messageOf(error)}` })
  })
  return {
    result: {
      delivered_to: "outbox",
      file: `outbox/${basename(path)}`,
      message_id: message.message_id,
      recipients: [...message.recipients]
    },
    refused: [],
    remaining: [],
    failure: undefined
  } satisfies Delivered
})
type Content = Effect.Success<ReturnType<typeof composed>>
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const bySmtp = Effect.fnUntraced(function* (
  message: MailMessage,
  content: Content,
  server: Extract<Effect.Success<typeof mailServer>, { readonly server: unknown }>["server"]
): Effect.fn.Return<Delivered, MailDeferred, MailTransport> {
  const outcome = yield* (yield* MailTransport).send(server, content, message.recipients)
  if (outcome.kind === "later") return yield* new MailDeferred({ message: outcome.text })
  const { refused } = outcome
  const remaining = outcome.kind === "refused" ? [] : outcome.deferred
  const accepted = outcome.kind === "taken" ? outcome.accepted : []
  return {
    result: {
      delivered_to: accepted.length === 0 ? null : "smtp",
      message_id: message.message_id,
      accepted: [...accepted],
      refused: refused.map((one) => ({ ...one })),
      deferred: remaining.map((one) => ({ ...one })),
      ...(outcome.kind === "taken" ? { response: outcome.response } : {})
    },
    refused,
    remaining,
    failure: outcome.kind === "refused" ? outcome.text : undefined
  }
})

/** One attempt to hand a message over: to the mail server, or to the outbox where there is none. */
import { basename, join } from "node:path"
import { Data, Effect, type Scope } from "effect"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import { GivenUp } from "../jobs/job-kind.ts"
import { serverContext } from "../server-context.ts"
import { composed } from "./content.ts"
import type { MailMessage, Refusal } from "./message.ts"
import { outboxName, writeToOutbox } from "./outbox.ts"
import { type MailServer, mailServer } from "./server-setting.ts"
import { signing } from "./signing.ts"
import { MailTransport } from "./transport.ts"

/** Not delivered, and to be tried again. */
export class MailDeferred extends Data.TaggedError("MailDeferred")<{ readonly message: string }> {}

/** What came of an attempt that is not to be repeated as it was. */
export interface Delivered {
  readonly result: JsonObject
  readonly refused: ReadonlyArray<Refusal>
  /** Whom another attempt is still to reach. */
  readonly remaining: ReadonlyArray<Refusal>
  /** Nobody got it: the job has failed for good. */
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
  server: Extract<MailServer, { readonly server: unknown }>["server"]
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

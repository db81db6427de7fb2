/**
 * Connections to the mail server: two at most, kept for a while, and reopened when its address changes. The mail
 * library is loaded with the first message.
 */
import { Cause, Context, Effect, Option, Result, Schema } from "effect"
import { printableLine } from "../../../core/values/text.ts"
import type { Refusal } from "./compose.ts"
import type { SendMailOptions } from "nodemailer"
import { parseSmtpUrl, type SmtpServer } from "../../../core/values/mail-address.ts"
import { CommandRuntime, type Failure, Store } from "../../../core/kernel/index.ts"
import { secret_settings, secretSetting, unreadableSecrets } from "../../../core/setup/settings/secrets.ts"
import { serverContext } from "../../ports/server-context.ts"

// Interprets responses of mail servers: 4xx and connection errors are temporary, 5xx permanent. Wrong passwords and
// certificates are our fault, so the message waits.

export type Outcome =
  | {
      readonly kind: "taken"
      readonly accepted: ReadonlyArray<string>
      readonly refused: ReadonlyArray<Refusal>
      readonly deferred: ReadonlyArray<Refusal>
      readonly response: string
    }
  | { readonly kind: "refused"; readonly refused: ReadonlyArray<Refusal>; readonly text: string }
  /** Some recipients permanently refused, the others to be retried. */
  | { readonly kind: "split"; readonly refused: ReadonlyArray<Refusal>; readonly deferred: ReadonlyArray<Refusal> }
  | { readonly kind: "later"; readonly text: string }

const optional = Schema.optional
const text = optional(Schema.Unknown)
const refusedRecipient = Schema.Struct({
  recipient: Schema.String,
  responseCode: optional(Schema.Unknown),
  response: text
})
const failure = Schema.Struct({
  message: text,
  code: text,
  response: text,
  responseCode: optional(Schema.Unknown),
  rejectedErrors: optional(Schema.Array(refusedRecipient))
})
const sent = Schema.Struct({
  accepted: Schema.Array(Schema.String),
  rejectedErrors: optional(Schema.Array(refusedRecipient)),
  response: text
})
const readFailure = Schema.decodeUnknownOption(failure)
const readSent = Schema.decodeUnknownOption(sent)

/** Outcome if the server accepted the message for at least one recipient. */
const outcomeOfSent = (info: unknown): Outcome => {
  const read = readSent(info)
  if (Option.isNone(read)) return { kind: "later", text: "The mail server's answer was not understood." }
  const { accepted, rejectedErrors = [], response } = read.value
  return { kind: "taken", accepted, ...divided(rejectedErrors), response: shown(response) }
}

/** Outcome if the server accepted it for no recipient or was not reached. */
const outcomeOfFailure = (error: unknown, recipients: ReadonlyArray<string>): Outcome => {
  const read = Option.getOrElse(readFailure(error), (): typeof failure.Type => ({ message: String(error) }))
  const code = codeOf(read.responseCode)
  const words = shown(read.response ?? read.message)
  const [about_connection] = connectionTexts.find(([, codes]) => codes.includes(String(read.code))) ?? []
  if (about_connection !== undefined || (code !== null && login_codes.has(code)))
    return { kind: "later", text: `${about_connection ?? "The mail server wants a login or encryption"}: ${words}` }
  const { refused, deferred } = divided(read.rejectedErrors ?? [])
  if (refused.length > 0 && deferred.length > 0) return { kind: "split", refused, deferred }
  if (refused.length > 0)
    return { kind: "refused", refused, text: `The mail server refused ${addressesIn(refused)}: ${words}` }
  if (deferred.length > 0) return { kind: "later", text: `The mail server deferred ${addressesIn(deferred)}: ${words}` }
  const is_final = code === null ? read.code === "EMESSAGE" || read.code === "EENVELOPE" : isFinal(code)
  return is_final
    ? {
        kind: "refused",
        refused: recipients.map((address) => ({ address, code, text: words })),
        text: `The mail server refused the message: ${words}`
      }
    : { kind: "later", text: `The mail server did not take the message: ${words}` }
}

/** Texts for connection faults, which are not the message's fault. */
const connectionTexts: ReadonlyArray<readonly [text: string, codes: ReadonlyArray<string>]> = [
  ["The mail server did not accept the user name and password", ["EAUTH", "ENOAUTH", "EOAUTH2"]],
  ["The connection to the mail server could not be encrypted", ["ETLS", "EREQUIRETLS"]],
  ["The mail server could not be found", ["EDNS"]],
  ["The mail server could not be reached", ["ECONNECTION", "ESOCKET"]],
  ["The mail server did not answer in time", ["ETIMEDOUT", "EABORT"]]
]
/** Response codes for missing, failed or too weak authentication, which is not the message's fault. */
const login_codes: ReadonlySet<number> = new Set([530, 534, 535, 538])
/** Whether a response code is permanent. 503 is about the order of commands: another connection may work. */
const isFinal = (code: number | null): boolean => code !== null && code >= 500 && code < 600 && code !== 503

const divided = (
  errors: ReadonlyArray<typeof refusedRecipient.Type>
): { readonly refused: ReadonlyArray<Refusal>; readonly deferred: ReadonlyArray<Refusal> } => {
  const all = errors.map(({ recipient, responseCode, response }): Refusal => ({
    address: recipient,
    code: codeOf(responseCode),
    text: shown(response)
  }))
  return { refused: all.filter(({ code }) => isFinal(code)), deferred: all.filter(({ code }) => !isFinal(code)) }
}
const addressesIn = (refusals: ReadonlyArray<Refusal>): string => refusals.map(({ address }) => address).join(", ")
const codeOf = (given: unknown): number | null => (Number.isInteger(given) ? Number(given) : null)
const shown = (given: unknown): string => (typeof given === "string" ? printableLine(given).slice(0, 500) : "")

interface MailTransportShape {
  /** Sends a message. Never fails: errors are outcomes. */
  readonly send: (
    server: SmtpServer,
    message: SendMailOptions,
    recipients: ReadonlyArray<string>
  ) => Effect.Effect<Outcome>
  /** Connects and logs in, without sending; returns the reason if that fails, else undefined. */
  readonly check: (server: SmtpServer) => Effect.Effect<string | undefined>
  readonly close: Effect.Effect<void>
}
export class MailTransport extends Context.Service<MailTransport, MailTransportShape>()(
  "flightcase/server/MailTransport"
) {}

interface MailWaits {
  /** Time limit for connecting, greeting and encryption. */
  readonly connect_millis: number
  /** Time limit without data from the server, which may scan a long message first. */
  readonly silence_millis: number
  /** Total time limit per message, however slow the server. */
  readonly whole_millis: number
}
const usual_waits: MailWaits = { connect_millis: 30_000, silence_millis: 300_000, whole_millis: 900_000 }
const check_millis = 10_000
const connections_max = 2
/** Idle time after which connections are closed; shorter than any mail server's limit. */
const idle_millis = 20_000

interface Pool {
  readonly server: string
  readonly send: (message: SendMailOptions) => Promise<unknown>
  readonly verify: () => Promise<unknown>
  readonly close: () => void
}

export const makeMailTransport = (waits: MailWaits = usual_waits): MailTransportShape => {
  let pool: Pool | undefined
  const poolFor = async (server: SmtpServer): Promise<Pool> => {
    const key = JSON.stringify(server)
    if (pool?.server !== key) {
      pool?.close()
      pool = undefined
      const opened = await openPool(server, key, waits)
      // Another message may have opened it meanwhile.
      if (pool === undefined) pool = opened
      else opened.close()
    }
    return pool
  }
  return {
    send: (server, message, recipients) =>
      Effect.tryPromise({
        try: async (signal) => (await poolFor(server)).send({ ...message, signal }),
        catch: (error) => error
      }).pipe(
        Effect.timeout(waits.whole_millis),
        Effect.match({
          onSuccess: outcomeOfSent,
          onFailure: (error) =>
            Cause.isTimeoutError(error)
              ? { kind: "later", text: "The mail server did not take the message in time." }
              : outcomeOfFailure(error, recipients)
        })
      ),
    check: (server) =>
      Effect.tryPromise({ try: async () => (await poolFor(server)).verify(), catch: (error) => error }).pipe(
        Effect.timeout(check_millis),
        Effect.match({
          onSuccess: () => undefined,
          onFailure: (error) => {
            if (Cause.isTimeoutError(error)) return "The mail server did not answer in time."
            const outcome = outcomeOfFailure(error, [])
            return "text" in outcome ? outcome.text : "The mail server refused the connection."
          }
        })
      ),
    close: Effect.sync(() => {
      pool?.close()
      pool = undefined
    })
  }
}

const openPool = async (server: SmtpServer, key: string, waits: MailWaits): Promise<Pool> => {
  const { default: SMTPPool } = await import("nodemailer/lib/smtp-pool")
  const { createTransport } = await import("nodemailer")
  const { connect_millis, silence_millis } = waits
  const transporter = createTransport(
    new SMTPPool({
      host: server.host,
      port: server.port,
      secure: server.tls === "start",
      requireTLS: server.tls === "starttls",
      ignoreTLS: server.tls === "off",
      tls: { rejectUnauthorized: server.checks_certificate },
      ...(server.login === undefined
        ? {}
        : // Login is required even if the server does not advertise it: no message is sent without it.
          { auth: { user: server.login.user, pass: server.login.password }, forceAuth: true }),
      maxConnections: connections_max,
      idleTimeout: idle_millis,
      // The job retries; one requeue covers a kept connection that had ended.
      maxRequeues: 1,
      connectionTimeout: connect_millis,
      greetingTimeout: connect_millis,
      dnsTimeout: connect_millis,
      socketTimeout: silence_millis,
      socketCloseTimeout: 1_000,
      disableFileAccess: true,
      disableUrlAccess: true
    })
  )
  return {
    server: key,
    send: (message) => transporter.sendMail(message),
    verify: () => transporter.verify(),
    close: () => transporter.close()
  }
}

// The mail server of the environment, else of the settings, else none.

/** `smtp`: mail is sent. `outbox`: mail is only written to a file in the data folder. */
type MailMode = "smtp" | "outbox"

type MailServer =
  | { readonly mode: "smtp"; readonly server: SmtpServer; readonly from: "environment" | "setting" }
  | { readonly mode: "outbox" }
  /** The configured mail server is invalid; nothing is sent until it is corrected. */
  | { readonly mode: "smtp"; readonly fault: string }

/**
 * The configured mail server. The environment takes precedence: a trial with a copy of the data must not write to real
 * customers through the server in the copied settings.
 */
export const mailServer: Effect.Effect<MailServer, Failure, Store | CommandRuntime> = Effect.gen(function* () {
  const { outside } = yield* serverContext
  return mailServerAt(outside.smtp_url, outside.smtp_url ?? (yield* secretSetting("mail", "smtp_url")))
})
const mailServerAt = (environment: string | undefined, url: string | undefined): MailServer => {
  if (url === undefined) return { mode: "outbox" }
  const from = environment === undefined ? "setting" : "environment"
  const named = from === "environment" ? "FLIGHTCASE_SMTP_URL" : "The setting mail.smtp_url"
  return Result.match(parseSmtpUrl(url), {
    onSuccess: (server): MailServer => ({ mode: "smtp", server, from }),
    onFailure: (fault): MailServer => ({ mode: "smtp", fault: `${named} must ${fault}` })
  })
}
/** Mode of messages queued now, for responses. */
export const mailMode: Effect.Effect<MailMode, Failure, Store | CommandRuntime> = Effect.map(
  mailServer,
  ({ mode }) => mode
)
/** Confirmation for the sending user; says if the message is only written to the outbox. */
export const queuedText = (subject: string, mode: MailMode, to: string): string =>
  mode === "smtp"
    ? `${subject} is on its way to ${to}.`
    : `No mail server is set: the message to ${to} is written to the outbox folder and not sent. ` +
      "flightcase setup --smtp URL sets one."
/** The mode, whether messages leave in it now, and what is said of one; refuses nothing, as the message is queued. */
export const queuedNow = Effect.fnUntraced(function* (
  subject: string,
  to: string
): Store.Reads<{ readonly mode: MailMode; readonly leaves: boolean; readonly text: string }> {
  const { outside } = yield* serverContext
  const row = outside.smtp_url === undefined ? yield* Store.get(secret_settings, "mail.smtp_url") : undefined
  const secret = row && (yield* CommandRuntime.ifAny)?.secrets?.open(row.sealed)
  const server: MailServer =
    row !== undefined && secret === undefined
      ? { mode: "smtp", fault: unreadableSecrets([row.key]) }
      : mailServerAt(outside.smtp_url, outside.smtp_url ?? secret)
  const { mode } = server
  return "fault" in server
    ? { mode, leaves: false, text: `${subject} waits to be sent to ${to}: ${server.fault}` }
    : { mode, leaves: mode === "smtp", text: queuedText(subject, mode, to) }
})

/**
 * The connections to the mail server: two at most, kept for a while, and made anew when its address changes. The mail
 * library is loaded with the first message.
 */
import { Cause, Context, Effect } from "effect"
import type { SendMailOptions } from "nodemailer"
import { type Outcome, outcomeOfFailure, outcomeOfSent } from "./outcome.ts"
import type { SmtpServer } from "../../core/values/smtp-url.ts"

export interface MailTransportShape {
  /** Never fails: what went wrong is an outcome. */
  readonly send: (
    server: SmtpServer,
    message: SendMailOptions,
    recipients: ReadonlyArray<string>
  ) => Effect.Effect<Outcome>
  readonly close: Effect.Effect<void>
}
export class MailTransport extends Context.Service<MailTransport, MailTransportShape>()(
  "flightcase/server/MailTransport"
) {}

export interface MailWaits {
  /** To connect, be greeted and encrypt. */
  readonly connect_millis: number
  /** Without a byte from the server, which may look through a long message before it answers. */
  readonly silence_millis: number
  /** For one message, however slowly the server goes on. */
  readonly whole_millis: number
}
const usual_waits: MailWaits = { connect_millis: 30_000, silence_millis: 300_000, whole_millis: 900_000 }
const connections_max = 2
/** Less than any mail server waits for the next message. */
const idle_millis = 20_000

interface Pool {
  readonly server: string
  readonly send: (message: SendMailOptions) => Promise<unknown>
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
        : // Asked for even where the server does not say that it takes one: never a message without the login.
          { auth: { user: server.login.user, pass: server.login.password }, forceAuth: true }),
      maxConnections: connections_max,
      idleTimeout: idle_millis,
      // Trying again is the job's business; once for a kept connection that had ended by then.
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
  return { server: key, send: (message) => transporter.sendMail(message), close: () => transporter.close() }
}

/** Which mail server there is: that of the environment, else that of the settings, else none. */
import { Effect, Result } from "effect"
import { CommandRuntime } from "../../../core/kernel/endpoints/endpoint.ts"
import type { Failure, Store } from "../../../core/kernel/store/store.ts"
import { secretSetting } from "../../../core/setup/settings/secrets.ts"
import { serverContext } from "../../ports/server-context.ts"
import { parseSmtpUrl, type SmtpServer } from "../../../core/values/mail-address.ts"

/** `smtp`: it is sent. `outbox`: it is written to a file in the data folder, and sent by nobody. */
export type MailMode = "smtp" | "outbox"

export type MailServer =
  | { readonly mode: "smtp"; readonly server: SmtpServer; readonly from: "environment" | "setting" }
  | { readonly mode: "outbox" }
  /** Somebody set a mail server, but wrongly: nothing is sent until it is set right. */
  | { readonly mode: "smtp"; readonly fault: string }

/**
 * The environment comes first: a trial with a copy of the business must not write to its customers because the copy's
 * settings name the real mail server.
 */
export const mailServer: Effect.Effect<MailServer, Failure, Store | CommandRuntime> = Effect.gen(function* () {
  const { outside } = yield* serverContext
  const from = outside.smtp_url === undefined ? "setting" : "environment"
  const url = outside.smtp_url ?? (yield* secretSetting("mail", "smtp_url"))
  if (url === undefined) return { mode: "outbox" }
  const named = from === "environment" ? "FLIGHTCASE_SMTP_URL" : "The setting mail.smtp_url"
  return Result.match(parseSmtpUrl(url), {
    onSuccess: (server): MailServer => ({ mode: "smtp", server, from }),
    onFailure: (fault): MailServer => ({ mode: "smtp", fault: `${named} must ${fault}` })
  })
})
/** What becomes of a message that is queued now, for the answer of whoever asked for it. */
export const mailMode: Effect.Effect<MailMode, Failure, Store | CommandRuntime> = Effect.map(
  mailServer,
  ({ mode }) => mode
)

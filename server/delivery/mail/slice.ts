/** Mail on the server: jobs, connections, and the test message. */
import { randomUUID } from "node:crypto"
import { Context, Effect, Result, Schema } from "effect"
import { choice, command, CommandRuntime, invalidField, ref, Store, text } from "../../../core/kernel/index.ts"
import type { Failure, Input } from "../../../core/kernel/index.ts"
import { users } from "../../../core/people/users/permissions.ts"
import { accepted, accepted_shown } from "../jobs/api.ts"
import type { ServerSlice } from "../../ports/server-slice.ts"
import { mail_secrets, queueMail, sendMail, tellOfRefusal } from "./jobs.ts"
import { mailMode, MailTransport, makeMailTransport, queuedText } from "./transport.ts"

const modes = choice({ smtp: "Sent by the mail server", outbox: "Written to a file, not sent" })
const fields = {
  to: text({ format: "email", describe: "Recipient; by default the caller's own address" }),
  store_id: ref("stores", { nullable: true, describe: "Store whose sender to use, instead of the company's" })
}

const test = command("POST", "/api/v1/system/mail/test", {
  answer: { ...accepted_shown, mode: modes },
  name: "system.mail.test",
  summary: "Send a message to test the mail settings; its job reports the result",
  ability: "settings:write",
  permission: "settings.manage",
  server_only: true,
  success_status: 202,
  fields,
  streams: () => [],
  facts: ({ values, viewer }: Input<{}, typeof fields>): Effect.Effect<Facts, Failure, Store | CommandRuntime> =>
    Effect.gen(function* () {
      const to = values.to ?? (yield* Store.get(users, viewer.user_id))?.email ?? ""
      return { to, store_id: values.store_id ?? null, mode: yield* mailMode }
    }),
  decide: ({ to, store_id, mode }: Facts) =>
    to === ""
      ? Result.fail(invalidField("to", "Say whom to send it to: your own account has no e-mail address."))
      : Result.succeed({ events: [], result: { to, store_id, mode } }),
  result: Schema.Struct({
    to: Schema.String,
    store_id: Schema.NullOr(Schema.Int),
    mode: Schema.Literals(["smtp", "outbox"])
  }),
  // Within the transaction.
  respond: ({ to, store_id, mode }, { settings, viewer }) =>
    Effect.gen(function* () {
      const { job_id } = yield* queueMail(
        {
          id: randomUUID(),
          sender_user_id: viewer.user_id,
          to: [to],
          store_id,
          subject: "A message to try the mail settings",
          text: `Mail from this server arrives. ${viewer.name} asked for this message.\n`
        },
        settings
      )
      return accepted(job_id, queuedText("A message", mode, to), { mode })
    })
})
interface Facts {
  readonly to: string
  readonly store_id: number | null
  readonly mode: Effect.Success<typeof mailMode>
}

/** Each server has its own connections, so this is called once per server. */
export const mailSlice = (): ServerSlice => {
  const transport = makeMailTransport()
  return {
    name: "mail",
    server_tables: [mail_secrets],
    endpoints: [test],
    jobs: [sendMail, tellOfRefusal],
    services: () => Context.make(MailTransport, transport),
    background: Effect.addFinalizer(() => transport.close)
  }
}

/** A server that sends mail, and its mail jobs. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, beforeEach, expect } from "vitest"
import { CommandRuntime } from "../../../../core/kernel/endpoints/endpoint.ts"
import { list_values } from "../../../../core/kernel/lists/custom-field.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import type { MailDraft } from "../../../../server/delivery/mail/compose.ts"
import { queueMail, type QueuedMail } from "../../../../server/delivery/mail/jobs.ts"
import { nothing_outside } from "../../../../server/ports/outside.ts"
import type { Engine } from "../../../app.ts"
import { poll } from "../../house.ts"
import { pagesOfPdf } from "../../print/pdf-text.ts"
import { serve, type ServeOptions } from "../../serving.ts"
import { mailServer, type Taken, type TestMailServer } from "./smtp.ts"
import type { Body } from "../../../answers.ts"

export const openMailing = async (engine: Engine, smtp_url: string | undefined, options: ServeOptions = {}) => {
  const folder = await mkdtemp(join(tmpdir(), "flightcase-mail-"))
  const serving = await serve(engine, {
    data_folder: folder,
    public_url: "https://hire.example",
    outside: { ...nothing_outside, smtp_url },
    ...options
  })
  let number = 0
  return {
    ...serving,
    folder,
    mail: (draft: Partial<MailDraft> = {}): Promise<QueuedMail> =>
      serving.run(
        Effect.gen(function* () {
          const store = yield* Store
          const { settings } = yield* CommandRuntime
          return yield* store.transaction(
            Effect.flatMap(settings, (known) =>
              queueMail(
                {
                  id: `invoice.${++number}`,
                  sender_user_id: 1,
                  to: ["ann@customer.example"],
                  subject: "Your invoice",
                  text: "Please find it attached.\n",
                  ...draft
                },
                known
              )
            )
          )
        })
      ),
    /** Jobs by id, as the API shows them, oldest first. */
    jobs: async (): Promise<ReadonlyMap<string, Body["jobs"][0]>> => {
      const { body } = await serving.ask("/api/v1/system/jobs?per_page=100")
      return new Map(body.jobs.toReversed().map((row) => [row.id, row]))
    },
    /** Makes every waiting job due now. */
    hurry: (): Promise<void> =>
      serving.run(
        Effect.flatMap(Store, (store) =>
          Effect.asVoid(
            store.run(
              `update effect_queue set visible_at = ${store.dialect === "pg" ? "now() - interval '1 minute'" : "datetime('now', '-1 minute')"} where state = 'pending'`
            )
          )
        )
      ),
    close: async (): Promise<void> => {
      await serving.close()
      await rm(folder, { recursive: true, force: true })
    }
  }
}
export type Mailing = Awaited<ReturnType<typeof openMailing>>

/** A server that sends mail for a company, opened before the tests of a describe; each test reads its own mails. */
export const mailsFor = (engine: Engine, options: ServeOptions = {}) => {
  let smtp: TestMailServer
  let app: Mailing
  let before = 0
  /** Response of the mail server to the next message. */
  let refusal: Error | undefined
  beforeAll(async () => {
    smtp = await mailServer({
      message: () => {
        const answer = refusal
        refusal = undefined
        return answer
      }
    })
    app = await openMailing(engine, smtp.url, options)
    const settings = { name: "Northlight Rental", email: "office@northlight.example" }
    await app.ask("/api/v1/settings/company", { method: "PUT", json: { settings } })
  })
  beforeEach(() => {
    before = smtp.taken.length
  })
  afterAll(async () => {
    await app?.close()
    await smtp?.close()
  })
  return {
    app: () => app,
    refuses: (error: Error): void => void (refusal = error),
    /** Mails of this test, once the expected number has arrived. */
    arrived: async (count = 1): Promise<ReadonlyArray<Taken>> => {
      await expect.poll(() => smtp.taken.length - before, poll).toBe(count)
      return smtp.taken.slice(before)
    },
    /** Id of the list value that marks a member's billing address. */
    billingType: (): Promise<number> =>
      app.run(
        Effect.flatMap(Store, (store) =>
          Effect.map(store.find(list_values, { name: "Billing" }, { limit: 1 }), (rows) => rows[0]?.id ?? 0)
        )
      )
  }
}
/** Text of the PDF attached to a mail. */
export const attachedText = ({ read }: Taken): string => {
  const content = read.attachments[0]?.content
  if (!(content instanceof ArrayBuffer)) throw new Error("no content")
  return pagesOfPdf(new Uint8Array(content)).join("\n")
}

/** A server that mails, and what of its jobs is looked at. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { MailDraft } from "../../../server/mail/compose.ts"
import { queueMail, type QueuedMail } from "../../../server/mail/jobs.ts"
import { nothing_outside } from "../../../server/outside.ts"
import type { Engine } from "../../app.ts"
import { serve, type ServeOptions, type Serving } from "../serving.ts"

export interface Mailing extends Serving {
  readonly folder: string
  readonly mail: (draft?: Partial<MailDraft>) => Promise<QueuedMail>
  /** Jobs as the API shows them, by id, the first one first. */
  readonly jobs: () => Promise<ReadonlyMap<string, ShownJob>>
  /** Makes every waiting job due at once. */
  readonly hurry: () => Promise<void>
}
export interface ShownJob {
  readonly id: string
  readonly status: string
  readonly attempts: number
  readonly error: string | null
  readonly owner_id: number | null
  readonly result: { readonly [key: string]: unknown } | null
}

export const openMailing = async (
  engine: Engine,
  smtp_url: string | undefined,
  options: ServeOptions = {}
): Promise<Mailing> => {
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
    mail: (draft = {}) =>
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
    jobs: async () => {
      const { body } = await serving.ask("/api/v1/system/jobs?per_page=100")
      const rows: ReadonlyArray<ShownJob> = body.jobs
      return new Map(rows.toReversed().map((row) => [row.id, row]))
    },
    hurry: () =>
      serving.run(
        Effect.flatMap(Store, (store) =>
          Effect.asVoid(
            store.run(
              `update effect_queue set visible_at = ${store.dialect === "pg" ? "now() - interval '1 minute'" : "datetime('now', '-1 minute')"} where state = 'pending'`
            )
          )
        )
      ),
    close: async () => {
      await serving.close()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

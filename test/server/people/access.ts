/** A company whose users log in by mail. */
import { Effect } from "effect"
import { expect } from "vitest"
import { journal } from "../../../core/kernel/events/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Engine } from "../../app.ts"
import { houseOn } from "../house.ts"
import { openMailing } from "../delivery/mail/mailing.ts"
import { mailServer } from "../delivery/mail/smtp.ts"
import type { Got, ServeOptions } from "../serving.ts"

export const soon = { timeout: 20_000, interval: 20 }
export const code_form = /\b(?:[0-9A-Z]{4}-){6}[0-9A-Z]{4}\b/

let people = 0

export const openHouse = async (engine: Engine, options: ServeOptions = {}) => {
  const smtp = await mailServer({})
  const app = houseOn(await openMailing(engine, smtp.url, options))
  const to = (email: string) => smtp.taken.filter((one) => one.to.includes(email))
  /** Text of the mail of this number to an address, once it has arrived. */
  const mailTo = async (email: string, count = 1): Promise<string> => {
    await expect.poll(() => to(email).length, soon).toBeGreaterThanOrEqual(count)
    return to(email)[count - 1]?.read.text ?? ""
  }
  return {
    ...app,
    smtp,
    invite: (more: object = {}, token?: string) => {
      const n = ++people
      return app.did(201, "POST", "/users", { name: `Person ${n}`, email: `person${n}@house.example`, ...more }, token)
    },
    mailTo,
    codeFor: async (email: string, count?: number): Promise<string> =>
      code_form.exec(await mailTo(email, count))?.[0] ?? "no code in it",
    redeem: (code: unknown, more: object = {}, from = "198.51.100.7"): Promise<Got> =>
      app.ask("/api/v1/login_codes/redeem", { method: "POST", token: null, json: { code, ...more }, from }),
    events: (
      type?: string
    ): Promise<ReadonlyArray<{ readonly type: string; readonly stream: string; readonly data: any }>> =>
      app.run(
        Effect.flatMap(Store, (store) =>
          store.find(journal, type === undefined ? {} : { type }, { order: ["position"] })
        )
      ),
    /** All text in the database. */
    everything: (): Promise<string> =>
      app.run(
        Effect.gen(function* () {
          const store = yield* Store
          const tables = yield* store.run<{ name: string }>(
            store.dialect === "pg"
              ? "select tablename as name from pg_tables where schemaname = current_schema()"
              : "select name from sqlite_master where type = 'table'"
          )
          const texts: Array<string> = []
          for (const { name } of tables)
            texts.push(
              JSON.stringify(yield* store.run(`select * from "${name}"`), (_, value) =>
                String(value) === "[object Object]" || Array.isArray(value) ? value : String(value)
              )
            )
          return texts.join("\n")
        })
      ),
    close: async () => {
      await app.close()
      await smtp.close()
    }
  }
}
export type House = Awaited<ReturnType<typeof openHouse>>

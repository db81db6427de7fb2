/** A house whose people get in by mail. */
import { Effect } from "effect"
import { expect } from "vitest"
import { journal } from "../../../core/kernel/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Engine } from "../../app.ts"
import { type Mailing, openMailing } from "../mail/mailing.ts"
import { mailServer, type TestMailServer } from "../mail/smtp.ts"
import type { Got, ServeOptions } from "../serving.ts"

export const soon = { timeout: 20_000, interval: 20 }
export const code_form = /\b(?:[0-9A-Z]{4}-){6}[0-9A-Z]{4}\b/

export interface House extends Mailing {
  readonly smtp: TestMailServer
  readonly did: (status: number, method: string, path: string, json?: object, token?: string | null) => Promise<any>
  readonly invite: (more?: object, token?: string) => Promise<any>
  /** The text of the newest mail to this address, once there are so many of them. */
  readonly mailTo: (email: string, count?: number) => Promise<string>
  readonly codeFor: (email: string, count?: number) => Promise<string>
  readonly redeem: (code: unknown, more?: object, from?: string) => Promise<Got>
  readonly events: (
    type?: string
  ) => Promise<ReadonlyArray<{ readonly type: string; readonly stream: string; readonly data: any }>>
  /** Every text that the database holds. */
  readonly everything: () => Promise<string>
}
let people = 0

export const openHouse = async (engine: Engine, options: ServeOptions = {}): Promise<House> => {
  const smtp = await mailServer({})
  const app = await openMailing(engine, smtp.url, options)
  const did: House["did"] = async (status, method, path, json, token) => {
    const got = await app.ask(`/api/v1${path}`, {
      method,
      ...(json === undefined ? {} : { json }),
      ...(token === undefined ? {} : { token })
    })
    expect([got.status, got.text], `${method} ${path}`).toEqual([status, expect.anything()])
    return got.body
  }
  const to = (email: string) => smtp.taken.filter((one) => one.to.includes(email))
  const mailTo: House["mailTo"] = async (email, count = 1) => {
    await expect.poll(() => to(email).length, soon).toBeGreaterThanOrEqual(count)
    return to(email)[count - 1]?.read.text ?? ""
  }
  return {
    ...app,
    smtp,
    did,
    invite: (more = {}, token) => {
      const n = ++people
      return did(201, "POST", "/users", { name: `Person ${n}`, email: `person${n}@house.example`, ...more }, token)
    },
    mailTo,
    codeFor: async (email, count) => code_form.exec(await mailTo(email, count))?.[0] ?? "no code in it",
    redeem: (code, more = {}, from = "198.51.100.7") =>
      app.ask("/api/v1/login_codes/redeem", { method: "POST", token: null, json: { code, ...more }, from }),
    events: (type) =>
      app.run(
        Effect.flatMap(Store, (store) =>
          store.find(journal, type === undefined ? {} : { type }, { order: ["position"] })
        )
      ),
    everything: () =>
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

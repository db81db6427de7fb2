/** Secret settings: stored on the server only, and readable nowhere else. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { journal } from "../../core/kernel/events/journal.ts"
import { rebuild } from "../../core/kernel/runtime/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { secretSetting } from "../../core/setup/settings/secrets.ts"
import type { Database } from "../../server/host/config.ts"
import { type Engine, engines } from "../app.ts"
import { freshDatabase } from "../postgres.ts"
import { serve, type Serving } from "./serving.ts"

const secret = "smtp://store:pass-of-the-store@mail.example:587"
const shown = "********"

const databaseOf = async (
  engine: Engine
): Promise<{ readonly database: Database; readonly drop: () => Promise<void> }> => {
  if (engine === "pg") {
    const made = await freshDatabase()
    return { database: { kind: "pg", url: made.url, connections_max: 3 }, drop: made.drop }
  }
  const folder = mkdtempSync(join(tmpdir(), "flightcase-secrets-"))
  return {
    database: { kind: "sqlite", path: join(folder, "server.sqlite") },
    drop: async () => rmSync(folder, { recursive: true })
  }
}
const put = async (server: Serving, settings: object) => {
  const { body, status } = await server.ask("/api/v1/settings/mail", { method: "PUT", json: { settings } })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.settings
}
const show = async (server: Serving) => (await server.ask("/api/v1/settings/mail")).body.settings
const read = (server: Serving) => server.run(secretSetting("mail", "smtp_url"))
const changes = async (server: Serving) =>
  (
    await server.run(
      Effect.flatMap(Store, (store) => store.find(journal, { stream: "settings:mail" }, { order: ["position"] }))
    )
  ).map(({ data, type }) => ({ type, data }))
/** The whole database as text. */
const everything = (server: Serving) =>
  server.run(
    Effect.gen(function* () {
      const store = yield* Store
      const { server_tables, tables } = server.app.catalogue
      const rows = yield* Effect.forEach([...tables, ...server_tables, journal], (table) => store.find(table, {}))
      return JSON.stringify(rows)
    })
  )

describe.each(engines)("a secret among the settings on %s", (engine) => {
  it("is available to server code and never shown to users", async () => {
    const server = await serve(engine)
    expect(await show(server)).toMatchObject({ smtp_url: null })
    expect(await read(server)).toBeUndefined()
    expect(await put(server, { smtp_url: secret })).toMatchObject({ smtp_url: shown })
    expect(await show(server)).toMatchObject({ smtp_url: shown })
    const { settings } = (await server.ask("/api/v1/settings")).body
    expect(settings.find((one: { group: string }) => one.group === "mail").settings).toMatchObject({ smtp_url: shown })
    expect(await read(server)).toBe(secret)
    expect(await everything(server)).not.toContain("pass-of-the-store")
    await server.close()
  })
  it("is kept if its masked form is sent or its key is absent, and removed by null or an empty text", async () => {
    const server = await serve(engine)
    await put(server, { smtp_url: secret })
    await put(server, await show(server))
    await put(server, {})
    await put(server, { smtp_url: secret })
    expect(await read(server)).toBe(secret)
    const set = { type: "setting.secret_changed", data: { group: "mail", key: "smtp_url", is_set: true } }
    expect(await changes(server)).toEqual([set])
    expect(await put(server, { smtp_url: "smtp://other.example" })).toMatchObject({ smtp_url: shown })
    expect(await read(server)).toBe("smtp://other.example")
    for (const nothing of [null, ""]) {
      await put(server, { smtp_url: secret })
      expect(await put(server, { smtp_url: nothing })).toMatchObject({ smtp_url: null })
      expect(await put(server, { smtp_url: nothing })).toMatchObject({ smtp_url: null })
      expect(await read(server)).toBeUndefined()
    }
    const gone = { ...set, data: { ...set.data, is_set: false } }
    expect(await changes(server)).toEqual([set, set, set, gone, set, gone])
    await server.close()
  })
  it("is kept when a change is refused, and the response does not repeat it", async () => {
    const server = await serve(engine)
    await put(server, { smtp_url: secret })
    for (const wrong of [[secret], 7, secret.repeat(100)]) {
      const refused = await server.ask("/api/v1/settings/mail", {
        method: "PUT",
        json: { settings: { smtp_url: wrong } }
      })
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["smtp_url", "settings.smtp_url"]])
      expect(refused.text).not.toContain("pass-of")
    }
    expect(await read(server)).toBe(secret)
    await server.close()
  })
  it("outlasts a restart and a rebuild, and is named as unreadable under another key", async () => {
    const { database, drop } = await databaseOf(engine)
    const key = "first-key-of-the-server"
    const first = await serve(engine, { database, key })
    await put(first, { smtp_url: secret })
    await first.run(rebuild(first.app.catalogue))
    await first.close()
    const again = await serve(engine, { database, key })
    expect(await read(again)).toBe(secret)
    await again.close()
    const lines: Array<string> = []
    const log = { at: (_: string, text: string) => void lines.push(text), flush: () => {} }
    const other = await serve(engine, { database, key: "other-key-of-the-server", log })
    expect(await show(other)).toMatchObject({ smtp_url: shown })
    const refused = await other.run(Effect.exit(secretSetting("mail", "smtp_url")))
    expect(Exit.isFailure(refused) && JSON.stringify(refused.cause)).toMatch(/mail\.smtp_url cannot be read/)
    expect(lines.filter((line) => line.includes("mail.smtp_url cannot be read"))).toHaveLength(1)
    await put(other, { smtp_url: secret })
    expect(await read(other)).toBe(secret)
    await other.close()
    await drop()
  })
})

it("a SQLite file does not contain the bytes of a secret setting", async () => {
  const { database, drop } = await databaseOf("sqlite")
  const server = await serve("sqlite", { database })
  await put(server, { smtp_url: secret })
  await server.close()
  const folder = database.kind === "sqlite" ? join(database.path, "..") : ""
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name)))
  expect(files.length).toBeGreaterThan(0)
  expect(files.filter((bytes) => bytes.includes("pass-of-the-store"))).toEqual([])
  await drop()
})

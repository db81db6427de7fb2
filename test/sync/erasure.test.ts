/** A person erased on the server is erased from a device's journal too, with its next sync. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect, Layer, ManagedRuntime } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { eventsAfter } from "../../core/kernel/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp } from "../../server/app.ts"
import { type Listening, listenOn } from "../../server/http.ts"
import { silentLog } from "../../server/log.ts"
import { type Device, enrolDevice, openDevice } from "../../sync/device/device.ts"
import { layer as sqliteLayer } from "../../sync/sqlite/client.ts"
import { described } from "../server/serving.ts"

const token = "owner-token-of-the-tests"

describe("erasing a person", () => {
  let folder: string, app: ServerApp, listening: Listening, device: Device
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-erasure-"))
    app = described(
      await openServerApp({
        database: { kind: "sqlite", path: join(folder, "server.sqlite") },
        key: "key-of-the-tests-which-is-long",
        owner_token: token,
        rate_limit: 1_000_000
      })
    )
    listening = await listenOn({ host: "127.0.0.1", port: 0, log: silentLog, answer: app.answer })
    device = await enrolDevice(join(folder, "device"), { name: "device", url: listening.url, token, device: "device" })
  })
  afterEach(async () => {
    await device.close()
    await listening.stop(1_000)
    await app.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const ask = (method: string, path: string, body?: object) =>
    device.ask({ method, path: `/api/v1/${path}`, query: [], body: body as never })
  const deviceJournal = async () => {
    const runtime = ManagedRuntime.make(
      Layer.provide(Store.layer, sqliteLayer({ path: join(folder, "device", "replica.sqlite") }))
    )
    try {
      return JSON.stringify(await runtime.runPromise(Effect.flatMap(Store, (store) => eventsAfter(store, 0, 10_000))))
    } finally {
      await runtime.dispose()
    }
  }

  it("reaches what a device made, knew and pulled before", async () => {
    const made = await ask("POST", "members", { name: "Florence Keller", membership_type: "contact" })
    const { id } = (made.body as { readonly member: { readonly id: number } }).member
    await ask("POST", `members/${id}/phones`, { number: "0171 1" })
    await device.sync()
    expect(await deviceJournal()).toMatch(/Florence Keller.*0171 1/)
    const erased = await fetch(`${listening.url}/api/v1/members/${id}/anonymise`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` }
    })
    expect(erased.status).toBe(200)
    await device.sync()
    const journal = await deviceJournal()
    expect(journal).toContain("member.anonymised")
    expect(journal).not.toMatch(/Florence|0171/)
    expect((await ask("GET", `members/${id}`)).body).toMatchObject({
      member: { name: "Anonymised Member", phones: [] }
    })
  })

  it("is carried out again by a release that takes more out than the one that applied it", async () => {
    await fetch(`${listening.url}/api/v1/custom_fields`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "next_of_kin", module_type: "Member", field_type: 0, is_personal: true })
    })
    await device.sync()
    const made = await ask("POST", "members", {
      name: "Otto",
      membership_type: "contact",
      custom_fields: { next_of_kin: "Aunt Agatha" }
    })
    const { id } = (made.body as { readonly member: { readonly id: number } }).member
    await device.sync()
    expect(
      (
        await fetch(`${listening.url}/api/v1/members/${id}/anonymise`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}` }
        })
      ).status
    ).toBe(200)
    await device.sync()
    await device.close()
    // As a release left it that knew nothing of personal custom fields.
    const file = join(folder, "device", "replica.sqlite")
    const db = new DatabaseSync(file)
    db.exec(
      `update journal set data = json_set(data, '$.custom_fields', json('{"1":"Aunt Agatha"}')) where type = 'member.created' and stream = 'member:${id}'`
    )
    db.exec("update flightcase_meta set value = 'as an earlier release declared them' where key = 'tables'")
    db.close()
    device = await openDevice(join(folder, "device"))
    expect(await deviceJournal()).not.toContain("Agatha")
    expect((await ask("GET", `members/${id}`)).body).toMatchObject({
      member: { name: "Anonymised Member", custom_fields: { next_of_kin: null } }
    })
    for (const name of readdirSync(join(folder, "device")))
      expect(readFileSync(join(folder, "device", name), "latin1"), name).not.toContain("Agatha")
  })
})

/** Results of `GET /system/checks` and `doctor --server` for a running server. */
import { createServer as createTls } from "node:https"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { nothing_outside } from "../../../../server/ports/outside.ts"
import { engines } from "../../../app.ts"
import { placeOfSuite } from "../../../cli/place.ts"
import { mailServer, replies } from "../../delivery/mail/smtp.ts"
import { certificate } from "../../delivery/webhooks/certificate.ts"
import { houseOn } from "../../house.ts"
import { serve, type ServeOptions } from "../../serving.ts"

interface Found {
  readonly check: string
  readonly ok: boolean
  readonly detail: string
}
const folder = mkdtempSync(join(tmpdir(), "flightcase-checks-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const withServer = async (
  engine: (typeof engines)[number],
  options: ServeOptions,
  work: (house: ReturnType<typeof houseOn>, look: () => Promise<{ readonly [check: string]: Found }>) => Promise<void>
) => {
  const server = await serve(engine, options)
  try {
    await work(houseOn(server), async () => {
      const { body, status } = await server.ask("/api/v1/system/checks")
      expect(status).toBe(200)
      const checks: ReadonlyArray<Found> = body.checks
      return Object.fromEntries(checks.map((one) => [one.check, one]))
    })
  } finally {
    await server.close()
  }
}

describe.each(engines)("the checks of a server on %s", (engine) => {
  it("all pass on a healthy server", () =>
    withServer(engine, { data_folder: folder, outside: nothing_outside }, async (_, look) => {
      const found = await look()
      expect(Object.keys(found)).toEqual(["database", "clock", "disk", "mail", "jobs", "webhooks", "backups"])
      expect(found["database"]?.detail).toMatch(/^(SQLite 3|Postgres 1)\d*\.\S+( \(.*\))?, \d+ MiB, \d+ events$/)
      const { disk: _disk, ...others } = found
      expect(Object.values(others).filter(({ ok }) => !ok)).toEqual([])
      expect(found["backups"]?.detail).toBe("unknown: neither backups.folder nor FLIGHTCASE_BACKUPS names a folder")
    }))

  it("report failed jobs, webhook addresses without a trusted certificate, and missing or old backups", async () => {
    const target = createTls(certificate)
    target.listen(0, "127.0.0.1")
    await once(target, "listening")
    const { port } = target.address() as AddressInfo
    const backups = mkdtempSync(join(folder, "backups-"))
    const outside = { ...nothing_outside, webhooks_private: true, backups }
    await withServer(engine, { data_folder: folder, outside }, async (house, look) => {
      expect((await look())["backups"]).toMatchObject({ ok: false, detail: `there is none in ${backups}` })
      writeFileSync(join(backups, "flightcase-20250101T030000000Z.backup"), "")
      await house.did(201, "POST", "/webhooks", { url: `https://127.0.0.1:${port}/in`, events: ["product.created"] })
      await house.did(202, "POST", "/system/mail/test", {})
      await house.sql("update effect_queue set state = 'failed'")
      const found = await look()
      expect(found["jobs"]?.detail).toMatch(/^\d+ failed: /)
      expect(found["webhooks"]?.detail).toMatch(new RegExp(`^https://127\\.0\\.0\\.1:${port}: self-signed certificate`))
      expect(found["backups"]?.detail).toMatch(/^the newest is \d+ hours old$/)
      expect([found["jobs"], found["webhooks"], found["backups"]].map((one) => one?.ok)).toEqual([false, false, false])
    })
    target.close()
  })
})

describe("the mail check of a server", () => {
  it("connects to the mail server, and reports why it could not", async () => {
    const smtp = await mailServer({ recipient: () => replies(550, "No such mailbox") })
    const at = (smtp_url: string) => ({ outside: { ...nothing_outside, smtp_url } })
    await withServer("sqlite", at(smtp.url), async (_, look) => {
      expect((await look())["mail"]).toMatchObject({ ok: true, detail: expect.stringMatching(/takes messages$/) })
    })
    await smtp.close()
    await withServer("sqlite", at(smtp.url), async (_, look) => {
      expect((await look())["mail"]).toMatchObject({
        ok: false,
        detail: expect.stringMatching(/^The mail server could not be reached/)
      })
    })
  })
})

describe("checking a server", () => {
  const place = placeOfSuite()
  const { json, type } = place
  beforeAll(() => place.login())

  it("by doctor --server prints a line for each check, and exits with 1 if one fails", async () => {
    const { code, out } = await type("doctor --server")
    expect([code, out]).toEqual([0, expect.stringMatching(/^ok\tdatabase\tSQLite 3/)])
    expect(out).toContain("ok\tmail\tno mail server is set: messages are written to outbox/\n")
    expect(out).toMatch(/^ok\tclock here\tagrees with the server's$/m)
    await json("mail test ann@customer.example")
    await place.app.run(Effect.flatMap(Store, (store) => store.run("update effect_queue set state = 'failed'")))
    const bad = await type("doctor --server --json")
    expect(bad.code).toBe(1)
    expect(JSON.parse(bad.out).findings).toContainEqual(expect.objectContaining({ check: "jobs", ok: false }))
  })
  it("by upgrade --check prints what this release would change, and upgrade without it exits with 2", async () => {
    const env = { FLIGHTCASE_DATA: mkdtempSync(join(folder, "upgrade-")) }
    const { code, out } = await type("upgrade --check", { env })
    expect([code, out]).toEqual([0, expect.stringMatching(/^ok\tupgrade\tthe database is to be made$/m)])
    expect(out).not.toContain("mail")
    expect((await type("upgrade", { env })).code).toBe(2)
  })
  it("needs the permission system.manage", async () => {
    const server = await serve("sqlite")
    const { secret: token } = await houseOn(server).person({ name: "Ann", permissions: ["system.read"] })
    expect((await server.ask("/api/v1/system/checks", { token })).status).toBe(403)
    await server.close()
  })
})

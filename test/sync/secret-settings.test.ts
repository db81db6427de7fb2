/** Secrets among the settings never reach a device, and none is set there. */
import { describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { businessOfEachTest } from "./business.ts"

const secret = "smtp://store:pass-of-the-store@mail.example:587"

describe.each(engines)("a device of the owner, with a server on %s", (engine) => {
  const { business, filled } = businessOfEachTest(engine)
  const set = (smtp_url: string | null) => business.ask("PUT", "settings/mail", { settings: { smtp_url } })

  it("is told that a secret was changed, but neither shown nor sent it", async () => {
    await set("smtp://before.example")
    const device = await filled({ snapshot_beyond: 0 })
    expect((await set(secret)).status).toBe(200)
    await device.sync()
    expect((await device.ask("GET", "settings/mail")).body.settings).not.toHaveProperty("smtp_url")
    const { settings } = (await device.ask("GET", "settings")).body
    expect(settings.find((one: { group: string }) => one.group === "mail").settings).not.toHaveProperty("smtp_url")
    expect(device.holds("setting.secret_changed")).not.toEqual([])
    expect([...device.holds("pass-of-the-store"), ...device.holds("before.example")]).toEqual([])
  })
  it("refuses to set one or to take one away, keeps nothing of it, and takes what else is said", async () => {
    const device = await filled()
    for (const smtp_url of [secret, null, ""]) {
      const refused = await device.ask("PUT", "settings/mail", { settings: { smtp_url } })
      expect([refused.status, refused.body.errors]).toEqual([503, { at_server: ["smtp_url"] }])
      expect(refused.body.message).toMatch(/^smtp_url: secrets are kept on the server alone/)
    }
    await set(secret)
    expect((await device.ask("PUT", "settings/mail", { settings: { smtp_url: "********" } })).status).toBe(200)
    expect((await device.ask("PUT", "settings/company", { settings: { name: "Van" } })).status).toBe(200)
    await device.sync()
    expect((await business.ask("GET", "settings/mail")).body.settings).toMatchObject({ smtp_url: "********" })
    expect((await business.ask("GET", "settings/company")).body.settings).toMatchObject({ name: "Van" })
    expect(device.holds("pass-of-the-store")).toEqual([])
  })
})

/** Secret settings never reach a device and cannot be set on one. */
import { describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { serverOfEachTest } from "./opening.ts"

const secret = "smtp://store:pass-of-the-store@mail.example:587"

describe.each(engines)("secret settings on the owner's device, server on %s", (engine) => {
  const server = serverOfEachTest(engine)
  const set = (smtp_url: string) => server.must("PUT", "/settings/mail", { settings: { smtp_url } })

  it("are reported as changed, but never sent", async () => {
    await set("smtp://before.example")
    const device = await server.filled()
    await set(secret)
    await device.sync()
    expect(await device.show("/settings/mail")).not.toHaveProperty("smtp_url")
    const mail = (await device.show("/settings")).find((one) => one.group === "mail")
    expect(mail?.settings).not.toHaveProperty("smtp_url")
    expect(device.holds("setting.secret_changed")).not.toEqual([])
    expect([...device.holds("pass-of-the-store"), ...device.holds("before.example")]).toEqual([])
  })
  it("can be neither set nor removed, unlike other settings", async () => {
    const device = await server.filled()
    for (const smtp_url of [secret, null, ""]) {
      const refused = await device.put("/settings/mail", { settings: { smtp_url } })
      expect([refused.status, refused.body.errors]).toEqual([503, { at_server: ["smtp_url"] }])
      expect(refused.body.message).toMatch(/^smtp_url: secrets are kept on the server alone/)
    }
    await set(secret)
    await device.must("PUT", "/settings/mail", { settings: { smtp_url: "********" } })
    await device.must("PUT", "/settings/company", { settings: { name: "Van" } })
    await device.sync()
    expect((await server.get("/settings/mail")).body.settings).toMatchObject({ smtp_url: "********" })
    expect((await server.get("/settings/company")).body.settings).toMatchObject({ name: "Van" })
    expect(device.holds("pass-of-the-store")).toEqual([])
  })
})

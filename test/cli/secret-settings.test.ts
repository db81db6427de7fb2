/** Secret settings are sent to the server only. */
import { beforeAll, expect, it } from "vitest"
import { placeOfSuite } from "./place.ts"

const place = placeOfSuite()
const { done, json, type } = place
beforeAll(() => place.login())

const updated = (settings: object) => ["settings", "update", "mail", "-d", JSON.stringify({ settings })]
const update = updated({ smtp_url: "smtp://a:hidden@b" })
const shown = async () => (await json("settings show mail --remote")).settings

it("a secret setting is refused offline and with --plan", async () => {
  for (const flag of ["--offline", "--plan"]) {
    const refused = await type([...update, flag])
    expect([refused.code, refused.err]).toEqual([7, expect.stringMatching(/smtp_url: secrets are kept on the server/)])
  }
  expect(await shown()).toMatchObject({ smtp_url: null })
})
it("a secret setting is written to the server at once, and printed masked", async () => {
  const { code, err, out } = await type(update)
  expect([code, err]).toEqual([0, expect.stringMatching(/^Written to http:\/\/\S+ as Owner\.\n$/)])
  expect(out).toContain("********")
  expect(out).not.toContain("hidden")
  expect(await shown()).toMatchObject({ smtp_url: "********" })
})
it("a device shows the server's mail settings with masked secrets", async () => {
  await done(updated({ sender_name: "Hire desk", smtp_url: "smtp://c:d@e" }))
  const masked = { sender_name: "Hire desk", smtp_url: "********", dkim_private_key: null }
  expect((await json("settings show mail")).settings).toMatchObject(masked)
  const all = (await json("settings list")).settings
  expect(all.find((one: { group: string }) => one.group === "mail").settings).toMatchObject({ smtp_url: "********" })
})
it("a setting changed offline and not sent yet is shown together with the server's masked secrets", async () => {
  await done([...updated({ reply_to: "desk@example.com" }), "--offline"])
  const here = (await json("settings show mail")).settings
  expect(here).toMatchObject({ reply_to: "desk@example.com", smtp_url: "********" })
})
it("settings shown offline name the secrets that only the server has", async () => {
  const shown = await type("settings show mail --offline")
  expect([shown.code, shown.err]).toEqual([
    0,
    "On the server only: mail.dkim_private_key, mail.smtp_url. With a network, --remote shows whether they are set.\n"
  ])
  expect((await type("settings show company --offline")).err).toBe("")
})

/** A secret among the settings goes to the server, and to nobody else. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { openPlace, owner_token, type Place, runHere as run } from "./session.ts"

let place: Place
beforeAll(async () => {
  place = await openPlace()
  expect((await run(place, ["login", place.url, "--token", owner_token, "--name", "van"])).code).toBe(0)
})
afterAll(() => place.close())

const update = ["settings", "update", "mail", "-d", JSON.stringify({ settings: { smtp_url: "smtp://a:hidden@b" } })]
const shown = async () =>
  JSON.parse((await run(place, ["settings", "show", "mail", "--remote", "--json"])).out).settings

it("a secret setting is refused offline and with --plan", async () => {
  for (const words of [
    [...update, "--offline"],
    [...update, "--plan"]
  ]) {
    const refused = await run(place, words)
    expect([refused.code, refused.err]).toEqual([7, expect.stringMatching(/smtp_url: secrets are kept on the server/)])
  }
  expect(await shown()).toMatchObject({ smtp_url: null })
})
it("a secret setting is written to the server at once, and printed masked", async () => {
  const { code, err, out } = await run(place, update)
  expect([code, err]).toEqual([0, expect.stringMatching(/^Written to http:\/\/\S+ as Owner\.\n$/)])
  expect(out).toContain("********")
  expect(out).not.toContain("hidden")
  expect(await shown()).toMatchObject({ smtp_url: "********" })
})
it("settings with secrets are shown as the server has them", async () => {
  const sender = { settings: { sender_name: "Hire desk", smtp_url: "smtp://c:d@e" } }
  expect((await run(place, ["settings", "update", "mail", "-d", JSON.stringify(sender)])).code).toBe(0)
  const here = await run(place, ["settings", "show", "mail", "--json"])
  expect(JSON.parse(here.out).settings).toMatchObject({
    sender_name: "Hire desk",
    smtp_url: "********",
    dkim_private_key: null
  })
  const all = JSON.parse((await run(place, ["settings", "list", "--json"])).out).settings
  expect(all.find((one: { group: string }) => one.group === "mail").settings).toMatchObject({ smtp_url: "********" })
})
it("unsent changes are shown beside the server's secrets", async () => {
  const words = ["settings", "update", "mail", "-d", JSON.stringify({ settings: { reply_to: "desk@example.com" } })]
  expect((await run(place, [...words, "--offline"])).code).toBe(0)
  const here = JSON.parse((await run(place, ["settings", "show", "mail", "--json"])).out).settings
  expect(here).toMatchObject({ reply_to: "desk@example.com", smtp_url: "********" })
})
it("settings shown offline name the secrets that only the server has", async () => {
  const shown = await run(place, ["settings", "show", "mail", "--offline"])
  expect([shown.code, shown.err]).toEqual([
    0,
    "On the server only: mail.dkim_private_key, mail.smtp_url. With a network, --remote shows whether they are set.\n"
  ])
  expect((await run(place, ["settings", "show", "company", "--offline"])).err).toBe("")
})

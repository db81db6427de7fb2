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

it("without a network it is refused with the way out, and a plan of it sets nothing", async () => {
  for (const words of [
    [...update, "--offline"],
    [...update, "--plan"]
  ]) {
    const refused = await run(place, words)
    expect([refused.code, refused.err]).toEqual([7, expect.stringMatching(/smtp_url: secrets are kept on the server/)])
  }
  expect(await shown()).toMatchObject({ smtp_url: null })
})
it("with one it is set on the server at once, and the answer does not repeat it", async () => {
  const { code, err, out } = await run(place, update)
  expect([code, err]).toEqual([0, ""])
  expect(out).toContain("********")
  expect(out).not.toContain("hidden")
  expect(await shown()).toMatchObject({ smtp_url: "********" })
})

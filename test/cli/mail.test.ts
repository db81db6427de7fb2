/** A message to try the mail settings, from the command line. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { openPlace, owner_token, type Place, runHere as run } from "./session.ts"

let place: Place
beforeAll(async () => {
  place = await openPlace()
  expect((await run(place, ["login", place.url, "--token", owner_token, "--name", "van"])).code).toBe(0)
})
afterAll(() => place.close())

it("says that nothing is sent where no mail server is set", async () => {
  const tried = await run(place, ["mail", "test", "ann@customer.example"])
  expect([tried.code, tried.err]).toEqual([
    0,
    "No mail server is set: the message to ann@customer.example is written to the outbox folder and not sent.\n"
  ])
  expect(tried.out).toMatch(/^mail\.send:test\.[0-9a-f-]{36}\n$/)
  const data = await run(place, ["mail", "test", "--json"])
  expect(JSON.parse(data.out)).toMatchObject({ mode: "outbox", job_id: expect.stringMatching(/^mail\.send:test\./) })
})
it("refuses what is no address, and needs the server", async () => {
  expect(await run(place, ["mail", "test", "ann"])).toMatchObject({
    code: 5,
    err: expect.stringContaining("The to field must be a valid e-mail address")
  })
  expect((await run(place, ["mail", "test", "--offline"])).code).toBe(7)
  expect((await run(place, ["mail", "test", "--wait", "soon"])).code).toBe(2)
})

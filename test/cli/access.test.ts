/** Inviting users and logging in with a mailed code, on the command line. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import PostalMime from "postal-mime"
import { beforeAll, expect, it } from "vitest"
import { typeHere } from "./command-line.ts"
import { placeOfSuite } from "./place.ts"

const place = placeOfSuite()
const { done, json, type } = place
beforeAll(() => place.login("office"))

/** Codes mailed to an address, latest last. */
const codesFor = async (email: string): Promise<ReadonlyArray<string>> => {
  const folder = join(place.folder, "server", "outbox")
  if (!existsSync(folder)) return []
  const mails = await Promise.all(
    readdirSync(folder)
      .filter((name) => name.endsWith(".eml"))
      .sort()
      .map((name) => PostalMime.parse(readFileSync(join(folder, name))))
  )
  return mails
    .filter(({ to }) => to?.some(({ address }) => address === email))
    .flatMap(({ text = "" }) => /--code (\S+)/.exec(text)?.[1] ?? [])
}
const codeFor = async (email: string, count = 1): Promise<string> => {
  await expect.poll(async () => (await codesFor(email)).length, { timeout: 20_000 }).toBeGreaterThanOrEqual(count)
  return (await codesFor(email)).at(-1) ?? ""
}
/** A command line of another machine, logged out. */
const machine = (name: string, more: { readonly [name: string]: string } = {}) => {
  const { FLIGHTCASE_TOKEN: _token, FLIGHTCASE_URL: _url, ...env } = place.env
  const home = join(place.folder, name)
  return {
    home,
    type: (words: ReadonlyArray<string>, input = "") =>
      typeHere(words, { env: { ...env, FLIGHTCASE_HOME: home, ...more }, folder: place.folder, input })
  }
}

it("an invited user logs in with the mailed code, once", async () => {
  const invited = await type("users invite ann@house.example --name Ann --role Sales")
  expect(invited).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^\d+\n$/),
    err: expect.stringContaining("No mail server is set: pass this on to Ann")
  })
  const code = await codeFor("ann@house.example")
  expect(invited.err).toContain(`flightcase login ${place.url} --code ${code}\n`)
  const outbox = join(place.folder, "server", "outbox")
  const mails = readdirSync(outbox).map((name) => readFileSync(join(outbox, name), "utf8"))
  expect(mails.join("")).toContain("Subject: Owner invites you to work with Flightcase")
  const laptop = machine("ann")
  const wrong = await laptop.type(["login", place.url, "--code", "0000-0000-0000-0000-0000-0000-0000"])
  expect([wrong.code, wrong.err]).toEqual([5, expect.stringContaining("This code is not valid here")])
  const logged_in = await laptop.type(["login", place.url, "--code", "-", "--name", "laptop"], `${code}\n`)
  expect(logged_in).toMatchObject({ code: 0, err: expect.stringContaining("Logged in to") })
  expect((await laptop.type(["quote", "list"])).code).toBe(0)
  expect(readdirSync(join(laptop.home, "profiles"))).toEqual(["default"])
  const again = await machine("thief").type(["login", place.url, "--code", code])
  expect(again.code).toBe(5)
  expect((await json("users list --remote")).users).toContainEqual(
    expect.objectContaining({ name: "Ann", is_active: true, last_login_at: expect.any(String) })
  )
})

it("a planned invitation creates no user, and an unknown role is refused with the list of roles", async () => {
  const planned = await type("users invite cy@house.example --name Cy --plan")
  expect(planned).toMatchObject({ code: 0, err: expect.stringContaining("Planned only; nothing was written.") })
  expect((await done("users list --remote -q email_eq=cy@house.example")).out).toBe("")
  const mistyped = await type("users invite cy@house.example --name Cy --role Sails")
  expect(mistyped).toMatchObject({ code: 5, err: expect.stringMatching(/There is no role Sails; there are .*Sales/) })
})

it("a login that failed to write its profile can be repeated with the same code", async () => {
  await done("users invite ben@house.example --name Ben")
  const code = await codeFor("ben@house.example")
  const laptop = machine("ben")
  // A file takes the place of the profile's folder: the code is used, but enrolment fails.
  await laptop.type(["login", "http://127.0.0.1:9", "--code", code])
  const blocked = join(laptop.home, "profiles", "default")
  writeFileSync(blocked, "in the way")
  expect((await laptop.type(["login", place.url, "--code", code])).code).not.toBe(0)
  const kept = join(laptop.home, "profiles", ".default.login")
  expect(statSync(kept).mode & 0o777).toBe(0o600)
  expect(readFileSync(kept, "utf8")).not.toContain(code)
  rmSync(blocked)
  expect((await laptop.type(["login", place.url, "--code", code.toLowerCase()])).code).toBe(0)
  expect(existsSync(kept)).toBe(false)
})

it("a login with a new code replaces the token, and keeps pending commands", async () => {
  await done("users invite eve@house.example --name Eve --role Admin")
  const laptop = machine("eve")
  expect((await laptop.type(["login", place.url, "--code", await codeFor("eve@house.example")])).code).toBe(0)
  expect((await laptop.type(["vehicles", "create", "--name", "Van 7", "--offline"])).code).toBe(0)
  const reset = await type("users reset-password eve@house.example --end-sessions")
  expect(reset).toMatchObject({
    code: 0,
    err: expect.stringMatching(
      /^No mail server is set: the message to eve@house\.example is .* not sent\. .* holds until .*\nWhat they were/
    )
  })
  expect((await laptop.type(["sync"])).code).toBe(4)
  const code = await codeFor("eve@house.example", 2)
  const anew = await laptop.type(["login", place.url, "--code", code])
  expect(anew, anew.err).toMatchObject({ code: 0, err: expect.stringContaining("Took along 1 unsent command") })
  expect((await laptop.type(["sync"])).code).toBe(0)
  expect((await done("vehicles list --remote")).out).toContain("Van 7")
})

it("login takes a code or a token, resets need a known user, and --no-send mails no invitation", async () => {
  const laptop = machine("nobody")
  expect(await laptop.type(["login", place.url])).toMatchObject({ code: 2, err: expect.stringContaining("--code") })
  expect((await laptop.type(["login", place.url, "--code", "x", "--token", "y"])).code).toBe(2)
  expect((await type("users reset-password nobody@house.example")).code).toBe(3)
  const quiet = await type("users invite joe@house.example --name Joe --no-send")
  expect(quiet.err).toContain("was sent nothing; flightcase users reset-password")
  const again = await type("users invite joe@house.example --name Joe")
  expect(again.code).toBe(5)
  expect(again.err).toContain("flightcase users reset-password joe@house.example sends the person a new code.")
})

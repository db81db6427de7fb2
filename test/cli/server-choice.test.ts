/** Which server is meant: a flag before the environment, the environment before the login, in every combination. */
import { createHash } from "node:crypto"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Asked, chooseServer } from "../../cli/base/server-choice.ts"
import { openPlace, type Place, runHere } from "./session.ts"

const house = "https://rental.example.com"
const staging = "https://staging.example.com"
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")
const login = {
  url: house,
  public_url: "https://www.rental.example.com",
  token: "device",
  logged_in_with: sha256("ann")
}
const chosen = (flags: Asked["flags"], environment: Asked["environment"], logged_in = true) => {
  const { is_device, notice, token, url } = chooseServer(
    { flags, environment, login: logged_in ? login : undefined },
    sha256
  )
  return [is_device ? "replica" : "server", url, token, notice === undefined ? "" : /^\S+/.exec(notice)?.[0]]
}

it.each([
  // Without a login.
  ["nothing at all", {}, {}, false, ["server", undefined, "", ""]],
  ["an environment alone", {}, { url: staging, token: "s" }, false, ["server", staging, "s", ""]],
  [
    "a flag and an environment",
    { url: house },
    { url: staging, token: "s" },
    false,
    ["server", house, "", "FLIGHTCASE_TOKEN"]
  ],
  ["an address by flag, a token alone", { url: house }, { token: "s" }, false, ["server", house, "s", ""]],
  ["two flags", { url: house, token: "f" }, { url: staging, token: "s" }, false, ["server", house, "f", ""]],
  // With a login.
  ["a login alone", {}, {}, true, ["replica", house, "device", ""]],
  ["another server in the environment", {}, { url: staging, token: "s" }, true, ["server", staging, "s", ""]],
  ["another address alone, without the login's token", {}, { url: staging }, true, ["server", staging, "", ""]],
  [
    "the same server and the token of the login",
    {},
    { url: house, token: "ann" },
    true,
    ["replica", house, "device", ""]
  ],
  [
    "the same server under another spelling",
    {},
    { url: "HTTPS://Rental.example.com:443/" },
    true,
    ["replica", house, "device", ""]
  ],
  [
    "the address the server calls its own",
    {},
    { url: "https://www.rental.example.com" },
    true,
    ["replica", house, "device", ""]
  ],
  [
    "the same server and another token",
    {},
    { url: house, token: "bob" },
    true,
    ["replica", house, "device", "FLIGHTCASE_TOKEN"]
  ],
  ["a token alone that is another", {}, { token: "bob" }, true, ["replica", house, "device", "FLIGHTCASE_TOKEN"]],
  ["a token alone that is the login's", {}, { token: "ann" }, true, ["replica", house, "device", ""]],
  [
    "the server asked with the environment's token",
    { remote: true },
    { token: "bob" },
    true,
    ["server", house, "bob", ""]
  ],
  ["the server asked as the login", { remote: true }, {}, true, ["server", house, "device", ""]],
  [
    "the server asked, another in the environment",
    { remote: true },
    { url: staging, token: "s" },
    true,
    ["server", staging, "s", ""]
  ],
  [
    "the server asked with the token of the login",
    { remote: true },
    { token: "ann" },
    true,
    ["server", house, "device", ""]
  ],
  ["a token by flag", { token: "f" }, {}, true, ["server", house, "f", ""]],
  [
    "a token by flag, another server in the environment",
    { token: "f" },
    { url: staging, token: "s" },
    true,
    ["server", staging, "f", ""]
  ],
  ["the login's address by flag", { url: house }, {}, true, ["server", house, "device", ""]],
  [
    "the login's address by flag, another environment",
    { url: house },
    { url: staging, token: "s" },
    true,
    ["server", house, "device", "FLIGHTCASE_TOKEN"]
  ],
  ["another address by flag", { url: staging }, {}, true, ["server", staging, "", ""]],
  [
    "a profile by flag, another environment",
    { profile: "default" },
    { url: staging, token: "s" },
    true,
    ["replica", house, "device", "FLIGHTCASE_URL"]
  ],
  [
    "a profile by flag that has no login",
    { profile: "x" },
    { url: staging, token: "s" },
    false,
    ["server", staging, "s", ""]
  ]
] as const)("server and token are chosen for %s", (_, flags, environment, logged_in, expected) => {
  expect(chosen(flags, environment, logged_in)).toEqual(expected)
})

let production: Place, trial: Place
beforeAll(async () => {
  production = await openPlace()
  trial = await openPlace()
  await runHere(production, ["login", production.url, "--token", "owner-token-of-the-sessions"])
})
afterAll(async () => {
  await production.close()
  await trial.close()
})
const asTrial = (words: ReadonlyArray<string>) =>
  runHere(production, words, { env: { FLIGHTCASE_URL: trial.url, FLIGHTCASE_TOKEN: "owner-token-of-the-sessions" } })
const subjects = async (words: ReadonlyArray<string>) =>
  (
    JSON.parse((await runHere(production, ["products", "list", "--json", ...words])).out) as {
      products: Array<{ name: string }>
    }
  ).products.map(({ name }) => name)

it("writes to the server of the environment even if another login exists, and says so", async () => {
  const made = await asTrial(["products", "create", "--name", "Only a trial"])
  expect(made).toMatchObject({ code: 0, err: `Written to ${trial.url}, as FLIGHTCASE_URL and FLIGHTCASE_TOKEN say.\n` })
  expect(await subjects([])).toEqual([])
  expect(await subjects(["--url", trial.url, "--token", "owner-token-of-the-sessions"])).toEqual(["Only a trial"])
})
it("prints where it wrote on standard error even if the output is JSON", async () => {
  const made = await asTrial(["products", "create", "--name", "Second", "--json"])
  expect(JSON.parse(made.out)).toHaveProperty("product.name", "Second")
  expect(made.err).toContain(`Written to ${trial.url}`)
  const read = await asTrial(["products", "list"])
  expect([read.err, read.out.split("\n").length]).toEqual(["", 3])
})
it("names the server and the user of commands recorded on the device", async () => {
  const recorded = await runHere(production, ["products", "create", "--name", "PAR 64"])
  expect(recorded.err).toBe(
    `Recorded here as command 1, pending; flightcase sync sends it.\nIt is for ${production.url} as Owner.\n`
  )
})
it("neither plans, syncs nor works offline on one server's device where the environment names another", async () => {
  const planned = await asTrial(["products", "create", "--name", "x", "--plan"])
  expect([planned.code, planned.err]).toEqual([2, expect.stringContaining("unset FLIGHTCASE_URL")])
  const synced = await asTrial(["sync"])
  expect([synced.code, synced.err]).toEqual([
    2,
    expect.stringContaining(
      `FLIGHTCASE_URL names ${trial.url}, and this device (profile default) belongs to ${production.url}`
    )
  ])
  const offline = await asTrial(["products", "create", "--name", "x", "--offline"])
  expect([offline.code, offline.err]).toEqual([7, expect.stringContaining(`FLIGHTCASE_URL names ${trial.url}`)])
  expect((await asTrial(["sync", "status", "--profile", "default"])).code).toBe(0)
})
it("says that a token of the environment is not used on a device", async () => {
  const read = await runHere(production, ["products", "list"], {
    env: { FLIGHTCASE_TOKEN: "another-token-altogether" }
  })
  expect([read.code, read.err]).toEqual([0, expect.stringContaining("FLIGHTCASE_TOKEN is not used")])
  const remote = await runHere(production, ["products", "list", "--remote"], {
    env: { FLIGHTCASE_TOKEN: "another-token-altogether" }
  })
  expect(remote.code).toBe(4)
})

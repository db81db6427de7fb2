/** The server's address: a flag overrides the environment, which overrides the login, in all combinations. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { beforeAll, expect, it } from "vitest"
import { chooseServer } from "../../cli/base/server-choice.ts"
import { placeOfSuite } from "./place.ts"
import { owner_token } from "./session.ts"

type Asked = Parameters<typeof chooseServer>[0]

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
  return [is_device ? "replica" : "server", url, token, ...(notice === undefined ? [] : [/^\S+/.exec(notice)?.[0]])]
}

const env = { url: staging, token: "s" }
const on_replica = ["replica", house, "device"] as const
it.each([
  ["no flag and no environment", {}, {}, ["server", undefined, ""]],
  ["an environment with address and token", {}, env, ["server", staging, "s"]],
  ["an address by flag beside an environment", { url: house }, env, ["server", house, "", "FLIGHTCASE_TOKEN"]],
  ["an address by flag, a token alone", { url: house }, { token: "s" }, ["server", house, "s"]],
  ["address and token by flag", { url: house, token: "f" }, env, ["server", house, "f"]],
  ["a profile by flag that has no login", { profile: "x" }, env, ["server", staging, "s"]]
] as const)("$0 selects where commands run without a login: $3", (_, flags, environment, expected) => {
  expect(chosen(flags, environment, false)).toEqual(expected)
})
it.each([
  ["a login alone", {}, {}, on_replica],
  ["another server in the environment", {}, env, ["server", staging, "s"]],
  ["another address alone, without the login's token", {}, { url: staging }, ["server", staging, ""]],
  ["the same server and the token of the login", {}, { url: house, token: "ann" }, on_replica],
  ["the same server under another spelling", {}, { url: "HTTPS://Rental.example.com:443/" }, on_replica],
  ["the address the server calls its own", {}, { url: "https://www.rental.example.com" }, on_replica],
  ["the same server and another token", {}, { url: house, token: "bob" }, [...on_replica, "FLIGHTCASE_TOKEN"]],
  ["only another token in the environment", {}, { token: "bob" }, [...on_replica, "FLIGHTCASE_TOKEN"]],
  ["only the login's token in the environment", {}, { token: "ann" }, on_replica],
  ["--remote with the environment's token", { remote: true }, { token: "bob" }, ["server", house, "bob"]],
  ["--remote as the login", { remote: true }, {}, ["server", house, "device"]],
  ["--remote, another server in the environment", { remote: true }, env, ["server", staging, "s"]],
  ["--remote with the token of the login", { remote: true }, { token: "ann" }, ["server", house, "device"]],
  ["a token by flag", { token: "f" }, {}, ["server", house, "f"]],
  ["a token by flag, another server in the environment", { token: "f" }, env, ["server", staging, "f"]],
  ["the login's address by flag", { url: house }, {}, ["server", house, "device"]],
  [
    "the login's address by flag, another environment",
    { url: house },
    env,
    ["server", house, "device", "FLIGHTCASE_TOKEN"]
  ],
  ["another address by flag", { url: staging }, {}, ["server", staging, ""]],
  ["a profile by flag, another environment", { profile: "default" }, env, [...on_replica, "FLIGHTCASE_URL"]]
] as const)("$0 selects where commands run with a login: $3", (_, flags, environment, expected) => {
  expect(chosen(flags, environment)).toEqual(expected)
})

const production = placeOfSuite(),
  trial = placeOfSuite()
beforeAll(() => production.login())
const asTrial = (line: string) =>
  production.type(line, { env: { FLIGHTCASE_URL: trial.url, FLIGHTCASE_TOKEN: owner_token } })
const namesOf = async (flags = ""): Promise<ReadonlyArray<string>> =>
  (await production.json(`products list${flags}`)).products.map(({ name }) => name)

it("a command writes to the server of the environment even if another login exists, and says so", async () => {
  const made = await asTrial("products create --name 'Only a trial'")
  expect(made).toMatchObject({ code: 0, err: `Written to ${trial.url}, as FLIGHTCASE_URL and FLIGHTCASE_TOKEN say.\n` })
  expect(await namesOf()).toEqual([])
  expect(await namesOf(` --url ${trial.url} --token ${owner_token}`)).toEqual(["Only a trial"])
})
it("a command prints the server it wrote to on standard error, even if the output is JSON", async () => {
  const made = await asTrial("products create --name Second --json")
  expect(JSON.parse(made.out)).toHaveProperty("product.name", "Second")
  expect(made.err).toContain(`Written to ${trial.url}`)
  const read = await asTrial("products list")
  expect([read.err, read.out.split("\n").length]).toEqual(["", 3])
})
it("a command recorded on the device names its server and its user", async () => {
  const recorded = await production.type("products create --name 'PAR 64'")
  expect(recorded.err).toBe(
    `Recorded here as command 1, pending; flightcase sync sends it.\nIt is for ${production.url} as Owner.\n`
  )
})
it("the command line plans, syncs and records nothing on a device if the environment names another server", async () => {
  const planned = await asTrial("products create --name x --plan")
  expect([planned.code, planned.err]).toEqual([2, expect.stringContaining("unset FLIGHTCASE_URL")])
  const synced = await asTrial("sync")
  expect([synced.code, synced.err]).toEqual([
    2,
    expect.stringContaining(
      `FLIGHTCASE_URL names ${trial.url}, and this device (profile default) belongs to ${production.url}`
    )
  ])
  const offline = await asTrial("products create --name x --offline")
  expect([offline.code, offline.err]).toEqual([7, expect.stringContaining(`FLIGHTCASE_URL names ${trial.url}`)])
  expect((await asTrial("sync status --profile default")).code).toBe(0)
})
it("a command says that a token of the environment is not used on a device", async () => {
  const read = await production.type("products list", { env: { FLIGHTCASE_TOKEN: "another-token-altogether" } })
  expect([read.code, read.err]).toEqual([0, expect.stringContaining("FLIGHTCASE_TOKEN is not used")])
  const remote = await production.type("products list --remote", {
    env: { FLIGHTCASE_TOKEN: "another-token-altogether" }
  })
  expect(remote.code).toBe(4)
})

it("a command refuses a token with a line break, and does not print it", async () => {
  const read = await production.type("products list --remote", {
    env: { FLIGHTCASE_URL: production.url, FLIGHTCASE_TOKEN: `${owner_token}\n{"level":"info"}` }
  })
  expect([read.code, read.err]).toEqual([2, expect.stringContaining("The token holds a space or a line break")])
  expect(read.err).not.toContain(owner_token)
})

it("a plan of several writes is not made on the replica for another server", async () => {
  const { opportunity } = JSON.parse((await asTrial("opportunities create --subject Gala --json")).out)
  const planned = await asTrial(`quote convert ${opportunity.id} --to order --plan`)
  expect([planned.code, planned.err]).toEqual([2, expect.stringContaining("--plan needs a replica")])
})

it("says for how long it waits when a server refuses further requests for now", async () => {
  let asked = 0
  const server = createServer((_, response) => {
    const busy = asked++ === 0
    response.writeHead(busy ? 429 : 200, {
      "content-type": "application/json",
      ...(busy ? { "retry-after": "2" } : {})
    })
    response.end(busy ? '{"message": "Too many requests."}' : '{"stores": [], "meta": {"total": 0}}')
  }).listen(0, "127.0.0.1")
  try {
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}`
    const { code, err } = await production.type(["api", "GET", "/api/v1/stores", "--url", url, "--token", "t"])
    expect({ asked, code, err }).toMatchObject({
      asked: 2,
      code: 0,
      err: expect.stringContaining("Too many requests for now; going on in 2 seconds.\n")
    })
  } finally {
    server.close()
  }
})

/**
 * Real servers under load: usage and logs agree with the requests sent, per route, token and status; also after a stop,
 * and after a kill except for the last moments.
 */
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, describe, expect, it } from "vitest"
import { engines, type Engine } from "../app.ts"
import { freshDatabase } from "../postgres.ts"
import { cleanUp, type Env, folderOfItsOwn, type ServerProcess, startServer } from "../server/process.ts"
import { share } from "../share.ts"
import type { Body } from "../answers.ts"

afterAll(cleanUp)

const owner = "a-token-of-more-than-twenty-characters"

interface Client {
  /** null: without a token. */
  readonly id: number | null
  readonly secret: string | null
}
interface Answered {
  readonly token: number | null
  readonly route: string
  readonly status: number
  readonly at: number
}
/** Method, path, body and route of the requests: weights 0, 1 and 5, successful and refused. */
const mix: ReadonlyArray<readonly [string, string, string, unknown?]> = [
  ["GET", "/products", "products.list"],
  ["GET", "/products", "products.list"],
  ["GET", "/members?q[name_cont]=a", "members.list"],
  ["GET", "/products/999999", "products.show"],
  ["POST", "/products", "products.create", { name: "Lamp" }],
  ["POST", "/products", "products.create", {}],
  ["GET", "/availability/calendar?store_id=1&from=2026-07-01&to=2026-07-02", "availability.calendar"],
  ["GET", "/endpoints", "endpoints.list"],
  ["GET", "/invoices", "invoices.list"],
  ["GET", "/nowhere", "none"]
]
const weight = (route: string): number => (route === "endpoints.list" ? 0 : route === "availability.calendar" ? 5 : 1)
const units = ({ route, status }: Answered): number => (status === 429 || status >= 500 ? 0 : weight(route))

const ask = async (url: string, secret: string | null, method: string, path: string, json?: unknown) => {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
      ...(json === undefined ? {} : { "content-type": "application/json" })
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) })
  })
  const text = await response.text()
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
}
const made = async (url: string, more: object): Promise<Client> => {
  const wide = { rate_limit_per_minute: 10_000 }
  const got = await ask(url, owner, "POST", "/tokens", { name: "Client", abilities: ["*"], ...wide, ...more })
  expect(got.status, JSON.stringify(got.body)).toBe(201)
  return got.body.token
}
/** Clients of all kinds: with low rate limits, with few abilities, and one without a token. */
const clientsOf = async (url: string): Promise<ReadonlyArray<Client>> => [
  await made(url, {}),
  await made(url, {}),
  await made(url, { abilities: ["products:read", "members:read"] }),
  await made(url, { rate_limit_per_minute: 40 }),
  { id: null, secret: null }
]
/** Each client sends a number of requests at its own pace, several at once. */
const load = async (
  urls: ReadonlyArray<string>,
  clients: ReadonlyArray<Client>,
  many: number,
  answered: Array<Answered> = [],
  millis_between = 0
): Promise<ReadonlyArray<Answered>> => {
  const run = async (client: Client, lane: number): Promise<void> => {
    for (let at = 0; at < many; at++) {
      const [method, path, route, json] = mix[(at + lane) % mix.length]!
      try {
        const { status } = await ask(urls[(at + lane) % urls.length]!, client.secret, method, path, json)
        answered.push({ token: client.id, route, status, at: Date.now() })
        if (millis_between > 0) await pause(millis_between)
      } catch {
        // The server was killed.
        return
      }
    }
  }
  await Promise.all(clients.flatMap((client) => [0, 1, 2].map((lane) => run(client, lane))))
  return answered
}
const tally = (answered: ReadonlyArray<Answered>, key: (one: Answered) => string): ReadonlyMap<string, string> => {
  const sums = new Map<string, [number, number]>()
  for (const one of answered) {
    const [count, weighted] = sums.get(key(one)) ?? [0, 0]
    sums.set(key(one), [count + 1, weighted + units(one)])
  }
  return new Map([...sums].map(([name, sum]): [string, string] => [name, sum.join(" calls, ")]))
}
const rowsOf = (usage: Body): ReadonlyMap<string, string> =>
  new Map(usage.usage.map((row): [string, string] => [row.key, `${row.request_count} calls, ${row.weighted_units}`]))
const sorted = (map: ReadonlyMap<string, string>): ReadonlyArray<string> => [...map].map(String).sort()

const usageOf = async (url: string, query: string) => {
  const got = await ask(url, owner, "GET", `/usage?window=24h&channel=api&${query}`)
  expect(got.status, JSON.stringify(got.body)).toBe(200)
  return got.body
}
const countOf = async (url: string, id: number | null): Promise<number> =>
  id === null ? 0 : (await usageOf(url, `token_id=${id}`)).meta.totals.request_count
const loggedOf = async (url: string, id: number, query = ""): Promise<number> =>
  (await ask(url, owner, "GET", `/request_logs?q[personal_access_token_id_eq]=${id}&${query}`)).body.meta.total

/** Compares sent requests with usage by route and status, and with the log. */
const agrees = async (url: string, clients: ReadonlyArray<Client>, answered: ReadonlyArray<Answered>) => {
  for (const { id } of clients) {
    if (id === null) continue
    const own = answered.filter(({ token }) => token === id)
    await expect.poll(() => countOf(url, id), { timeout: 20_000, interval: 200 }).toBe(own.length)
    const by_route = rowsOf(await usageOf(url, `token_id=${id}&dimension=endpoint`))
    const named = own.filter(({ route }) => route !== "none")
    for (const [route, sum] of tally(named, (one) => one.route))
      expect([route, by_route.get(route)]).toEqual([route, sum])
    const by_status = rowsOf(await usageOf(url, `token_id=${id}&dimension=status`))
    expect(sorted(by_status)).toEqual(sorted(tally(own, ({ status }) => String(status))))
    expect(await loggedOf(url, id)).toBe(own.length)
    for (const [key, many] of Map.groupBy(own, ({ route, status }) => `${route} ${status}`)) {
      const [route, status] = key.split(" ")
      if (route === "none") continue
      expect([key, await loggedOf(url, id, `q[route_name_eq]=${route}&q[status_code_eq]=${status}`)]).toEqual([
        key,
        many.length
      ])
    }
  }
  const by_token = rowsOf(await usageOf(url, "dimension=token"))
  const anonymous = answered.filter(({ token }) => token === null)
  if (anonymous.length > 0) expect(by_token.get("none")).toBe(tally(anonymous, () => "none").get("none"))
}

const environmentOf = async (engine: Engine): Promise<Env> => ({
  FLIGHTCASE_DATA: await folderOfItsOwn(),
  FLIGHTCASE_TOKEN: owner,
  FLIGHTCASE_KEY: "key-of-the-tests-which-is-long",
  ...(engine === "pg" ? { DATABASE_URL: (await freshDatabase()).url } : {})
})
/** Metering must not limit the requests that check it. */
const started = async (env: Env): Promise<ServerProcess> => {
  const server = await startServer(env)
  const wide = await ask(server.url, owner, "PUT", "/settings/api", { settings: { rate_limit: 10_000 } })
  expect(wide.status).toBe(200)
  return server
}

describe.each(share(engines))("a server under load on %s", (engine) => {
  it("shows each client's calls in usage, at once and after a restart", async () => {
    const env = await environmentOf(engine)
    const server = await started(env)
    const clients = await clientsOf(server.url)
    const answered = await load([server.url], clients, 100)
    expect(answered.length).toBe(clients.length * 3 * 100)
    expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200, 201, 401, 403, 404, 422, 429]))
    await agrees(server.url, clients, answered)
    expect((await server.kill("SIGTERM")).code).toBe(0)
    const again = await started(env)
    await agrees(again.url, clients, answered)
    expect((await again.kill("SIGTERM")).code).toBe(0)
  }, 300_000)

  it("has counted every call in usage when it is stopped right after its last response", async () => {
    const env = await environmentOf(engine)
    const server = await started(env)
    const clients = [await made(server.url, {})]
    const answered = await load([server.url], clients, 20)
    expect((await server.kill("SIGTERM")).code).toBe(0)
    const again = await started(env)
    await agrees(again.url, clients, answered)
    expect((await again.kill("SIGTERM")).code).toBe(0)
  }, 300_000)

  it("loses at most the usage of its last two seconds at each of three kills", async () => {
    const env = await environmentOf(engine)
    /** Flush interval of a second, with room for a busy machine. */
    const moments_millis = 2_000
    const clients: Array<Client> = []
    const answered: Array<Answered> = []
    let lost_at_most = 0
    for (let round = 0; round < 3; round++) {
      const server = await started(env)
      if (clients.length === 0) clients.push(await made(server.url, {}), await made(server.url, {}))
      const loading = load([server.url], clients, 100_000, answered, 30)
      await pause(4_000)
      const killed_at = Date.now()
      await server.kill("SIGKILL")
      await loading
      lost_at_most += answered.filter(({ at }) => at > killed_at - moments_millis).length
      const safe = answered.filter(({ at }) => at <= killed_at - moments_millis).length
      expect(safe).toBeGreaterThan(0)
    }
    const last = await started(env)
    const shown = (await Promise.all(clients.map(({ id }) => countOf(last.url, id)))).reduce((a, b) => a + b, 0)
    expect(shown).toBeGreaterThanOrEqual(answered.length - lost_at_most)
    // At each kill each of six clients may have had one call whose response it never received.
    expect(shown).toBeLessThanOrEqual(answered.length + 3 * 6)
    // The log agrees with the totals.
    for (const { id } of clients) expect(await loggedOf(last.url, id ?? 0)).toBe(await countOf(last.url, id))
    expect((await last.kill("SIGTERM")).code).toBe(0)
  }, 300_000)
})

describe("two servers on one Postgres under load", () => {
  it("both report the usage of both, and together enforce a token's rate limit", async () => {
    const env = await environmentOf("pg")
    const one = await started(env)
    // Both servers use the same files folder.
    const other = await started(env)
    const clients = [await made(one.url, {}), await made(one.url, { rate_limit_per_minute: 60 })]
    const answered = await load([one.url, other.url], clients, 100)
    await agrees(one.url, clients, answered)
    await agrees(other.url, clients, answered)
    const [, narrow] = clients
    const through = answered.filter(({ token, status }) => token === narrow?.id && status !== 429)
    for (const [, in_minute] of Map.groupBy(through, ({ at }) => Math.floor(at / 60_000))) {
      // A response may be logged shortly after its minute.
      expect(in_minute.length).toBeLessThanOrEqual(60 + 6)
    }
    for (const server of [one, other]) expect((await server.kill("SIGTERM")).code).toBe(0)
  }, 300_000)
})

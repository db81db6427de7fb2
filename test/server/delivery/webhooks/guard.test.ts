/** No delivery reaches the internal network, whatever the notation of an address or a name's later resolution. */
import { createServer as createTls } from "node:https"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Guard, isReserved, type Lookup, makeGuard } from "../../../../server/delivery/webhooks/guard.ts"
import { sender } from "../../../../server/delivery/webhooks/send.ts"
import { engines } from "../../../app.ts"
import { serve, type Serving } from "../../serving.ts"
import { certificate } from "./certificate.ts"
import { words } from "../../../words.ts"

const told =
  (...addresses: ReadonlyArray<string>): Lookup =>
  (_hostname, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    )
const unknown: Lookup = (_hostname, _options, callback) =>
  callback(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }), [])

const refused_hosts = words(`
  127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 0 0.0.0.0 10.1.2.3 100.64.0.1 169.254.169.254 172.16.0.1
  172.31.255.255 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1]
  [::ffff:169.254.169.254] [::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] [fc00::1] [fd12:3456::1] [fe80::1]
  [ff02::1] [2001:db8::1]
`)
const open_hosts = ["93.184.216.34", "8.8.8.8", "172.32.0.1", "[2606:4700::1111]", "[::ffff:8.8.8.8]"]

describe("a webhook address", () => {
  const guard = makeGuard({ allows_private: false, lookup: unknown })
  const hostOf = (host: string) => new URL(`http://${host}/`).hostname
  it.each(refused_hosts)("%s is refused", async (host) => {
    expect(await guard.refusal(hostOf(host))).toMatch(/ is$/)
  })
  it.each(open_hosts)("%s is accepted", async (host) => {
    expect(await guard.refusal(hostOf(host))).toBeUndefined()
  })
  it("is refused if its host name resolves to a reserved address among others", async () => {
    const guard = makeGuard({ allows_private: false, lookup: told("8.8.8.8", "10.0.0.1") })
    expect(await guard.refusal("hooks.example.com")).toBe("hooks.example.com resolves to 10.0.0.1,")
  })
  it("is accepted if its host name does not resolve yet", async () => {
    expect(await guard.refusal("not-yet.example.com")).toBeUndefined()
  })
  it("may be private if the server allows it", async () => {
    expect(await makeGuard({ allows_private: true }).refusal("127.0.0.1")).toBeUndefined()
  })
  it("is accepted in IPv6 form if it contains a public IPv4 address", () =>
    expect(isReserved("::ffff:8.8.8.8")).toBe(false))
})

describe("a connection to a webhook receiver", () => {
  let hits = 0
  const plain = createServer((_request, response) => {
    hits++
    response.end("inside")
  })
  const secure = createTls(certificate, (_request, response) => {
    hits++
    response.end("inside")
  })
  const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port
  beforeAll(async () => {
    for (const server of [plain, secure])
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  })
  afterAll(async () => {
    for (const server of [plain, secure]) await new Promise((resolve) => server.close(resolve))
  })
  const post = (guard: Guard, url: string) =>
    sender(guard, 5_000)({ url, headers: {}, body: "{}" }, new AbortController().signal)

  it.each(["http", "https"])(
    "is refused over %s if its host name resolves to a private address when it is opened",
    async (scheme) => {
      const port = portOf(scheme === "http" ? plain : secure)
      const before = hits
      for (const addresses of [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:127.0.0.1"]]) {
        const guard = makeGuard({ allows_private: false, lookup: told(...addresses) })
        expect(await post(guard, `${scheme}://rebound.example.com:${port}/`)).toMatchObject({ error: "refused_target" })
      }
      expect(hits).toBe(before)
    }
  )
  it.each(["http", "https"])("is refused over %s for a private literal address", async (scheme) => {
    const port = portOf(scheme === "http" ? plain : secure)
    const guard = makeGuard({ allows_private: false })
    const before = hits
    for (const host of ["127.0.0.1", "2130706433", "[::ffff:7f00:1]", "localhost"])
      expect(await post(guard, `${scheme}://${host}:${port}/`), host).toMatchObject({ error: "refused_target" })
    expect(hits).toBe(before)
  })
  it("may go to a private address where allowed, but needs a trusted certificate over https", async () => {
    const guard = makeGuard({ allows_private: true })
    expect(await post(guard, `http://127.0.0.1:${portOf(plain)}/`)).toMatchObject({ status: 200, error: null })
    expect(await post(guard, `https://127.0.0.1:${portOf(secure)}/`)).toMatchObject({ status: null, error: "tls" })
  })
  it("fails with a DNS error for an unknown host name", async () => {
    const guard = makeGuard({ allows_private: false, lookup: unknown })
    expect(await post(guard, "http://nowhere.example.com/")).toMatchObject({ status: null, error: "dns" })
  })
  it("fails with a connect error if the receiver does not accept it", async () => {
    const closed = createServer()
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", () => resolve()))
    const port = portOf(closed)
    await new Promise((resolve) => closed.close(resolve))
    expect(await post(makeGuard({ allows_private: true }), `http://127.0.0.1:${port}/`)).toMatchObject({
      error: "connect"
    })
  })
})

describe.each(engines)("creating or changing a webhook on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine)
  })
  afterAll(() => server.close())
  it.each(["http://127.0.0.1/", "http://localhost:4480/", "https://[::1]/", "http://0x7f.1/"])(
    "answers 422 with the reason for the address %s",
    async (url) => {
      const { body, status } = await server.ask("/api/v1/webhooks", { json: { url, events: ["*"] } })
      expect(status).toBe(422)
      expect(body.errors.url[0]).toMatch(/private or reserved address/)
    }
  )
  it("answers 422 for a URL with a password, without repeating it", async () => {
    const { body, status } = await server.ask("/api/v1/webhooks", {
      json: { url: "https://user:secret@8.8.8.8/hook", events: ["*"] }
    })
    expect([status, Object.keys(body.errors)]).toEqual([422, ["url"]])
    expect(JSON.stringify(body)).not.toContain("secret@")
  })
  it("answers 422 for a change to a private address, and keeps the previous one", async () => {
    const made = await server.ask("/api/v1/webhooks", { json: { url: "https://8.8.8.8/", events: ["*"] } })
    const { id } = made.body.webhook
    const changed = await server.ask(`/api/v1/webhooks/${id}`, { method: "PUT", json: { url: "http://10.0.0.1/" } })
    expect(changed.status).toBe(422)
    expect((await server.ask(`/api/v1/webhooks/${id}`)).body.webhook.url).toBe("https://8.8.8.8/")
  })
})

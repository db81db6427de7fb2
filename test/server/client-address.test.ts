import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { clientAddress, networkOf } from "../../server/http/http-message.ts"
import { type Listening, openListener, serve, type Serving } from "./serving.ts"

describe("the client address of a request", () => {
  it("is the peer's address if no proxy is trusted, or X-Forwarded-For is absent or empty", () => {
    expect(clientAddress("192.0.2.1", "198.51.100.7", 0)).toBe("192.0.2.1")
    expect(clientAddress("192.0.2.1", undefined, 2)).toBe("192.0.2.1")
    expect(clientAddress("192.0.2.1", " , ", 1)).toBe("192.0.2.1")
  })
  it("is the one that the outermost trusted proxy saw; earlier entries of X-Forwarded-For are ignored", () => {
    expect(clientAddress("10.0.0.1", "203.0.113.9, 198.51.100.7", 1)).toBe("198.51.100.7")
    expect(clientAddress("10.0.0.1", "203.0.113.9, 198.51.100.7, 10.0.0.2", 2)).toBe("198.51.100.7")
    expect(clientAddress("10.0.0.1", ["203.0.113.9", "198.51.100.7"], 1)).toBe("198.51.100.7")
    expect(clientAddress("10.0.0.1", "198.51.100.7", 3)).toBe("198.51.100.7")
  })
  it("is read without its port, and is the proxy's if the forwarded one is invalid", () => {
    expect(clientAddress("10.0.0.1", "198.51.100.7:4711", 1)).toBe("198.51.100.7")
    expect(clientAddress("10.0.0.1", "[2001:db8::7]:4711", 1)).toBe("2001:db8::7")
    expect(clientAddress("10.0.0.1", "2001:db8::7", 1)).toBe("2001:db8::7")
    for (const text of ["unknown", "_hidden", "1.2.3", "somebody\u0000"])
      expect(clientAddress("10.0.0.1", text, 1)).toBe("10.0.0.1")
  })
  it("is represented by its /64 network if it is IPv6", () => {
    expect(networkOf("192.0.2.1")).toBe("192.0.2.1")
    expect(networkOf("::ffff:192.0.2.1")).toBe("192.0.2.1")
    for (const same of ["2001:db8:1:2::1", "2001:DB8:1:2:a:b:c:d", "2001:0db8:0001:0002::"])
      expect(networkOf(same)).toBe("2001:db8:1:2::/64")
    expect(networkOf("2001:db8::1")).toBe("2001:db8:0:0::/64")
    expect(networkOf("::1")).toBe("0:0:0:0::/64")
    expect(networkOf("fe80::1%eth0")).toBe("fe80:0:0:0::/64")
    expect(networkOf("")).toBe("")
  })
})

describe.each([
  [0, [401, 401, 429]],
  [1, [401, 401, 401]]
] as const)("rate limits over a socket, with %i trusted proxies,", (trusted_proxies, statuses) => {
  let server: Serving
  let http: Listening
  beforeAll(async () => {
    server = await serve("sqlite", { anonymous_rate_limit: 2 })
    server.setClock(Date.parse("2026-06-18T12:00:00Z"))
    http = await openListener(server.app.answer, { trusted_proxies })
  })
  afterAll(async () => {
    await http.stop(1_000)
    await server.close()
  })
  it("count forwarded clients separately only if a proxy is trusted", async () => {
    const got: Array<number> = []
    for (const last of [1, 2, 3])
      got.push(
        (
          await fetch(`${http.url}/api/v1/products`, {
            headers: { "x-forwarded-for": `203.0.113.1, 198.51.100.${last}` }
          })
        ).status
      )
    expect(got).toEqual(statuses)
  })
})

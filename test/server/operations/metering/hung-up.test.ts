/** Clients that hang up before they are answered, over real sockets. */
import { connect } from "node:net"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { ServerSlice } from "../../../../server/ports/server-slice.ts"
import { engines } from "../../../app.ts"
import { type Listening, openListener, owner_token, serve, type Serving } from "../../serving.ts"

const poll = { timeout: 20_000, interval: 20 }

describe.each(engines)("a client that hangs up on %s", (engine) => {
  let server: Serving, http: Listening
  let reached = 0
  const gates: Array<() => void> = []
  /** Holds requests with this header until the test releases them. */
  const holding: ServerSlice = {
    name: "holding",
    around: (call, next) =>
      call.headers["x-held"] === undefined
        ? next
        : Effect.andThen(
            Effect.promise(() => {
              reached++
              return new Promise<void>((open) => gates.push(open))
            }),
            next
          )
  }
  beforeAll(async () => {
    server = await serve(engine, { slices: [holding] })
    http = await openListener(server.app.answer)
  })
  afterAll(async () => {
    await http.stop(5_000)
    await server.close()
  })
  const sendAndHangUp = async (request_id: string, method: string, path: string, body: string): Promise<void> => {
    const before = reached
    const { hostname, port } = new URL(http.url)
    const socket = connect(Number(port), hostname)
    await new Promise((done) => socket.once("connect", done))
    socket.write(
      `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${owner_token}\r\nx-held: 1\r\n` +
        `x-request-id: ${request_id}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    )
    await expect.poll(() => reached, poll).toBe(before + 1)
    socket.destroy()
    await new Promise((done) => setTimeout(done, 100))
    gates.at(-1)?.()
  }
  const logged = async (request_id: string) =>
    (await server.ask("/api/v1/request_logs?per_page=100")).body.request_logs.filter(
      (row) => row.request_id === request_id
    )

  it("is logged and charged for the change it made", async () => {
    await sendAndHangUp("gone", "POST", "/api/v1/product_groups", JSON.stringify({ name: `Made unseen ${engine}` }))
    await expect
      .poll(
        async () =>
          (await server.ask(`/api/v1/product_groups?q[name_eq]=${encodeURIComponent(`Made unseen ${engine}`)}`)).body
            .product_groups.length,
        poll
      )
      .toBe(1)
    await expect.poll(() => logged("gone"), poll).toHaveLength(1)
    expect((await logged("gone"))[0]).toMatchObject({
      route_name: "product_groups.create",
      status_code: 201,
      response_bytes: 0
    })
    expect((await logged("gone"))[0]?.weighted_units).toBeGreaterThan(0)
  })
  it("is not logged if it hung up on a read", async () => {
    await sendAndHangUp("gone-reading", "GET", "/api/v1/product_groups", "")
    await new Promise((done) => setTimeout(done, 200))
    expect(await logged("gone-reading")).toEqual([])
  })
  it("has the invalid login code it sent counted against its address", async () => {
    const limited = { settings: { anonymous_rate_limit: 1 } }
    expect((await server.ask("/api/v1/settings/api", { method: "PUT", json: limited })).status).toBe(200)
    const guess = { code: "AAAA-BBBB-CCCC-DDDD-EEEE-FFFF-0001" }
    await sendAndHangUp("gone-guess", "POST", "/api/v1/login_codes/redeem", JSON.stringify(guess))
    await expect.poll(() => logged("gone-guess"), poll).toHaveLength(1)
    const again = await server.ask("/api/v1/login_codes/redeem", { token: null, json: guess, from: "127.0.0.1" })
    expect(again.status).toBe(429)
  })
})

/** Long bodies are expensive: they are read only for permitted users, and while there is room. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { json_body_bytes_max } from "../../core/kernel/fields/input.ts"
import type { Endpoint } from "../../core/kernel/endpoints/endpoint.ts"
import type { HttpResponse } from "../../server/http/http-message.ts"
import { engines } from "../app.ts"
import { owner_token, serve, type Serving } from "./serving.ts"

const budget = 4 * json_body_bytes_max

describe.each(engines)("a body longer than usual, on %s,", (engine) => {
  let server: Serving
  let long: ReadonlyArray<Endpoint>
  beforeAll(async () => {
    server = await serve(engine, { long_bodies_bytes_max: budget })
    long = server.app.catalogue.endpoints.filter(
      ({ body_max }) => body_max !== undefined && body_max > json_body_bytes_max
    )
  })
  afterAll(() => server.close())
  interface Sending {
    readonly target: string
    readonly token: string | undefined
    readonly length?: number
    readonly body?: () => Promise<Uint8Array>
  }
  /** Sends a body; `read` says whether the server requested it. */
  const send = async ({
    target,
    token,
    length = 2 * json_body_bytes_max,
    body = () => Promise.resolve(new TextEncoder().encode("{}"))
  }: Sending) => {
    let read = false
    const reply: HttpResponse = await server.app.ask({
      method: "POST",
      target,
      remote_address: "192.0.2.1",
      headers: {
        "content-type": "application/json",
        "content-length": String(length),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
      },
      body: () => {
        read = true
        return body()
      }
    })
    return { read, status: reply.status, headers: reply.headers, body: JSON.parse(String(reply.body)) }
  }
  const pathOf = ({ path }: Endpoint): string => path.replace(/\{\w+\}/g, "1")
  const tokenOf = async (
    abilities: ReadonlyArray<string>,
    roles: ReadonlyArray<string> = ["Admin"]
  ): Promise<string> => {
    const name = `Person ${Math.random()}`
    const {
      body: { user }
    } = await server.ask("/api/v1/users", {
      json: { name, email: `${name.replace(/\W/g, "")}@example.com`, roles, active: true }
    })
    return (await server.ask("/api/v1/tokens", { json: { name, abilities, user_id: user.id } })).body.token.secret
  }

  it("is refused unread without a token or the permission", async () => {
    expect(long.map(({ name }) => name).toSorted()).toEqual(
      expect.arrayContaining(["replicas.deliver", "replicas.push", "system.begin_restore", "system.restore_events"])
    )
    const products = await tokenOf(["products:read", "products:write"])
    for (const endpoint of long) {
      expect([endpoint.name, endpoint.public]).toEqual([endpoint.name, false])
      for (const token of [undefined, "no-such-token", products]) {
        const { read, status } = await send({ target: pathOf(endpoint), token })
        expect([endpoint.name, read]).toEqual([endpoint.name, false])
        expect([401, 403, 404]).toContain(status)
      }
    }
  })
  it("is read for a restore only if the owner sends it", async () => {
    const everything = await tokenOf(["*"])
    expect(await send({ target: "/api/v1/system/restores", token: everything })).toMatchObject({
      status: 403,
      read: false
    })
    expect(await send({ target: "/api/v1/system/restores", token: owner_token })).toMatchObject({
      status: 422,
      read: true
    })
  })
  it("is read if it holds commands of a device identified by token, query or user", async () => {
    const target = "/api/v1/sync/commands"
    const [mine, theirs] = [await tokenOf(["sync:read", "sync:write"]), await tokenOf(["sync:read", "sync:write"])]
    expect(await send({ target, token: mine })).toMatchObject({ status: 404, read: false })
    const enrolled = (token: string, more: object = {}) =>
      server.ask("/api/v1/sync/replicas", { json: { name: "van", ...more }, token })
    const {
      body: { replica }
    } = await enrolled(mine)
    const {
      body: { replica: other, token: own }
    } = await enrolled(theirs, { public_key: "A".repeat(43) })
    expect(await send({ target, token: mine })).toMatchObject({ status: 422, read: true })
    expect(await send({ target: `${target}?replica_id=${replica.id}`, token: mine })).toMatchObject({
      status: 422,
      read: true
    })
    expect(await send({ target: `${target}?replica_id=${other.id}`, token: mine })).toMatchObject({
      status: 404,
      read: false
    })
    expect(await send({ target, token: own.secret })).toMatchObject({ status: 422, read: true })
    expect(await send({ target, token: owner_token })).toMatchObject({ status: 422, read: true })
    await server.ask(`/api/v1/sync/replicas/${replica.id}`, { method: "DELETE" })
    expect(await send({ target, token: mine })).toMatchObject({
      status: 403,
      read: false,
      body: { errors: { replica: ["revoked"] } }
    })
  })
  it("is refused with Retry-After while the memory budget is used up, and accepted once it is free", async () => {
    const target = "/api/v1/sync/bundles"
    let arrive: (bytes: Uint8Array) => void = () => {}
    let first: ReturnType<typeof send> | undefined
    const arriving = new Promise<Uint8Array>((resolve) => {
      arrive = resolve
    })
    await new Promise<void>((resolve) => {
      first = send({
        target,
        token: owner_token,
        length: 3 * json_body_bytes_max,
        body: () => {
          resolve()
          return arriving
        }
      })
    })
    const second = await send({ target, token: owner_token, length: 2 * json_body_bytes_max })
    expect(second).toMatchObject({ status: 503, read: false, headers: { "retry-after": "2" } })
    // Bodies of ordinary length are still accepted.
    expect((await send({ target, token: owner_token, length: 1_000 })).status).toBe(422)
    arrive(new TextEncoder().encode("{}"))
    expect((await first)!.status).toBe(422)
    expect(await send({ target, token: owner_token, length: 2 * json_body_bytes_max })).toMatchObject({
      status: 422,
      read: true
    })
  })
  it("frees its memory budget when it is interrupted", async () => {
    const target = "/api/v1/sync/bundles"
    for (let times = 0; times < 5; times++) {
      expect(
        (
          await send({
            target,
            token: owner_token,
            length: 3 * json_body_bytes_max,
            body: () => Promise.reject(new Error("the client hung up"))
          })
        ).status
      ).toBe(500)
    }
    let giveUp = (): void => {}
    const given = server.app.ask(
      {
        method: "POST",
        target,
        remote_address: "192.0.2.1",
        headers: { authorization: `Bearer ${owner_token}`, "content-length": String(3 * json_body_bytes_max) },
        body: () => {
          setImmediate(() => giveUp())
          return new Promise(() => {})
        }
      },
      (stop) => {
        giveUp = stop
      }
    )
    await given.catch(() => undefined)
    expect((await send({ target, token: owner_token, length: 3 * json_body_bytes_max })).status).toBe(422)
  })
})

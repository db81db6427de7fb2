/** Notifications streamed to clients over real sockets. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { openListener, owner_token, serve, startedDatabase } from "../../serving.ts"
import type { Listening as Host, Serving } from "../../serving.ts"
import { type Listening, listenTo, tell } from "./writing.ts"

const soon = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (let tries = 0; !(await holds()); tries++) {
    if (tries > 6_000) throw new Error("it does not come to be")
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

describe.each(engines)("the notification stream on %s", (engine) => {
  let server: Serving, http: Host
  const open: Array<Listening> = []
  beforeAll(async () => {
    server = await serve(engine)
    http = await openListener(server.app.answer)
  })
  afterEach(() => {
    for (const one of open.splice(0)) one.hangUp()
  })
  afterAll(async () => {
    const stopped = http.stop(5_000)
    server.app.wake()
    await stopped
    await server.close()
  })
  const listen = async (
    query = "",
    headers: { readonly [name: string]: string } = {},
    token = owner_token
  ): Promise<Listening> => {
    const one = await listenTo(`${http.url}/api/v1/notifications/stream${query}`, { token, headers })
    open.push(one)
    return one
  }
  const made = async (path: string, json: object) => {
    const { status, body } = await server.ask(`/api/v1/${path}`, { json })
    expect(status, JSON.stringify(body)).toBe(201)
    return Object.values(body)[0]
  }

  it("sends its user's new broadcast notifications, and no earlier ones", async () => {
    await tell(server.app, {})
    const heard = await listen()
    expect(heard.headers.get("content-type")).toBe("text/event-stream")
    expect(heard.headers.get("cache-control")).toBe("no-store")
    expect(heard.headers.get("x-accel-buffering")).toBe("no")
    expect(heard.text()).toMatch(/^retry: 3000\n\n/)
    const [id] = await tell(server.app, {}, { user_id: 4_711 }, { is_broadcast: false })
    const [next] = await tell(server.app, {})
    await heard.until(2)
    expect(heard.ids).toEqual([id, next])
    expect(heard.events[0]).toMatchObject({
      event: "notification",
      data: { id, notification_type: "system.test_email", read_at: null, is_own: false }
    })
  })
  it("resumes after the last received id, given by header or query, across several pages", async () => {
    const [first = 0] = await tell(server.app, {})
    const ids = await tell(server.app, ...Array.from({ length: 1_200 }, () => ({})))
    const heard = await listen("", { "last-event-id": String(first) })
    await heard.until(1_200)
    const [live] = await tell(server.app, {})
    await heard.until(1_201)
    expect(heard.ids).toEqual([...ids, live])
    const asked = await listen(`?after=${ids.at(-2)}`)
    await asked.until(2)
    expect(asked.ids).toEqual([ids.at(-1), live])
    const both = await listen(`?after=0`, { "last-event-id": String(ids.at(-1)) })
    await both.until(1)
    expect(both.ids).toEqual([live])
  })
  it("sends only new ones after an invalid or unknown Last-Event-ID, and refuses an invalid `after`", async () => {
    const beyond = await listen("", { "last-event-id": "900000000" })
    const none = await listen("", { "last-event-id": "x'; drop table" })
    const [id] = await tell(server.app, {})
    await Promise.all([beyond.until(1), none.until(1)])
    expect([beyond.ids, none.ids]).toEqual([[id], [id]])
    expect((await listen("?after=-1")).status).toBe(422)
  })
  it("allows ten connections per token, and frees those whose client hung up", async () => {
    const { secret } = await made("tokens", { name: "desk", abilities: ["notifications:read"] })
    const ten = await Promise.all(Array.from({ length: 10 }, () => listen("", {}, secret)))
    expect(ten.map(({ status }) => status)).toEqual(ten.map(() => 200))
    const eleventh = await listen("", {}, secret)
    expect([eleventh.status, eleventh.headers.get("retry-after")]).toEqual([429, "30"])
    ten[3]?.hangUp()
    await soon(async () => (await listen("", {}, secret)).status === 200)
    expect((await listen()).status).toBe(200)
  })
  it("rejects tokens without the notifications:read ability", async () => {
    const { secret } = await made("tokens", { name: "narrow", abilities: ["products:read"] })
    expect((await listen("", {}, secret)).status).toBe(403)
  })
  it("ends when its token is revoked or its account is closed", async () => {
    const user = await made("users", { name: "Ann", email: `ann.${engine}@example.com`, roles: [], active: true })
    const token = await made("tokens", { name: "a", abilities: ["notifications:read"], user_id: user.id })
    const other = await made("tokens", { name: "b", abilities: ["notifications:read"], user_id: user.id })
    const heard = await listen("", {}, token.secret)
    const of_account = await listen("", {}, other.secret)
    expect((await server.ask(`/api/v1/tokens/${token.id}`, { method: "DELETE" })).status).toBe(204)
    await heard.ended
    const [id] = await tell(server.app, { user_id: user.id })
    await of_account.until(1)
    expect(of_account.ids).toEqual([id])
    const closed = await server.ask(`/api/v1/users/${user.id}`, { method: "DELETE" })
    expect(closed.status, closed.text).toBe(204)
    await of_account.ended
  })
  it("ends when its token expires, and sends nothing afterwards", async () => {
    const now = Date.now()
    const expires_at = new Date(now + 3_600_000).toISOString()
    const { secret } = await made("tokens", { name: "short", abilities: ["notifications:read"], expires_at })
    const [short, lasting] = [await listen("", {}, secret), await listen()]
    const [before] = await tell(server.app, {})
    await short.until(1)
    server.setClock(now + 3_600_001)
    await short.ended
    const [after] = await tell(server.app, {})
    await lasting.until(2)
    server.setClock(Date.now())
    expect([short.ids, lasting.ids]).toEqual([[before], [before, after]])
    expect((await listen("", {}, secret)).status).toBe(200)
  })
  it("sends a comment as keep-alive while idle", async () => {
    const quiet = await listen()
    await soon(() => quiet.text().endsWith("\n\n: \n\n"))
    expect(quiet.events).toEqual([])
  })
  it("sends nothing recorded after its token was revoked or its account closed", async () => {
    const user = await made("users", { name: "Ben", email: `ben.${engine}@example.com`, roles: [], active: true })
    const token = await made("tokens", { name: "a", abilities: ["notifications:read"], user_id: user.id })
    const other = await made("tokens", { name: "b", abilities: ["notifications:read"], user_id: user.id })
    const heard = await listen("", {}, token.secret)
    const of_account = await listen("", {}, other.secret)
    // Tokens and accounts were checked just before.
    await tell(server.app, { user_id: user.id })
    await Promise.all([heard.until(1), of_account.until(1)])
    expect((await server.ask(`/api/v1/tokens/${token.id}`, { method: "DELETE" })).status).toBe(204)
    await tell(server.app, { user_id: user.id })
    await Promise.all([heard.ended, of_account.until(2)])
    expect([heard.ids.length, of_account.ids.length]).toEqual([1, 2])
    expect((await server.ask(`/api/v1/users/${user.id}`, { method: "DELETE" })).status).toBe(204)
    await tell(server.app, { user_id: user.id })
    await of_account.ended
    expect(of_account.ids).toHaveLength(2)
  })
  it("reaches two hundred connections at once", async () => {
    const secrets = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const { secret } = await made("tokens", { name: `t${at}`, abilities: ["notifications:read"] })
        return String(secret)
      })
    )
    const all = await Promise.all(Array.from({ length: 200 }, (_, at) => listen("", {}, secrets[at % 20])))
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
    const ids = [...(await tell(server.app, {}, {})), ...(await tell(server.app, {}))]
    await Promise.all(all.map((one) => one.until(3)))
    for (const one of all) expect(one.ids).toEqual(ids)
  })
})

it.each(engines)("notification streams on %s end at once when the server stops", async (engine) => {
  const server = await serve(engine)
  const http = await openListener(server.app.answer)
  const heard = await listenTo(`${http.url}/api/v1/notifications/stream`, { token: owner_token })
  let cut = false
  const stopped = http.stop(60_000).then(() => (cut = true))
  server.app.wake()
  await heard.ended
  await stopped
  expect(cut).toBe(true)
  await server.close()
})

it("notification streams of two servers on one Postgres send the notifications of both in order", async () => {
  const { database, drop } = await startedDatabase("pg")
  const [{ app: one }, { app: other }] = [await serve("pg", { database }), await serve("pg", { database })]
  const hosts = await Promise.all([openListener(one.answer), openListener(other.answer)])
  try {
    const heard = await Promise.all(
      hosts.map(({ url }) => listenTo(`${url}/api/v1/notifications/stream`, { token: owner_token }))
    )
    const ids: Array<number> = []
    for (let round = 0; round < 10; round++) {
      ids.push(...(await tell(one, {})), ...(await tell(other, {})))
    }
    await Promise.all(heard.map((each) => each.until(20)))
    for (const each of heard) expect(each.ids).toEqual(ids)
  } finally {
    const stopping = hosts.map((host) => host.stop(5_000))
    for (const app of [one, other]) app.wake()
    await Promise.all(stopping)
    await one.close()
    await other.close()
    await drop()
  }
})

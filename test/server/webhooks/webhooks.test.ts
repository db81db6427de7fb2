/** Webhooks out: who may have them, and that subscribers are told once, signed, and of nothing that was refused (cases I). */
import { createHmac } from "node:crypto"
import { Webhook } from "standardwebhooks"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { nothing_outside } from "../../../server/outside.ts"
import { engines } from "../../app.ts"
import { serve, type Serving } from "../serving.ts"
import { answering, receiver, type Receiver } from "./receiver.ts"

const outside = { ...nothing_outside, webhooks_private: true, webhooks_waits_seconds: [1, 1] }
const poll = { timeout: 20_000, interval: 20 }

describe.each(engines)("webhooks on %s", (engine) => {
  let server: Serving, target: Receiver
  beforeAll(async () => {
    server = await serve(engine, { outside })
    target = await receiver()
  })
  afterAll(async () => {
    await server.close()
    await target.close()
  })
  const subscribed = async (events: ReadonlyArray<string>, url: string, token?: string) => {
    const { body, status } = await server.ask("/api/v1/webhooks", {
      json: { url, events },
      ...(token === undefined ? {} : { token })
    })
    expect(status, JSON.stringify(body)).toBe(201)
    return body.webhook as { readonly id: number; readonly secret: string }
  }
  const member = async (name: string) => {
    const { body, status } = await server.ask("/api/v1/members", { json: { name, membership_type: "organisation" } })
    expect(status, JSON.stringify(body)).toBe(201)
    return body.member
  }
  /** Somebody else with the permission, and their token. */
  const somebody = async (name: string) => {
    const role = (await server.ask("/api/v1/roles", { json: { name, permissions: ["webhooks.manage"] } })).body.role
    const user = (
      await server.ask("/api/v1/users", {
        json: { name, email: `${name}@example.com`, roles: [role.name], active: true }
      })
    ).body.user
    const issued = await server.ask("/api/v1/tokens", {
      json: { name, abilities: ["webhooks:manage"], user_id: user.id }
    })
    return { id: user.id as number, token: issued.body.token.secret as string }
  }

  it("show their secret when they are made, and never again", async () => {
    const made = await subscribed(["member.created"], "https://example.com/hook")
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const { body, text } = await server.ask(`/api/v1/webhooks/${made.id}`)
    expect(body.webhook).toEqual({
      id: made.id,
      url: "https://example.com/hook",
      events: ["member.created"],
      is_active: true,
      consecutive_failures: 0,
      disabled_at: null,
      created_at: expect.any(String),
      updated_at: expect.any(String)
    })
    expect(text).not.toContain("secret")
    expect((await server.ask("/api/v1/webhooks")).text).not.toContain("whsec_")
    expect((await server.ask(`/api/v1/webhooks/${made.id}`, { method: "DELETE" })).status).toBe(204)
    expect((await server.ask(`/api/v1/webhooks/${made.id}`)).status).toBe(404)
  })

  it("deliver an event once, signed in both ways, with the object as the API shows it", async () => {
    const { secret, id } = await subscribed(["member.created"], target.url)
    const made = await member("Halle 3")
    await expect.poll(() => target.got.length, poll).toBe(1)
    const [{ body, headers, text }] = target.got as [Receiver["got"][number]]
    expect(new Webhook(secret).verify(text, headers as Record<string, string>)).toEqual(body)
    expect(headers["x-signals-signature"]).toBe(createHmac("sha256", secret).update(text).digest("hex"))
    expect(headers["x-signals-event"]).toBe("member.created")
    expect(headers["content-type"]).toBe("application/json")
    const shown = (await server.ask(`/api/v1/members/${made.id}`)).body.member
    expect(body).toEqual({
      type: "member.created",
      event: "member.created",
      timestamp: made.created_at,
      data: { member: shown }
    })
    // An attempt is written down once its answer is there, which the receiver has given just now.
    const log = async () => (await server.ask(`/api/v1/webhooks/${id}/logs`)).body
    await expect.poll(async () => (await log()).meta.total, poll).toBe(1)
    const { logs } = await log()
    expect(logs[0]).toEqual({
      id: expect.any(Number),
      event: "member.created",
      event_id: headers["webhook-id"],
      response_code: 200,
      error: null,
      attempts: 1,
      duration_ms: expect.any(Number),
      response_excerpt: null,
      delivered_at: expect.any(String),
      created_at: expect.any(String)
    })
    await server.ask(`/api/v1/webhooks/${id}`, { method: "DELETE" })
  })

  it("are their maker's own, and the account owner's", async () => {
    const [maker, other] = [await somebody("Maker"), await somebody("Other")]
    const { id } = await subscribed(["member.created"], "https://example.com/hook", maker.token)
    for (const [method, path] of [
      ["GET", ""],
      ["PUT", ""],
      ["GET", "/logs"],
      ["POST", "/test"],
      ["POST", "/rotate_secret"],
      ["DELETE", ""]
    ] as const) {
      const got = await server.ask(`/api/v1/webhooks/${id}${path}`, { method, token: other.token, json: {} })
      expect(got.status, `${method} ${path}`).toBe(403)
    }
    const listed = async (token?: string) =>
      (await server.ask("/api/v1/webhooks", token === undefined ? {} : { token })).body.webhooks.map(
        (one: any) => one.id
      )
    expect(await listed(other.token)).toEqual([])
    expect(await listed(maker.token)).toEqual([id])
    expect((await server.ask(`/api/v1/webhooks/${id}`)).status).toBe(200)
    await server.ask(`/api/v1/webhooks/${id}`, { method: "DELETE" })
  })

  it("refuse what nobody can be told of, naming what there is", async () => {
    const asked = (json: object) => server.ask("/api/v1/webhooks", { json })
    const { body, status } = await asked({ url: "https://example.com", events: ["member.created", "member.born"] })
    expect(status).toBe(422)
    expect(body.errors["events.1"][0]).toContain("member.created, ")
    expect((await asked({ url: "https://example.com", events: [] })).body.errors).toHaveProperty("events")
    expect((await asked({ url: "ftp://example.com", events: ["*"] })).body.errors).toHaveProperty("url")
    expect((await asked({ url: `https://example.com/${"a".repeat(2048)}`, events: ["*"] })).body.errors).toHaveProperty(
      "url"
    )
    expect((await asked({})).body.errors).toMatchObject({ url: [expect.anything()], events: [expect.anything()] })
  })

  it("are told nothing of what was refused", async () => {
    const own = await receiver()
    const { id } = await subscribed(["*"], own.url)
    expect((await server.ask("/api/v1/members", { json: { name: "" } })).status).toBe(422)
    await member("Told")
    await expect.poll(() => own.got.length, poll).toBe(1)
    expect(own.got[0]?.body.data.member.name).toBe("Told")
    await server.ask(`/api/v1/webhooks/${id}`, { method: "DELETE" })
    await own.close()
  })

  it("are tried again until they are taken, under the same id, each attempt in the log", async () => {
    let failures = 0
    const own = await receiver((delivered, response) =>
      answering(failures++ < 2 ? 500 : 204, {}, "busy")(delivered, response)
    )
    const { id, secret } = await subscribed(["member.created"], own.url)
    await member("Stubborn")
    await expect.poll(() => own.got.length, poll).toBe(3)
    expect(new Set(own.got.map(({ headers }) => headers["webhook-id"])).size).toBe(1)
    expect(new Set(own.got.map(({ text }) => text)).size).toBe(1)
    for (const { headers, text } of own.got) new Webhook(secret).verify(text, headers as Record<string, string>)
    const logs = async () => (await server.ask(`/api/v1/webhooks/${id}/logs`)).body.logs
    await expect.poll(async () => (await logs()).length, poll).toBe(3)
    expect((await logs()).map((log: any) => [log.attempts, log.response_code, log.error])).toEqual([
      [3, 204, null],
      [2, 500, "http"],
      [1, 500, "http"]
    ])
    expect((await server.ask(`/api/v1/webhooks/${id}`)).body.webhook.consecutive_failures).toBe(0)
    await server.ask(`/api/v1/webhooks/${id}`, { method: "DELETE" })
    await own.close()
  })
})

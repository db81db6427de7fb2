/**
 * Outbound webhooks: permissions, and deliveries that are sent once, signed, and never for refused commands.
 */
import { createHmac } from "node:crypto"
import { Webhook } from "standardwebhooks"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { house, type House, poll } from "./house.ts"
import { answering, receiver, type Receiver } from "./receiver.ts"

describe.each(engines)("webhooks on %s", (engine) => {
  let server: House, target: Receiver
  beforeAll(async () => {
    server = await house(engine)
    target = await receiver()
  })
  afterAll(async () => {
    await server.close()
    await target.close()
  })
  /** Creates a user whose role permits webhooks, and a webhook of theirs. */
  const somebody = async (name: string) => {
    const role = await server.create("/roles", { name, permissions: ["webhooks.manage"] })
    const { secret, user_id } = await server.person({ name, roles: [name], abilities: ["webhooks:manage"] })
    const { body } = await server.asks("POST", "/webhooks", { url: target.url, events: ["product.created"] }, secret)
    return { role_id: role.id as number, user_id, token: secret, webhook_id: body.webhook.id as number }
  }

  it("show their secret on creation only", async () => {
    const made = await server.subscribed(["member.created"], "https://example.com/hook")
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
    await server.unsubscribed(made.id)
    expect((await server.ask(`/api/v1/webhooks/${made.id}`)).status).toBe(404)
  })

  it("deliver an event once, with both signatures, and the object as the API shows it", async () => {
    const { secret, id } = await server.subscribed(["member.created"], target.url)
    const made = await server.member("Halle 3")
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
    // An attempt is recorded shortly after the receiver's response.
    await expect.poll(async () => (await server.logs(id)).length, poll).toBe(1)
    expect((await server.logs(id))[0]).toEqual({
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
    await server.unsubscribed(id)
  })

  it("contain the object as each event left it, even if it changes before sending", async () => {
    const target = await receiver()
    try {
      const { id } = await server.subscribed(["invoice.created", "invoice.issued", "invoice.voided"], target.url)
      const member_id = (await server.member("Acme Events")).id
      const { invoice } = await server.did(201, "POST", "/invoices", {
        member_id,
        items: [{ name: "Lamp", unit_price: "50.00" }]
      })
      await server.did(200, "POST", `/invoices/${invoice.id}/issue`, {})
      await server.did(200, "POST", `/invoices/${invoice.id}/void`, {})
      const bodies = await server.sql("select event, body from webhook_deliveries order by position")
      expect(bodies.map(({ body, event }) => [event, JSON.parse(String(body)).data.invoice.status])).toEqual([
        ["invoice.created", "draft"],
        ["invoice.issued", "issued"],
        ["invoice.voided", "voided"]
      ])
      await server.unsubscribed(id)
    } finally {
      await target.close()
    }
  })
  it("are visible to their creator and the account owner only", async () => {
    const [maker, other] = [await somebody("Maker"), await somebody("Other")]
    const { webhook_id: id } = maker
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
        (one: Record<"id", unknown>) => one.id
      )
    expect(await listed(other.token)).toEqual([other.webhook_id])
    expect(await listed(maker.token)).toEqual([id])
    // Newest first.
    expect(await listed()).toEqual([other.webhook_id, id])
    expect((await server.ask(`/api/v1/webhooks/${id}`)).status).toBe(200)
    await server.unsubscribed(id)
  })

  it("are refused for unknown events, listing the valid ones, and for invalid URLs", async () => {
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

  it("send nothing for refused commands", async () => {
    const own = await receiver()
    const { id } = await server.subscribed(["*"], own.url)
    expect((await server.ask("/api/v1/members", { json: { name: "" } })).status).toBe(422)
    await server.member("Told")
    await expect.poll(() => own.got.length, poll).toBe(1)
    expect(own.got[0]?.body.data.member.name).toBe("Told")
    await server.unsubscribed(id)
    await own.close()
  })

  it("are sent again under the same message id until the receiver accepts, with a log row per attempt", async () => {
    let failures = 0
    const own = await receiver((delivered, response) =>
      answering(failures++ < 2 ? 500 : 204, {}, "busy")(delivered, response)
    )
    const { id, secret } = await server.subscribed(["member.created"], own.url)
    await server.member("Stubborn")
    await expect.poll(() => own.got.length, poll).toBe(3)
    expect(new Set(own.got.map(({ headers }) => headers["webhook-id"])).size).toBe(1)
    expect(new Set(own.got.map(({ text }) => text)).size).toBe(1)
    for (const { headers, text } of own.got) new Webhook(secret).verify(text, headers as Record<string, string>)
    await expect.poll(async () => (await server.logs(id)).length, poll).toBe(3)
    expect((await server.logs(id)).map((log) => [log.attempts, log.response_code, log.error])).toEqual([
      [3, 204, null],
      [2, 500, "http"],
      [1, 500, "http"]
    ])
    expect((await server.webhook(id)).consecutive_failures).toBe(0)
    await server.unsubscribed(id)
    await own.close()
  })

  it("are sent under distinct, valid message ids, whatever command ids devices send", async () => {
    const own = await receiver()
    const { id: webhook_id } = await server.subscribed(["member.created"], own.url)
    const enrolled = await server.did(201, "POST", "/sync/replicas", { name: "van" })
    const replica_id: number = enrolled.replica.id
    const ids = ["line\nbreak", "umlaut ä 漢", "dots.and.dots", "nul\u0001"]
    const commands = ids.map((id, at) => ({
      n: at + 1,
      id,
      name: "members.create",
      payload: { params: {}, body: { name: `Told ${at}`, membership_type: "organisation" } },
      ids: {},
      issued_at: new Date().toISOString()
    }))
    const { verdicts } = await server.did(200, "POST", "/sync/commands", { replica_id, commands })
    expect(verdicts.map(({ status }) => status)).toEqual(ids.map(() => "accepted"))
    await expect.poll(() => own.got.length, poll).toBe(ids.length)
    const told = own.got.map(({ headers }) => String(headers["webhook-id"]))
    expect(new Set(told).size).toBe(ids.length)
    for (const id of told) expect(id).toMatch(/^msg_[\w-]+$/)
    await server.unsubscribed(webhook_id)
    await own.close()
  })

  const isActive = async (id: number): Promise<boolean> => (await server.webhook(id)).is_active

  it("are disabled when their owner loses the permission, by user or by role", async () => {
    const [moved, narrowed, stays] = [await somebody("moved"), await somebody("narrowed"), await somebody("stays")]
    await server.did(200, "PUT", `/users/${moved.user_id}`, { roles: [] })
    await server.did(200, "PUT", `/roles/${narrowed.role_id}`, { permissions: [] })
    await server.did(200, "PUT", `/roles/${stays.role_id}`, { permissions: ["webhooks.manage", "members.view"] })
    expect(await isActive(moved.webhook_id)).toBe(false)
    expect(await isActive(narrowed.webhook_id)).toBe(false)
    expect(await isActive(stays.webhook_id)).toBe(true)
  })

  it("are recorded in the journal with their user, host and events, without secrets", async () => {
    const { id, secret } = await server.subscribed(["member.created"], "https://example.com/secret-path?token=1")
    await server.did(200, "PUT", `/webhooks/${id}`, { is_active: false })
    await server.did(200, "PUT", `/webhooks/${id}`, { is_active: false })
    await server.did(200, "POST", `/webhooks/${id}/rotate_secret`)
    await server.did(204, "DELETE", `/webhooks/${id}`)
    const rows = await server.sql(`select type, data from journal where stream = 'webhook:${id}' order by position`)
    const events = rows.map(({ data, type }) => [type, typeof data === "string" ? JSON.parse(data) : data])
    const described = { id, user_id: 1, target: "https://example.com", events: ["member.created"] }
    expect(events).toEqual([
      ["webhook.created", { ...described, is_active: true }],
      ["webhook.updated", { ...described, is_active: false }],
      ["webhook.secret_rotated", { id }],
      ["webhook.deleted", { id }]
    ])
    const journal = JSON.stringify(await server.sql("select data from journal"))
    for (const kept_away of [secret, "secret-path"]) expect(journal).not.toContain(kept_away)
  })
})

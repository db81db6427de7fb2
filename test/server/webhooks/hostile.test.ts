/** Webhooks against people with few rights, or rights they had once. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../../app.ts"
import { house, type House, poll } from "./house.ts"
import { receiver, type Receiver } from "./receiver.ts"

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

  it("are told of commands whatever ids devices give these", async () => {
    await server.subscribed(["member.created"], target.url)
    const enrolled = await server.did(201, "POST", "/sync/replicas", { name: "van", schema_version: 2 })
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
    expect(verdicts.map(({ status }: { status: string }) => status)).toEqual(ids.map(() => "accepted"))
    await expect.poll(() => target.got.length, poll).toBe(ids.length)
    const told = target.got.map(({ headers }) => String(headers["webhook-id"]))
    expect(new Set(told).size).toBe(ids.length)
    for (const id of told) expect(id).toMatch(/^msg_[\w-]+$/)
  })

  /** Somebody with a role of their own that may have webhooks, and a webhook of theirs. */
  const somebody = async (name: string) => {
    const { role } = await server.did(201, "POST", "/roles", { name, permissions: ["webhooks.manage"] })
    const { user } = await server.did(201, "POST", "/users", {
      name,
      email: `${name}@example.com`,
      roles: [role.name],
      active: true
    })
    const { token } = await server.did(201, "POST", "/tokens", {
      name,
      abilities: ["webhooks:manage"],
      user_id: user.id
    })
    const { body } = await server.ask("/api/v1/webhooks", {
      json: { url: target.url, events: ["product.created"] },
      token: token.secret
    })
    return { role, user, webhook_id: body.webhook.id as number }
  }
  const isActive = async (id: number): Promise<boolean> => (await server.webhook(id)).is_active

  it("end with the right to have them, be it their owner's or their role's", async () => {
    const [moved, narrowed, stays] = [await somebody("moved"), await somebody("narrowed"), await somebody("stays")]
    await server.did(200, "PUT", `/users/${moved.user.id}`, { roles: [] })
    await server.did(200, "PUT", `/roles/${narrowed.role.id}`, { permissions: [] })
    await server.did(200, "PUT", `/roles/${stays.role.id}`, { permissions: ["webhooks.manage", "members.view"] })
    expect(await isActive(moved.webhook_id)).toBe(false)
    expect(await isActive(narrowed.webhook_id)).toBe(false)
    expect(await isActive(stays.webhook_id)).toBe(true)
  })

  it("leave in the journal who had what sent where, without secrets", async () => {
    const { id, secret } = await server.subscribed(
      ["member.created"],
      "https://user:pass@example.com/secret-path?token=1"
    )
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
    for (const kept_away of [secret, "secret-path", "user:pass"]) expect(journal).not.toContain(kept_away)
  })
})

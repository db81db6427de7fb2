/** Deliveries: failing, stalling and moving receivers, deactivated webhooks, tests, replays, new secrets. */
import { Webhook } from "standardwebhooks"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { makeGuard } from "../../../../server/delivery/webhooks/guard.ts"
import { sender } from "../../../../server/delivery/webhooks/send.ts"
import { waitAfter } from "../../../../server/delivery/webhooks/outcomes.ts"
import { engines } from "../../../app.ts"
import { house, type House, poll } from "./house.ts"
import { answering, type Answers, type Delivered, receiver, type Receiver } from "./receiver.ts"

const day_millis = 86_400_000
const headersOf = ({ headers }: Delivered) => headers as Record<string, string>
const isSigned = (secret: string, delivered: Delivered): boolean => {
  try {
    new Webhook(secret).verify(delivered.text, headersOf(delivered))
    return true
  } catch {
    return false
  }
}

describe("the wait before the next attempt of a webhook delivery", () => {
  const waits = [60, 300, 1_800]
  const after = (attempts: number, retry_after_seconds: number | null, chance = 0) =>
    waitAfter(attempts, { retry_after_seconds }, waits, chance)
  it.each([
    [1, null, 60],
    [2, null, 300],
    [3, null, 1_800],
    [4, null, undefined],
    [1, 10, 60],
    [1, 200, 200],
    [1, 9_999, 300],
    [3, 9_999, 1_800]
  ])("follows from attempts and Retry-After: after %i and %s it is %s seconds", (attempts, asked, wait) =>
    expect(after(attempts, asked)).toBe(wait)
  )
  it("is extended by a random part of up to a tenth", () => expect(after(1, null, 1)).toBeCloseTo(66))
})

describe.each(engines)("webhook deliveries on %s", (engine) => {
  let server: House
  const open: Array<Receiver> = []
  const target = async (answers?: Answers): Promise<Receiver> => {
    const made = await receiver(answers)
    open.push(made)
    return made
  }
  beforeAll(async () => {
    server = await house(engine)
  })
  afterEach(async () => {
    for (const { id } of await server.show("/webhooks?per_page=100")) await server.unsubscribed(id)
    await Promise.all(open.splice(0).map((one) => one.close()))
  })
  afterAll(() => server.close())

  it("turn the webhook off and notify its owner after a 410", async () => {
    const gone = await target(answering(410))
    const { id } = await server.subscribed(["member.created"], gone.url)
    await server.member("Gone")
    await expect.poll(async () => (await server.webhook(id)).is_active, poll).toBe(false)
    expect((await server.webhook(id)).disabled_at).toEqual(expect.any(String))
    const mails = await server.sql("select id from effect_queue where queue_name = 'mail.send'")
    expect(mails.map(({ id: job }) => job)).toContainEqual(expect.stringContaining(`webhook.${id}.disabled`))
    await server.member("Unheard")
    const other = await target()
    await server.subscribed(["member.created"], other.url)
    await server.member("Heard")
    await expect.poll(() => other.got.length, poll).toBe(1)
    expect(gone.got).toHaveLength(1)
  })

  it("do not follow redirects, and count them as failures", async () => {
    const inside = await target()
    const moved = await target(answering(307, { location: inside.url }))
    const { id } = await server.subscribed(["member.created"], moved.url)
    await server.member("Moved")
    await expect.poll(async () => (await server.logs(id)).length, poll).toBe(3)
    expect((await server.logs(id)).map(({ error, response_code }) => [response_code, error])).toEqual(
      Array.from({ length: 3 }, () => [307, "http"])
    )
    expect(inside.got).toEqual([])
    expect((await server.webhook(id)).consecutive_failures).toBe(3)
  })

  it("do not wait for the end of an endless response, and log at most its first 1,024 bytes", async () => {
    const talker = await target((_delivered, response) => {
      response.writeHead(200, { "content-type": "text/plain" })
      const more = () => {
        while (response.writable && response.write("ä\u0000".repeat(20_000)));
        if (response.writable) response.once("drain", more)
      }
      more()
    })
    const { id } = await server.subscribed(["member.created"], talker.url)
    await server.member("Talker")
    await expect.poll(async () => (await server.logs(id)).length, poll).toBe(1)
    const [log] = await server.logs(id)
    expect(log).toMatchObject({ response_code: 200, error: null })
    expect(Buffer.byteLength(log.response_excerpt)).toBeLessThanOrEqual(1_024)
    expect(log.response_excerpt).toMatch(/^ä{100}/)
  })

  it.each([
    ["none was taken for 24 hours", null, false],
    ["one was taken within 24 hours", 23 * 3_600_000, true]
  ])(
    "turn the webhook off after 18 failures only if no delivery was taken for 24 hours (%s)",
    async (_what, taken_millis_ago, stays) => {
      const failing = await target(answering(500))
      const { id } = await server.subscribed(["member.created"], failing.url)
      const ago = (millis: number) => `'${new Date(Date.now() - millis).toISOString()}'`
      await server.sql(
        `update webhooks set consecutive_failures = 17, failing_since = ${ago(25 * 3_600_000)}, ` +
          `last_success_at = ${taken_millis_ago === null ? "null" : ago(taken_millis_ago)} where id = ${id}`
      )
      await server.member("Eighteen")
      await expect.poll(async () => (await server.webhook(id)).consecutive_failures, poll).toBeGreaterThan(17)
      const after = await server.webhook(id)
      expect(after.is_active).toBe(stays)
      expect(after.disabled_at === null).toBe(stays)
      if (stays) return
      const again = (await server.did(200, "PUT", `/webhooks/${id}`, { is_active: true })).webhook
      expect(again).toMatchObject({ is_active: true, consecutive_failures: 0, disabled_at: null })
    }
  )

  it("of a test event reach a disabled webhook as well, and do not count as failures", async () => {
    const failing = await target(answering(503))
    const { id, secret } = await server.subscribed(["member.created"], failing.url)
    await server.did(200, "PUT", `/webhooks/${id}`, { is_active: false })
    const { event_id } = await server.did(202, "POST", `/webhooks/${id}/test`)
    await expect.poll(async () => (await server.logs(id)).length, poll).toBe(1)
    expect(failing.got).toHaveLength(1)
    expect(failing.got[0]?.body).toMatchObject({ type: "webhook.test", data: { webhook: { id } } })
    expect(isSigned(secret, failing.got[0]!)).toBe(true)
    expect((await server.logs(id))[0]).toMatchObject({ event: "webhook.test", event_id, error: "http", attempts: 1 })
    expect((await server.webhook(id)).consecutive_failures).toBe(0)
  })

  it("are replayed singly or since an instant under their original ids, missed ones included", async () => {
    const first = await target()
    const { id } = await server.subscribed(["member.created"], first.url)
    const made = await server.member("One")
    await expect.poll(async () => (await server.logs(id)).length, poll).toBe(1)
    const [log] = await server.logs(id)
    await server.did(202, "POST", `/webhooks/${id}/logs/${log.id}/replay`)
    await expect.poll(() => first.got.length, poll).toBe(2)
    expect(first.got[1]?.text).toBe(first.got[0]?.text)
    expect(headersOf(first.got[1]!)["webhook-id"]).toBe(headersOf(first.got[0]!)["webhook-id"])
    await server.did(200, "PUT", `/webhooks/${id}`, { is_active: false })
    await server.member("Missed")
    await server.did(200, "PUT", `/webhooks/${id}`, { is_active: true })
    const since = { since: made.created_at }
    expect((await server.did(202, "POST", `/webhooks/${id}/replay`, since)).count).toBe(2)
    await expect.poll(() => first.got.length, poll).toBe(4)
    expect(
      first.got
        .slice(2)
        .map(({ body }) => body.data.member.name)
        .sort()
    ).toEqual(["Missed", "One"])
    expect(new Set(first.got.map((one) => headersOf(one)["webhook-id"])).size).toBe(2)
    const problem = await server.did(422, "POST", `/webhooks/${id}/replay`, {})
    expect(problem.errors).toHaveProperty("since")
  })

  it("are signed with the old and the new secret for a day after a rotation", async () => {
    let accepted: string
    const strict = await target((delivered, response) => {
      response.writeHead(isSigned(accepted, delivered) ? 204 : 401)
      response.end()
    })
    const { id, secret } = await server.subscribed(["member.created"], strict.url)
    accepted = secret
    const rotated = (await server.did(200, "POST", `/webhooks/${id}/rotate_secret`)).webhook
    expect(rotated.secret).toMatch(/^whsec_/)
    expect(rotated.secret).not.toBe(secret)
    await server.member("Before the receiver knows")
    await expect.poll(() => strict.got.length, poll).toBe(1)
    accepted = rotated.secret
    await server.member("Once it does")
    await expect.poll(() => strict.got.length, poll).toBe(2)
    await expect.poll(async () => (await server.logs(id)).length, poll).toBe(2)
    for (const log of await server.logs(id)) expect(log.response_code).toBe(204)
    await server.sql(
      `update webhooks set previous_secret_until = '${new Date(Date.now() - day_millis).toISOString()}' where id = ${id}`
    )
    await server.member("A day later")
    await expect.poll(() => strict.got.length, poll).toBe(3)
    expect(isSigned(secret, strict.got[2]!)).toBe(false)
    expect(isSigned(rotated.secret, strict.got[2]!)).toBe(true)
  })

  it("run two at a time per webhook, and do not delay other webhooks", async () => {
    const held: Array<() => void> = []
    const slow = await target((_delivered, response) => {
      held.push(() => response.end())
    })
    const quick = await target()
    await server.subscribed(["member.created"], slow.url)
    await server.subscribed(["member.created"], quick.url)
    for (let n = 0; n < 12; n++) await server.member(`Queue ${n}`)
    await expect.poll(() => quick.got.length, poll).toBe(12)
    expect(slow.got).toHaveLength(2)
    while (slow.got.length < 12 || held.length > 0) {
      for (const release of held.splice(0)) release()
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    expect(slow.at_once.most).toBeLessThanOrEqual(2)
  })

  it("are dropped when their webhook is turned off, and stay dropped when it is turned on again", async () => {
    const failing = await target(answering(500))
    const { id } = await server.subscribed(["member.created"], failing.url)
    await server.member("Dropped")
    await expect.poll(async () => (await server.logs(id)).length, poll).toBe(1)
    await server.did(200, "PUT", `/webhooks/${id}`, { is_active: false })
    const waiting = `select count(*) as count from webhook_deliveries where webhook_id = ${id} and state = 'waiting'`
    expect(Number((await server.sql(waiting))[0].count)).toBe(0)
    await server.did(200, "PUT", `/webhooks/${id}`, { is_active: true })
    expect(Number((await server.sql(waiting))[0].count)).toBe(0)
  })

  it("contain no erased data, and are rendered again from what remains", async () => {
    const failing = await target(answering(500))
    const { id } = await server.subscribed(["member.created", "member.anonymised"], failing.url)
    const made = await server.member("Erika Mustermann")
    await expect.poll(async () => (await server.logs(id)).length, poll).toBeGreaterThanOrEqual(1)
    await server.did(200, "POST", `/members/${made.id}/anonymise`)
    const kept = JSON.stringify([
      await server.sql("select * from webhook_deliveries"),
      await server.sql("select * from webhook_logs")
    ])
    expect(kept).not.toContain("Mustermann")
    await expect.poll(() => failing.got.filter(({ body }) => body.event === "member.created").length, poll).toBe(3)
    expect(failing.got.filter(({ body }) => body.event === "member.created").at(-1)?.text).not.toContain("Mustermann")
  })

  it("include invoices the webhook's owner may not see, and end when the owner loses webhooks.manage", async () => {
    const role = await server.create("/roles", { name: "Hooks only", permissions: ["webhooks.manage"] })
    const { secret: token } = await server.person({ roles: [role.name] })
    const to = await target()
    const json = { url: to.url, events: ["invoice.issued"] }
    const made = await server.ask("/api/v1/webhooks", { token, json })
    expect(made.status).toBe(201)
    const member_id = (await server.member("Billed")).id
    const draft = { member_id, items: [{ name: "Lamp", unit_price: "10.00" }] }
    const { id } = (await server.did(201, "POST", "/invoices", draft)).invoice
    expect((await server.ask(`/api/v1/invoices/${id}`, { token })).status).toBe(403)
    await server.did(200, "POST", `/invoices/${id}/issue`, {})
    await expect.poll(() => to.got.length, poll).toBe(1)
    expect(to.got[0]?.body.data.invoice).toMatchObject({ id, status: "issued" })
    await server.did(200, "PUT", `/roles/${role.id}`, { permissions: ["invoices.view"] })
    expect((await server.webhook(made.body.webhook.id)).is_active).toBe(false)
    const other = (await server.did(201, "POST", "/invoices", draft)).invoice
    await server.did(200, "POST", `/invoices/${other.id}/issue`, {})
    expect((await server.sql("select * from webhook_deliveries")).length).toBeLessThanOrEqual(1)
  })

  it("stop when their owner's account is closed, as that turns the webhook off", async () => {
    const { secret, user_id } = await server.person({ permissions: ["webhooks.manage"] })
    const to = await target()
    const made = await server.asks("POST", "/webhooks", { url: to.url, events: ["*"] }, secret)
    await server.did(204, "DELETE", `/users/${user_id}`)
    expect((await server.webhook(made.body.webhook.id)).is_active).toBe(false)
  })
})

describe("a webhook delivery", () => {
  it.each<[string, Answers]>([
    ["says nothing", () => {}],
    ["begins and says no more", (_delivered, response) => void response.writeHead(200).write("wait")]
  ])("fails with a timeout if its receiver %s", async (_what, answers) => {
    const silent = await receiver(answers)
    const send = sender(makeGuard({ allows_private: true }), 200)
    const outcome = await send({ url: silent.url, headers: {}, body: "{}" }, new AbortController().signal)
    expect(outcome).toMatchObject({ error: "timeout" })
    await silent.close()
  })
})

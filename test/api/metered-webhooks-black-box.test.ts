/** Metering of webhooks, over the API alone (rules/conventions 14 and 16). */
import type { ServerResponse } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { answering, receiver } from "../server/delivery/webhooks/receiver.ts"
import { type Books, day, minute, openBooks, patiently } from "./billing-black-box.ts"

describe.each(engines)("webhooks in metering on %s (rules/conventions 16)", (engine) => {
  let house: Books
  beforeAll(async () => {
    house = await openBooks(engine)
  })
  afterAll(() => house.close())
  /** Polls while advancing the clock, as retries wait for their time. */
  const inTime = <A>(look: () => A | Promise<A>) =>
    expect.poll(() => {
      house.later(1_000)
      return look()
    }, patiently)
  const since = (channel: string, from: string) => house.logs({ "q[channel_eq]": channel, "q[created_at_gteq]": from })

  describe("sent webhooks", () => {
    /** Sends a product event to a receiver with this response; returns its log once it has the expected attempts. */
    const sent = async (answers: (attempt: number, response: ServerResponse) => void, attempts: number) => {
      house.later(minute)
      const from = house.instant()
      let attempt = 0
      const hook = await receiver((_delivered, response) => answers(++attempt, response))
      const { id } = await house.made("/webhooks", { url: hook.url, events: ["product.created"] })
      await house.made("/products", { name: "Lamp" })
      await inTime(() => hook.got.length).toBe(attempts)
      const logs = async () => (await house.get(`/webhooks/${id}/logs`)).logs
      await expect.poll(async () => (await logs()).length, patiently).toBe(attempts)
      await hook.close()
      expect((await house.remove(`/webhooks/${id}`)).status).toBe(204)
      await expect.poll(async () => (await since("webhook_sent", from)).length, patiently).toBeGreaterThan(0)
      return since("webhook_sent", from)
    }
    const always = (status: number) => (_attempt: number, response: ServerResponse) =>
      answering(status)(undefined as never, response)

    it("are counted once, with the receiver's status and a weight of 1", async () => {
      const rows = await sent(always(204), 1)
      expect(rows.length).toBe(1)
      expect(rows[0]).toMatchObject({
        ...{ channel: "webhook_sent", method: "POST", status_code: 204, price_weight: 1, weighted_units: 1 }
      })
      expect(rows[0].request_bytes).toBeGreaterThan(0)
    })
    it("are counted only at the first attempt, with its result", async () => {
      const rows = await sent((attempt, response) => always(attempt === 1 ? 503 : 200)(attempt, response), 2)
      // Counted as sent, whatever the receiver responded.
      expect(rows.map((row) => [row.status_code, row.weighted_units])).toEqual([[503, 1]])
    })
    it("have no status if the receiver did not answer", async () => {
      house.later(minute)
      const from = house.instant()
      const gone = await receiver()
      await gone.close()
      const { id } = await house.made("/webhooks", { url: gone.url, events: ["product.created"] })
      await house.made("/products", { name: "Lamp" })
      await inTime(async () => (await house.get(`/webhooks/${id}/logs`)).logs.length).toBeGreaterThan(1)
      await expect.poll(async () => (await since("webhook_sent", from)).length, patiently).toBe(1)
      expect((await since("webhook_sent", from))[0]).toMatchObject({
        status_code: null,
        price_weight: 1,
        weighted_units: 1
      })
      expect((await house.remove(`/webhooks/${id}`)).status).toBe(204)
    })
    it("are logged without body and without secrets of the URL", async () => {
      house.later(minute)
      const from = house.instant()
      const hook = await receiver()
      const { id } = await house.made("/webhooks", { url: `${hook.url}?key=between-us`, events: ["product.created"] })
      await house.made("/products", { name: "A lamp of Ada's" })
      await expect.poll(async () => (await since("webhook_sent", from)).length, patiently).toBe(1)
      expect(JSON.stringify(await since("webhook_sent", from))).not.toMatch(/between-us|Ada/)
      await hook.close()
      expect((await house.remove(`/webhooks/${id}`)).status).toBe(204)
    })
    it("are counted in usage under their channel", async () => {
      house.later(2 * day)
      await sent(always(200), 1)
      const today = house.instant().slice(0, 10)
      const usage = await house.usage({
        channel: "webhook_sent",
        window: "custom",
        from: today,
        to: today,
        dimension: "day"
      })
      expect(usage.meta.totals).toEqual({ request_count: 1, weighted_units: 1 })
      expect(usage.usage.map((row) => [row.key, row.request_count])).toEqual([[today, 1]])
    })
  })
})

/** What is written down for subscribers that change while it is. */
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { lastPosition } from "../../../core/kernel/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { queueEvents } from "../../../server/webhooks/fan-out.ts"
import { webhookKinds } from "../../../server/webhooks/kinds/kinds.ts"
import { webhooks } from "../../../server/webhooks/schema.ts"
import { engines } from "../../app.ts"
import { house } from "./house.ts"

describe.each(engines)("on %s", (engine) => {
  const open: Array<() => Promise<unknown>> = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })

  it("nothing is left waiting for a webhook that was turned off while events were being queued", async () => {
    const server = await house(engine)
    open.push(server.close)
    const off = await server.subscribed(["member.created"], "http://127.0.0.1:9/off")
    const on = await server.subscribed(["member.created"], "http://127.0.0.1:9/on")
    const [subscribers, from] = await server.run(
      Effect.gen(function* () {
        const store = yield* Store
        return [yield* store.find(webhooks, {}), (yield* lastPosition(store)) + 1] as const
      })
    )
    await server.did(200, "PUT", `/webhooks/${off.id}`, { is_active: false })
    await server.member("Ann")
    const queued = await server.run(queueEvents(webhookKinds, { from, to: from + 10 }, subscribers))
    expect(queued).toBe(1)
    const rows = await server.sql("select distinct webhook_id from webhook_deliveries")
    expect(rows.map(({ webhook_id }) => Number(webhook_id))).toEqual([on.id])
  })
})

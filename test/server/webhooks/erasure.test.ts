/** Bodies written down while somebody is being erased. */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { memberAnonymised } from "../../../core/personal-data/events.ts"
import { ServerContext } from "../../../server/server-context.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { house, poll } from "./house.ts"
import { receiver } from "./receiver.ts"

it("name nobody whose erasure was under way, on Postgres", async () => {
  const begun = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const target = await receiver()
  const server = await house("pg", {
    slices: [
      {
        name: "slow_erasure",
        recorded: (events) =>
          events.some(({ type }) => type === memberAnonymised.type)
            ? Effect.promise(async () => {
                begun.resolve()
                await mayEnd.promise
              })
            : Effect.void
      }
    ]
  })
  try {
    await server.subscribed(["member.created"], target.url)
    const { id } = await server.member("Ann Example")
    await expect.poll(() => target.got.length, poll).toBe(1)
    const [{ position }] = (await server.sql(
      `select position from journal where stream = 'member:${id}' limit 1`
    )) as any
    await server.sql("delete from webhook_deliveries")
    const erasing = server.ask(`/api/v1/members/${id}/anonymise`, { method: "POST", json: {} })
    await begun.promise
    const job_id = await server.run(
      Effect.gen(function* () {
        const { jobs } = yield* ServerContext
        const data = { from: Number(position), to: Number(position), webhook_id: null }
        return yield* (yield* Store).transaction(
          jobs.offer({ kind: { kind: "webhooks.queue" }, data, subject: "again" })
        )
      })
    )
    const state = async () => (await server.sql(`select attempts, state from effect_queue where id = '${job_id}'`))[0]
    await expect.poll(async () => (await state()).attempts, poll).toBe(1)
    // As long as it takes where nothing holds it up.
    await new Promise((resolve) => setTimeout(resolve, 300))
    mayEnd.resolve()
    expect((await erasing).status).toBe(200)
    await expect.poll(async () => (await state()).state, poll).toBe("completed")
    const bodies = await server.sql("select body from webhook_deliveries")
    expect(bodies).toHaveLength(1)
    expect(JSON.stringify(bodies)).not.toContain("Ann Example")
  } finally {
    mayEnd.resolve()
    await server.close()
    await target.close()
  }
})

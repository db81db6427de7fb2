/** Changing subscriptions, erasures and a second server while webhooks are recorded and sent. */
import { Deferred, Effect } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { append, lastPosition } from "../../../../core/kernel/events/journal.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { memberAnonymised } from "../../../../core/people/personal-data/erase.ts"
import type { ServerApp } from "../../../../server/host/app.ts"
import { ServerContext } from "../../../../server/ports/server-context.ts"
import { queueEvents } from "../../../../server/delivery/webhooks/fan-out.ts"
import { webhookKinds } from "../../../../server/delivery/webhooks/kinds.ts"
import { webhooks } from "../../../../server/delivery/webhooks/schema.ts"
import { both_engines } from "../../../app.ts"
import { askOf, serve, startedDatabase } from "../../serving.ts"
import { house, outside, poll } from "./house.ts"
import { type Answers, receiver, type Receiver } from "./receiver.ts"

describe("webhooks of two servers on one Postgres", () => {
  const opened = async (answers?: Answers): Promise<{ one: ServerApp; other: ServerApp; target: Receiver }> => {
    const { database, drop } = await startedDatabase("pg")
    onTestFinished(drop)
    const target = await receiver(answers)
    onTestFinished(() => target.close())
    const [{ app: one }, { app: other }] = [
      await serve("pg", { database, outside }),
      await serve("pg", { database, outside })
    ]
    onTestFinished(() => other.close())
    const made = await askOf(one, "/api/v1/webhooks", { json: { url: target.url, events: ["member.created"] } })
    expect(made.status, made.text).toBe(201)
    return { one, other, target }
  }
  const member = async (app: ServerApp, name: string): Promise<void> => {
    const got = await askOf(app, "/api/v1/members", { json: { name, membership_type: "organisation" } })
    expect(got.status, got.text).toBe(201)
  }
  const names = ({ got }: Receiver) => got.map(({ body }) => String(body.data.member.name)).sort()
  const told = (count: number) => Array.from({ length: count }, (_, n) => `Member ${n}`).sort()

  it("are sent once, two at a time, whichever server recorded the event", async () => {
    const { one, other, target } = await opened((_delivered, response) => {
      setTimeout(() => response.end(), 5)
    })
    onTestFinished(() => one.close())
    for (let n = 0; n < 40; n++) await member(n % 2 === 0 ? other : one, `Member ${n}`)
    await expect.poll(() => names(target), poll).toEqual(told(40))
    expect(new Set(target.got.map(({ headers }) => headers["webhook-id"])).size).toBe(40)
    expect(target.at_once.most).toBeLessThanOrEqual(2)
  })

  it("are all sent when one server stops with attempts in progress", async () => {
    let stall = true
    const { one, other, target } = await opened((_delivered, response) => {
      if (!stall) response.end()
    })
    for (let n = 0; n < 6; n++) await member(one, `Member ${n}`)
    await expect.poll(() => target.got.length, poll).toBeGreaterThanOrEqual(2)
    stall = false
    await one.close()
    await member(other, "Member 6")
    await expect.poll(() => [...new Set(names(target))], poll).toEqual(told(7))
  })

  it("include events that a server recorded before it saw the webhook's change", async () => {
    const { one, other, target } = await opened()
    onTestFinished(() => one.close())
    const json = { url: target.url, events: ["product_group.deleted"] }
    const { id } = (await askOf(one, "/api/v1/webhooks", { json })).body.webhook
    const looks = async (): Promise<ReadonlyArray<string>> => {
      const { body } = await askOf(one, "/api/v1/system/jobs?q[kind_eq]=webhooks.queue&per_page=100", {})
      return body.jobs.filter((job) => job.id.startsWith(`webhooks.queue:${id}:`)).map((job) => job.status)
    }
    await expect.poll(looks, poll).toEqual(["done"])
    const [recorded, may_commit] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
    const about = { command_id: "late", actor_id: null, replica_id: null, recorded_at: "2026-11-22T09:00:00.000Z" }
    // Like a command on a server whose cache lacks the subscription.
    const recording = other.run(
      Effect.flatMap(Store, (store) =>
        store.transaction(
          Effect.gen(function* () {
            const event = { stream: "product_group:77", type: "product_group.deleted", data: { id: 77 } }
            yield* append(store, [event], about)
            yield* Deferred.succeed(recorded, undefined)
            yield* Deferred.await(may_commit)
          })
        )
      )
    )
    onTestFinished(() => Effect.runPromise(Deferred.succeed(may_commit, undefined)).then(() => recording))
    await Effect.runPromise(Deferred.await(recorded))
    // Makes the server check earlier events, without recording one itself.
    expect((await askOf(one, `/api/v1/webhooks/${id}`, { method: "PUT", json })).status).toBe(200)
    await expect.poll(looks, poll).toEqual([expect.stringMatching(/running|done/), "done"])
    await Effect.runPromise(Deferred.succeed(may_commit, undefined))
    await recording
    await expect.poll(() => target.got.map((got) => got.body.data), poll).toEqual([{ id: 77 }])
  })
})

it.each(both_engines)(
  "webhook deliveries on %s are not queued for a webhook that was disabled after the subscribers were read",
  async (engine) => {
    const server = await house(engine)
    onTestFinished(server.close)
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
  }
)

it.each(both_engines)(
  "webhook deliveries on %s are dropped if they are queued while their webhook is being turned off",
  async (engine) => {
    const server = await house(engine)
    onTestFinished(server.close)
    const { id } = await server.subscribed(["member.created"], "http://127.0.0.1:9/off")
    await server.subscribed(["member.created"], "http://127.0.0.1:9/on")
    await server.did(200, "PUT", `/webhooks/${id}`, { is_active: false })
    // As after a transaction that read the webhook before it was disabled, and committed later.
    await server.member("Ann")
    await server.sql(`update webhook_deliveries set webhook_id = ${id}, state = 'waiting', claimed_until = null`)
    await server.member("Bert")
    const states = () => server.sql(`select distinct state from webhook_deliveries where webhook_id = ${id}`)
    await expect.poll(states, poll).toEqual([{ state: "dropped" }])
  }
)

it("webhook deliveries on SQLite are queued by the stored subscription after a change of it failed", async () => {
  const server = await house("sqlite")
  onTestFinished(server.close)
  const { id } = await server.subscribed(["member.created"], "http://127.0.0.1:9/hook")
  // Like a full disk, which refuses the event after its row is written.
  await server.sql(
    "create trigger full_disk before insert on journal when new.type = 'webhook.updated' begin select raise(abort, 'full'); end"
  )
  await server.did(500, "PUT", `/webhooks/${id}`, { events: ["product.created"] })
  await server.member("Ann")
  expect(await server.sql("select event from webhook_deliveries")).toEqual([{ event: "member.created" }])
})

it("webhook bodies rendered during an erasure do not contain the erased name, on Postgres", async () => {
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
    // Long enough for the job to finish if nothing delayed it.
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

/** Two servers on one Postgres share the work: while both live each message is sent once, and none is lost with one. */
import { Deferred, Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { append } from "../../../core/kernel/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp } from "../../../server/app.ts"
import { type FreshDatabase, freshDatabase } from "../../postgres.ts"
import { askOf, owner_token } from "../serving.ts"
import { outside, poll } from "./house.ts"
import { type Answers, receiver, type Receiver } from "./receiver.ts"

describe("two servers on one Postgres", () => {
  const open: Array<() => Promise<unknown>> = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })
  const opened = async (answers?: Answers): Promise<{ one: ServerApp; other: ServerApp; target: Receiver }> => {
    const database: FreshDatabase = await freshDatabase()
    open.push(() => database.drop())
    const target = await receiver(answers)
    open.push(() => target.close())
    const server = () =>
      openServerApp({
        database: { kind: "pg", url: database.url, connections_max: 5 },
        key: "key-of-the-tests-which-is-long",
        owner_token,
        rate_limit: 1_000_000,
        outside
      })
    const one = await server()
    const other = await server()
    open.push(() => other.close())
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

  it("send each message once, two at a time, what the one heard too late included", async () => {
    const { one, other, target } = await opened((_delivered, response) => {
      setTimeout(() => response.end(), 5)
    })
    open.push(() => one.close())
    for (let n = 0; n < 40; n++) await member(n % 2 === 0 ? other : one, `Member ${n}`)
    await expect.poll(() => names(target), poll).toEqual(told(40))
    expect(new Set(target.got.map(({ headers }) => headers["webhook-id"])).size).toBe(40)
    expect(target.at_once.most).toBeLessThanOrEqual(2)
  })

  it("lose nothing when one of them stops with attempts in flight", async () => {
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

  it("tell a webhook of what a server that had not heard of its change was recording all the while", async () => {
    const { one, other, target } = await opened()
    open.push(() => one.close())
    const json = { url: target.url, events: ["product_group.deleted"] }
    const { id } = (await askOf(one, "/api/v1/webhooks", { json })).body.webhook
    const looks = async (): Promise<ReadonlyArray<string>> => {
      const { body } = await askOf(one, "/api/v1/system/jobs?q[kind_eq]=webhooks.queue&per_page=100", {})
      return body.jobs.filter((job: any) => job.id.startsWith(`webhooks.queue:${id}:`)).map((job: any) => job.status)
    }
    await expect.poll(looks, poll).toEqual(["done"])
    const [recorded, may_commit] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
    const about = { command_id: "late", actor_id: null, replica_id: null, recorded_at: "2026-11-22T09:00:00.000Z" }
    // As a command does whose server believes that nobody is subscribed.
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
    open.push(() => Effect.runPromise(Deferred.succeed(may_commit, undefined)).then(() => recording))
    await Effect.runPromise(Deferred.await(recorded))
    // Has what happened since looked through, and records nothing itself.
    expect((await askOf(one, `/api/v1/webhooks/${id}`, { method: "PUT", json })).status).toBe(200)
    await expect.poll(looks, poll).toEqual([expect.stringMatching(/running|done/), "done"])
    await Effect.runPromise(Deferred.succeed(may_commit, undefined))
    await recording
    await expect.poll(() => target.got.map((got) => got.body.data), poll).toEqual([{ id: 77 }])
  })
})

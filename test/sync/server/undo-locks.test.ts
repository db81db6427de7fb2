/** Undoing waits for goods like any other command, without holding locks others need. */
import pg from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { openServerApp, type ServerApp } from "../../../server/host/app.ts"
import { untilWaiting } from "../../lock-waits.ts"
import { type FreshDatabase, freshDatabase } from "../../postgres.ts"
import { askOf, owner_token, startedServer } from "../../server/serving.ts"
import { wireCommand } from "../opening.ts"

let database: FreshDatabase, app: ServerApp, other: pg.Client, observer: pg.Client
beforeAll(async () => {
  database = await freshDatabase(startedServer)
  app = await openServerApp({
    database: { kind: "pg", url: database.url, connections_max: 3 },
    key: "key-of-the-tests-which-is-long",
    owner_token,
    rate_limit: 1_000_000
  })
  other = new pg.Client(database.url)
  observer = new pg.Client(database.url)
  await Promise.all([other.connect(), observer.connect()])
})
afterAll(async () => {
  await Promise.all([other.end(), observer.end()])
  await app.close()
  await database.drop()
})
const made = async (path: string, json: object) => {
  const { body, status } = await askOf(app, `/api/v1/${path}`, { json })
  expect(status, JSON.stringify(body)).toBeLessThan(300)
  return body
}

it("a command with unless_changed that waits for goods releases the lock on its order", async () => {
  const { product } = await made("products", { name: "Radio", stock_method: 1 })
  const { opportunity } = await made("opportunities", { subject: "Gala", store_id: 1 })
  const { replica } = await made("sync/replicas", { name: "van" })
  const more = {
    params: { id: String(opportunity.id) },
    unless_changed: { since: 1_000_000, streams: [`opportunity:${opportunity.id}`], rows: {} }
  }
  const line = { name: "Radios", item_id: product.id, quantity: "1" }
  const id = "0197a000-0000-7000-8000-000000000001"
  const command = wireCommand(1, id, "opportunities.add_item", line, more)
  const locked = "select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as taken"
  await other.query("begin")
  try {
    expect((await other.query(locked, [`claims:${product.id}`])).rows).toEqual([{ taken: true }])
    const pushed = made("sync/commands", { replica_id: replica.id, commands: [command] })
    await untilWaiting(observer)
    expect((await other.query(locked, [`opportunity:${opportunity.id}`])).rows).toEqual([{ taken: true }])
    await other.query("commit")
    expect((await pushed).verdicts).toMatchObject([{ status: "accepted" }])
  } finally {
    await other.query("rollback")
  }
})

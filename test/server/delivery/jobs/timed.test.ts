/** Scheduled work runs once per due time, whatever the number of servers. */
import { Effect, Schema } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp, type ServerOptions } from "../../../../server/host/app.ts"
import { jobKind, type TimedWork } from "../../../../server/ports/server-context.ts"
import { cronOf, lastDue } from "../../../../server/delivery/jobs/timed.ts"
import { both_engines } from "../../../app.ts"
import { freshDatabase } from "../../../postgres.ts"
import { folderOfItsOwn, cleanUp } from "../../process.ts"
import { askOf, clockAt, owner_token } from "../../serving.ts"
import { rowsOf } from "./words.ts"

const at = (text: string): number => Date.parse(`2026-07-01T${text}Z`)

describe("the last due time of scheduled work", () => {
  const half_hourly = cronOf({ cron: "*/30 * * * *" })
  it("lies after the previous one and not after now", () => {
    expect(lastDue(half_hourly, at("09:00:00"), at("09:29:59.999"))).toBeUndefined()
    expect(lastDue(half_hourly, at("09:00:00"), at("09:30:00"))).toBe(at("09:30:00"))
    expect(lastDue(half_hourly, at("09:30:00"), at("09:59:59"))).toBeUndefined()
  })
  it("is the latest one, however many were missed", () => {
    expect(lastDue(half_hourly, at("01:00:00"), at("09:45:00"))).toBe(at("09:30:00"))
  })
  it("follows the schedule in UTC", () => {
    expect(lastDue(cronOf({ cron: "20 3 * * *" }), at("00:00:00"), at("23:00:00"))).toBe(at("03:20:00"))
  })
})

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
  await cleanUp()
})

describe.each(both_engines)("scheduled work on %s", (engine) => {
  it("is queued once for all times missed while no server ran, and goes on after a clock years ahead is corrected", async () => {
    const done: Array<string> = []
    const sweep: TimedWork = {
      cron: "0 4 * * *",
      kind: jobKind({
        kind: "test.sweep",
        meaning: "sweeps",
        data: Schema.Struct({ due_at: Schema.String }),
        attempts_max: 3,
        waits_seconds: [1],
        at_a_time: 1,
        run: ({ due_at }) => Effect.sync(() => void done.push(due_at))
      })
    }
    const database = await databaseOf(engine)
    const openedAt = async (instant: string) => {
      const app = await openServerApp({
        database,
        key: "a key of more than twenty characters",
        slices: [{ name: "sweeping", timed: [sweep] }],
        services: clockAt(() => Date.parse(instant))
      })
      const close = (): Promise<void> => app.close()
      open.push(close)
      return { app, close: () => (open.splice(open.indexOf(close), 1), close()) }
    }
    const known = () => rowsOf(first.app, "select due_at from timed_work where kind = 'test.sweep'")
    // Due from now on, as nothing was missed before the first start.
    let first = await openedAt("2026-07-01T05:00:00.000Z")
    await expect.poll(known, { timeout: 20_000 }).toEqual([{ due_at: "2026-07-01T05:00:00.000Z" }])
    expect(done).toEqual([])
    await first.close()
    // Three due times later.
    first = await openedAt("2026-07-04T12:00:00.000Z")
    if (engine === "pg") await openedAt("2026-07-04T12:00:00.001Z")
    await expect.poll(() => done, { timeout: 20_000 }).toEqual(["2026-07-04T04:00:00.000Z"])
    expect(await known()).toEqual([{ due_at: "2026-07-04T04:00:00.000Z" }])
    expect(
      await first.app.run(
        Effect.flatMap(Store, (store) =>
          store.run("select id from effect_queue where queue_name = 'test.sweep' and state <> 'bell'")
        )
      )
    ).toEqual([{ id: "test.sweep:2026-07-04T04:00:00.000Z" }])
    // With a clock years ahead, which is then corrected.
    await first.close()
    first = await openedAt("2099-01-01T12:00:00.000Z")
    await expect.poll(known, { timeout: 20_000 }).toEqual([{ due_at: "2099-01-01T04:00:00.000Z" }])
    await first.close()
    first = await openedAt("2026-07-05T03:00:00.000Z")
    await expect.poll(known, { timeout: 20_000 }).toEqual([{ due_at: "2026-07-05T03:00:00.000Z" }])
    await first.close()
    first = await openedAt("2026-07-05T05:00:00.000Z")
    await expect.poll(() => done.at(-1), { timeout: 20_000 }).toBe("2026-07-05T04:00:00.000Z")
  })
})
it("an overdue invoice is recorded as overdue when the server starts, before the next scheduled time", async () => {
  const path = `${await folderOfItsOwn()}/server.sqlite`
  const openedAt = async (instant: string) => {
    const app = await openServerApp({
      database: { kind: "sqlite", path },
      key: "a key of more than twenty characters",
      owner_token,
      services: clockAt(() => Date.parse(instant))
    })
    open.push(() => app.close())
    return app
  }
  const asked = async (app: ServerApp, target: string, json: object) => (await askOf(app, target, { json })).body
  const app = await openedAt("2026-07-02T00:08:00.000Z")
  const { member } = await asked(app, "/api/v1/members", { name: "Ann", membership_type: "organisation" })
  const { invoice } = await asked(app, "/api/v1/invoices", {
    member_id: member.id,
    items: [{ name: "Lamp", unit_price: "9.00" }]
  })
  const days = { issued_at: "2026-07-01T08:00:00Z", due_at: "2026-07-01T10:00:00Z" }
  await asked(app, `/api/v1/invoices/${invoice.id}/issue`, days)
  await open.pop()?.()
  const again = await openedAt("2026-07-02T00:09:00.000Z")
  await expect
    .poll(() => rowsOf(again, "select stream from journal where type = 'invoice.overdue'"), { timeout: 20_000 })
    .toEqual([{ stream: `invoice:${invoice.id}` }])
})

const databaseOf = async (engine: (typeof both_engines)[number]): Promise<ServerOptions["database"]> => {
  if (engine === "sqlite") return { kind: "sqlite", path: `${await folderOfItsOwn()}/server.sqlite` }
  const database = await freshDatabase()
  open.push(() => database.drop())
  return { kind: "pg", url: database.url, connections_max: 4 }
}

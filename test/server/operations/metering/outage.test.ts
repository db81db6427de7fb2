/**
 * A database that is temporarily unavailable: responses, the bounded backlog of calls to count, and its later writing.
 */
import { Effect } from "effect"
import pg from "pg"
import { describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { makeMeter } from "../../../../server/operations/metering/meter.ts"
import type { AnsweredServerCall } from "../../../../server/ports/server-slice.ts"
import { type Engine, both_engines } from "../../../app.ts"
import { freshDatabase } from "../../../postgres.ts"
import { serve, type Serving } from "../../serving.ts"

const call: AnsweredServerCall = {
  ...{ request_id: "r", method: "GET", target: "/api/v1/stores", uri: "/api/v1/stores", endpoint: "outage.list" },
  ...{ ability: null, metering_weight: 1, user_id: 1, token_id: 1, status: 200 },
  ...{ started_millis: Date.parse("2026-06-18T12:34:56.789Z"), duration_ms: 1, request_bytes: 0, response_bytes: 1 },
  ...{ remote_address: "192.0.2.7", user_agent: "curl" }
}

interface Gone {
  readonly back: () => Promise<void>
}
interface House {
  readonly server: Serving
  readonly goes: () => Promise<Gone>
  readonly close: () => Promise<void>
}
const run = (server: Serving, sql: string) => server.run(Effect.flatMap(Store, (store) => store.run(sql)))
/** SQLite refuses writes; Postgres closes all connections and refuses new ones. */
const open = async (engine: Engine): Promise<House> => {
  if (engine === "sqlite") {
    const server = await serve(engine)
    const goes = async () => {
      await run(server, "pragma query_only = 1")
      return { back: async () => void (await run(server, "pragma query_only = 0")) }
    }
    return { server, goes, close: server.close }
  }
  const database = await freshDatabase()
  const server = await serve("sqlite", { database: { kind: "pg", url: database.url, connections_max: 3 } })
  const elsewhere = new URL(database.url)
  const name = elsewhere.pathname.slice(1)
  elsewhere.pathname = "/postgres"
  const admin = new pg.Client(elsewhere.href)
  await admin.connect()
  return {
    server,
    goes: async () => {
      await admin.query(`alter database "${name}" allow_connections false`)
      await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, [name])
      return { back: async () => void (await admin.query(`alter database "${name}" allow_connections true`)) }
    },
    close: async () => {
      await server.close()
      await admin.end()
      await database.drop()
    }
  }
}

describe.each(both_engines)("while the database is unavailable, on %s", (engine) => {
  it("calls are kept up to a limit, beyond which they are dropped, and counted once when it is back", async () => {
    const { close, goes, server } = await open(engine)
    const meter = makeMeter({ rows_max: 50, batch_rows: 20 })
    const asked = (many: number): void => {
      for (let at = 0; at < many; at++) meter.answered(call)
    }
    const figures = async () =>
      Object.fromEntries(
        (await server.run(meter.measured)).map(({ name, value }) => [
          name.replace("flightcase_metering_rows_", ""),
          value
        ])
      )
    try {
      asked(10)
      await server.run(meter.flushed)
      const { back } = await goes()
      asked(80)
      for (let times = 0; times < 3; times++) await server.run(meter.flushed)
      expect(await figures()).toEqual({ waiting: 50, written_total: 10, dropped_total: 30 })
      await back()
      await expect
        .poll(async () => (await server.run(meter.flushed), (await figures())["waiting"]), { timeout: 30_000 })
        .toBe(0)
      expect(await figures()).toEqual({ waiting: 0, written_total: 60, dropped_total: 30 })
      const [logs] = await server.run(
        Effect.flatMap(Store, (store) =>
          store.run<{ count: number }>("select count(*) as count from request_logs where route_name = 'outage.list'")
        )
      )
      const [sums] = await server.run(
        Effect.flatMap(Store, (store) =>
          store.run<{ count: number }>(
            "select sum(request_count) as count from usage_hours where route_name = 'outage.list'"
          )
        )
      )
      expect([Number(logs?.count), Number(sums?.count)]).toEqual([60, 60])
      // The server's own meter counts as well.
      expect((await server.ask("/api/v1/stores")).status).toBe(200)
    } finally {
      await close()
    }
  })
})

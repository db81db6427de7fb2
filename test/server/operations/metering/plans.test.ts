/** Lists of calls and usage totals use indexes, for all filters. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { as_declared, type ViewContext } from "../../../../core/kernel/lists/resource-types.ts"
import type { Query } from "../../../../core/kernel/lists/query.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { instantOf } from "../../../../core/values/time.ts"
import { listLogs } from "../../../../server/operations/metering/slice.ts"
import { dimensions, usageOf, windowOf } from "../../../../server/operations/metering/usage-api.ts"
import { type Engine, both_engines, owner } from "../../../app.ts"
import { plansOf } from "../../../query-plan.ts"
import { serve, type Serving } from "../../serving.ts"

const count = 20_000
const now_millis = Date.parse("2026-06-18T12:34:56.789Z")
const now = instantOf(now_millis)
const context: ViewContext = { viewer: owner, settings: {}, now, base_currency: "EUR", composed: as_declared }

/** Inserts thirty days of calls, one in a hundred a webhook, and their totals. */
const fill = Effect.gen(function* () {
  const store = yield* Store
  const is_pg = store.dialect === "pg"
  const numbers = is_pg
    ? `generate_series(1, ${count}) as n(i)`
    : `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n) as n`
  const at = is_pg
    ? `timestamptz '${now}' - (30.0 * i / ${count}) * interval '1 day'`
    : `strftime('%Y-%m-%dT%H:%M:%fZ', '${now}', '-' || (30.0 * i / ${count}) || ' days')`
  const route = "'route' || (i % 40) || '.list'"
  const status = "case i % 50 when 0 then 404 when 1 then 500 else 200 end"
  yield* store.run(
    `insert into request_logs (id, channel, webhook_channel, request_id, method, uri, route_name, personal_access_token_id, ` +
      `user_id, status_code, duration_ms, request_bytes, response_bytes, price_weight, weighted_units, created_at) ` +
      `select 10000000 - i, case i % 100 when 7 then 'webhook_sent' else 'api' end, ` +
      `case i % 100 when 7 then 'webhook_sent' end, 'r', 'GET', '/', ${route}, 1 + i % 8, 1 + i % 3, ` +
      `${status}, 1, 1, 1, 1, 1, ${at} from ${numbers}`
  )
  yield* store.run(
    `insert into usage_hours (id, hour, channel, personal_access_token_id, route_name, resource, status_code, ` +
      `request_count, weighted_units) select 10000000 + i, ${Math.floor(now_millis / 3_600_000)} - i / 30, 'api', ` +
      `1 + i % 8, ${route}, 'r' || i, 200, 1, 1 from ${numbers}`
  )
  yield* store.run(is_pg ? "analyze request_logs" : "analyze")
  if (is_pg) yield* store.run("analyze usage_hours")
})

/** Lines of the plans of all reads from the two tables. */
const planOf = <A, E, R>(reading: Effect.Effect<A, E, R>) =>
  Effect.map(plansOf(reading, /request_logs|usage_hours/), (plans) => {
    expect(plans.length).toBeGreaterThan(0)
    return plans.flatMap(({ lines }) => lines)
  })
/** Whether a line of a plan scans a table without an index. */
const isWhole = (line: string): boolean => /Seq Scan/.test(line) || /^SCAN (request_logs|usage_hours)$/.test(line)
const sorts = (line: string): boolean => /TEMP B-TREE FOR ORDER BY|^\s*(->)?\s*(Incremental )?Sort {2}/.test(line)

const in_order = [
  "",
  "sort=created_at",
  "sort=-created_at",
  "page=400",
  "sort=status_code",
  "sort=-status_code",
  "sort=route_name",
  "sort=-route_name",
  "sort=-route_name&page=400",
  "q[channel_eq]=api",
  "q[channel_eq]=webhook_sent",
  "q[channel_eq]=webhook_received",
  "q[route_name_eq]=route7.list",
  "q[status_code_eq]=500",
  "q[status_code_eq]=200&page=100",
  "q[personal_access_token_id_eq]=3",
  "q[user_id_eq]=2",
  "q[created_at_gteq]=2026-06-01",
  "q[created_at_lt]=2026-06-01"
]
const from_an_index = [
  "q[personal_access_token_id_null]=1",
  "q[status_code_gteq]=500",
  "q[status_code_in]=404,500",
  "q[route_name_start]=route7"
]
const queryOf = (text: string): Query => [...new URLSearchParams(text)]

describe.each(both_engines)("reads of recorded calls, on %s", (engine: Engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine)
    await server.run(fill)
  })
  afterAll(() => server?.close())

  it.each([...in_order, ...from_an_index])("find the calls of the query '%s' by an index", async (query) => {
    const plan = await server.run(planOf(listLogs(queryOf(query), context)))
    expect(plan.filter(isWhole), plan.join("\n")).toEqual([])
    // Rows of later pages, and on SQLite of the first one, are sorted once more, after being found by id.
    const sorted = engine === "sqlite" || query.includes("page=") ? 1 : 0
    if (in_order.includes(query)) expect(plan.filter(sorts).length, plan.join("\n")).toBe(sorted)
  })

  it("count webhooks by the partial index alone, by which SQLite also finds the page's ids", async () => {
    const plan = await server.run(planOf(listLogs(queryOf("q[channel_eq]=webhook_sent"), context)))
    const found = plan.filter((line) => line.includes("webhook_channel_created_at_id"))
    expect(found, plan.join("\n")).toHaveLength(2)
    expect(
      found.filter((line) => /COVERING INDEX|Index Only Scan/.test(line)),
      plan.join("\n")
    ).toHaveLength(engine === "sqlite" ? 2 : 1)
  })

  it.each(Object.keys(dimensions))("sum usage by %s without scanning a whole table", async (dimension) => {
    for (const preset of ["24h", "7d", "30d"] as const) {
      const asked = {
        window: windowOf(preset, {}, now_millis),
        dimension: dimension as keyof typeof dimensions,
        channel: undefined,
        token_id: undefined
      }
      const plan = await server.run(planOf(usageOf(asked, now_millis)))
      expect(plan.filter(isWhole), plan.join("\n")).toEqual([])
    }
  })
})

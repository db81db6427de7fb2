/**
 * Lists of a million logged calls with each filter and sort, and usage of thirty days, against handwritten statements.
 */
import { inTurns, print, timed } from "./measure.ts"
import type { Client } from "./processes.ts"
import { onBoth, type Sql } from "./sql.ts"

const rows = 1_000_000
const rounds = 5
const warming = 1

/** Ninety days of calls: 40 routes, 8 tokens, five statuses, one webhook in a hundred. */
const fill = async (sql: Sql): Promise<void> => {
  const at = sql.is_pg
    ? `now() - (90 * i / ${rows}.0) * interval '1 day'`
    : `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || (90.0 * i / ${rows}) || ' days')`
  const numbers = sql.is_pg
    ? `generate_series(1, ${rows}) as n(i)`
    : `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows}) select i from n) as n`
  const route = `'route' || ((i % 1000) * 7 % 40) || '.list'`
  const status = "case i % 50 when 0 then 404 when 1 then 422 when 2 then 401 when 3 then 500 else 200 end"
  await sql.all(
    `insert into request_logs (id, channel, webhook_channel, request_id, method, uri, route_name, resource, operation, ` +
      `personal_access_token_id, user_id, ability, status_code, duration_ms, request_bytes, response_bytes, price_weight, ` +
      `weighted_units, ip_address, user_agent, created_at) select 10000000 - i, ` +
      `case i % 100 when 7 then 'webhook_sent' else 'api' end, case i % 100 when 7 then 'webhook_sent' end, 'r' || i, 'GET', '/api/v1/things', ${route}, ` +
      `'things', 'list', 1 + i % 8, 1 + i % 3, 'things:read', ${status}, i % 90, 0, 900, 1, ` +
      `case when i % 50 = 3 then 0 else 1 end, '192.0.2.0', 'curl', ${at} from ${numbers}`
  )
  const hour = sql.is_pg
    ? "cast(floor(extract(epoch from created_at) / 3600) as bigint)"
    : "cast(strftime('%s', created_at) as integer) / 3600"
  const [id, ids] = sql.is_pg ? ["id, ", "nextval('ids_usage_hours'), "] : ["", ""]
  await sql.all(
    `insert into usage_hours (${id}hour, channel, personal_access_token_id, route_name, resource, status_code, ` +
      `request_count, weighted_units) select ${ids}* from (select ${hour}, channel, personal_access_token_id, route_name, resource, ` +
      `status_code, count(*), sum(weighted_units) from request_logs where id > 1000000 group by 1, 2, 3, 4, 5, 6) as sums where true`
  )
  await sql.all(sql.is_pg ? "vacuum analyze request_logs" : "analyze")
  if (sql.is_pg) await sql.all("vacuum analyze usage_hours")
}

const newest = "created_at desc, id desc"
const lists: ReadonlyArray<{ readonly query: string; readonly where: string; readonly order: string }> = [
  { query: "", where: "true", order: newest },
  { query: "sort=-created_at", where: "true", order: "created_at, id" },
  { query: "page=25000", where: "true", order: newest },
  { query: "sort=status_code", where: "true", order: "status_code nulls last, created_at, id" },
  { query: "sort=-route_name", where: "true", order: "route_name desc nulls first, created_at desc, id desc" },
  { query: "q[route_name_eq]=route7.list", where: "route_name = 'route7.list'", order: newest },
  { query: "q[status_code_eq]=500", where: "status_code = 500", order: newest },
  { query: "q[status_code_eq]=200", where: "status_code = 200", order: newest },
  { query: "q[status_code_eq]=200&page=20000", where: "status_code = 200", order: newest },
  { query: "q[channel_eq]=api", where: "channel = 'api'", order: newest },
  { query: "q[personal_access_token_id_eq]=3", where: "personal_access_token_id = 3", order: newest },
  { query: "q[user_id_eq]=2", where: "user_id = 2", order: newest },
  { query: "q[channel_eq]=webhook_sent", where: "channel = 'webhook_sent'", order: newest },
  { query: "q[created_at_gteq]=DAY", where: "created_at >= 'DAYT00:00:00.000Z'", order: newest }
]

const compare = async (title: string, sql: Sql, ours: () => Promise<void>, by_hand: () => Promise<void>) =>
  print(
    `${rows.toLocaleString("en")} calls, ${sql.engine}: ${title}`,
    await inTurns([timed("flightcase", 1, ours), timed(sql.driver, 1, by_hand)], rounds, warming),
    { unit: "requests", as: "duration" }
  )

const measured = async (sql: Sql, ask: Client): Promise<void> => {
  await fill(sql)
  const day = new Date(Date.now() - 10 * 86_400_000).toISOString().slice(0, 10)
  for (const { order, query, where } of lists) {
    const page = Number(/page=(\d+)/.exec(query)?.[1] ?? 1)
    const condition = where.replace("DAY", day)
    const select =
      `select l.* from (select id from request_logs where ${condition} order by ${order} limit 20 offset ${(page - 1) * 20}) as page ` +
      `join request_logs l on l.id = page.id order by ${order.replaceAll(/^|, /g, "$&l.")}`
    await compare(
      query === "" ? "the newest" : query.replace("DAY", day),
      sql,
      async () => void (await ask("GET", `/api/v1/request_logs?${query.replace("DAY", day)}`)),
      async () => {
        await sql.all(select)
        await sql.all(`select count(*) as total from request_logs where ${condition}`)
      }
    )
  }
  const at_day = sql.is_pg ? "date(created_at at time zone 'UTC')" : "substr(created_at, 1, 10)"
  const ago = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString()
  for (const [dimension, column] of [
    ["endpoint", "route_name"],
    ["token", "personal_access_token_id"],
    ["resource", "resource"],
    ["status", "status_code"],
    ["day", at_day]
  ] as const)
    for (const [window, from, to] of [
      ["24h", ago(1), ago(0)],
      ["7d", ago(7), ago(0)],
      ["30d", ago(30), ago(0)],
      [
        `custom&from=${ago(60).slice(0, 10)}&to=${ago(31).slice(0, 10)}`,
        `${ago(60).slice(0, 10)}T00:00:00.000Z`,
        `${ago(30).slice(0, 10)}T00:00:00.000Z`
      ]
    ] as const)
      await compare(
        `usage window=${window} by ${dimension}; by hand from the logs`,
        sql,
        async () => void (await ask("GET", `/api/v1/usage?window=${window}&dimension=${dimension}`)),
        async () =>
          void (await sql.all(
            `select ${column}, count(*), sum(weighted_units) from request_logs ` +
              `where created_at >= '${from}' and created_at < '${to}' group by 1`
          ))
      )
}

export const requestLogs = (): Promise<void> => onBoth(measured)

/** With a million notifications, lists, counts, streams and mails still use indexes. */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { bindings, columnList, whereSql } from "../../../../core/kernel/store/statement.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { notifications } from "../../../../server/delivery/notifications/schema.ts"
import { inboxOf, readerOf } from "../../../../server/delivery/notifications/api.ts"
import { userById } from "../../../../server/ports/server-context.ts"
import { type Engine, engines } from "../../../app.ts"
import { chosenPlan } from "../../../query-plan.ts"
import { house } from "./house.ts"
import { share } from "../../../share.ts"

const rows = 1_000_000
const people = 500
/** Inserts rows of 500 users: one in ten unread, one in a thousand waiting for mail, one in a thousand in a burst. */
const filling = (engine: Engine): string => {
  const bool = (condition: string): string => (engine === "pg" ? `(${condition})` : `iif(${condition}, 1, 0)`)
  const at = (n: string): string =>
    engine === "pg"
      ? `timestamptz '2026-01-01T00:00:00Z' + ${n} * interval '8 seconds'`
      : `strftime('%Y-%m-%dT%H:%M:%fZ', '2026-01-01', '+' || (${n} * 8) || ' seconds')`
  const numbers =
    engine === "pg"
      ? `select generate_series(1, ${rows}) as n`
      : `with recursive s(n) as (select 1 union all select n + 1 from s where n < ${rows}) select n from s`
  return `
    insert into notifications (id, dedupe_key, user_id, notification_type, notification_type_folded, subject_type,
      subject_type_folded, subject_id, details, seen_with,
      actor_id, is_own, burst, in_inbox, is_broadcast, mail_state, read_at, created_at)
    select n, 'k' || n, 1 + n % ${people}, 'opportunity.created', 'opportunity.created', 'opportunities',
      'opportunities', n, '{}', 'opportunities.view',
      2, ${bool("false")}, case when n % 997 = 0 then 'b' || (n % 91) end, ${bool("n % 13 <> 0")}, ${bool("n % 3 = 0")},
      case when n % 991 = 0 then 'waiting' else 'sent' end, case when n % 10 = n / 1000 % 10 then null else ${at("n")} end,
      ${at("n")} from (${numbers}) as numbers`
}

const questions = (engine: Engine, where: string): { readonly [what: string]: string } => ({
  page: `select ${columnList(notifications)} from notifications where ${where} order by id desc limit 20`,
  deep: `select ${columnList(notifications)} from notifications where ${where} order by id desc limit 100 offset 1000`,
  total: `select count(*) from notifications where ${where}`,
  unread: `select count(*) from notifications where ${where} and read_at is null`,
  read_all: `update notifications set read_at = created_at where ${where} and read_at is null`,
  missed: `select ${columnList(notifications)} from notifications where id > 100 and user_id = 1 order by id limit 500`,
  news: `select ${columnList(notifications)} from notifications where id > ${rows - 50} order by id limit 500`,
  newest: "select max(id) from notifications",
  first_to_mail:
    "select user_id, min(id) from notifications where mail_state = 'waiting' and user_id in (1, 2, 3) group by user_id",
  left_to_mail: "select distinct user_id from notifications where mail_state = 'waiting' and created_at < '2026-01-02'",
  burst: `select id from notifications where burst in ('b1', 'b2') and created_at > '2026-03-01' order by id`,
  known: "select id from notifications where dedupe_key in ('k1', 'k500')",
  retention: `delete from notifications where created_at < '2026-01-02${engine === "pg" ? "" : "T00:00:00.000Z"}'`
})

it.each(share(engines))(
  "queries of notifications on %s never scan the whole table",
  { timeout: 600_000 },
  async (engine) => {
    const server = await house(engine)
    await server.sql(filling(engine))
    await server.sql("analyze")
    const viewer = readerOf((await server.run(userById(1)))!)
    const where = await server.run(
      Effect.map(Store, ({ dialect }) => {
        const bound = bindings(dialect)
        // Literals, as the plan depends on the values.
        const text = whereSql(notifications, inboxOf(viewer), dialect, bound)
        const literal = (value: unknown): string => (typeof value === "string" ? `'${value}'` : String(value))
        return text.replaceAll(/\$(\d+)|\?/g, (_mark, number: string | undefined) =>
          literal(number === undefined ? bound.values.shift() : bound.values[Number(number) - 1])
        )
      })
    )
    for (const [what, question] of Object.entries(questions(engine, where))) {
      const text = (await server.run(chosenPlan(question))).join("\n")
      expect(text, `${what}: ${question}`).not.toMatch(/Seq Scan|SCAN notifications(?! USING)/)
      if (["page", "unread", "missed"].includes(what)) expect(text, what).not.toMatch(/Sort|TEMP B-TREE/)
      if (process.env["SHOW_PLANS"] !== undefined) console.log(`${engine} ${what}\n${text}`)
    }
    // The API counts as many rows as a scan.
    const { meta } = await server.did(200, "GET", "/notifications?per_page=5")
    const [counted] = await server.sql(
      `select count(*) as total, sum(case when read_at is null then 1 else 0 end) as unread from notifications where ` +
        `user_id + 0 = 1 and ${engine === "pg" ? "in_inbox" : "in_inbox = 1"}`
    )
    expect(meta).toMatchObject({ total: Number(counted.total), unread_count: Number(counted.unread) })
    await server.close()
  }
)

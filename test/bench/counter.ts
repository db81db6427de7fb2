/**
 * Typical requests at a counter with 100,000 orders: the day, and search by code, words and parts of words; the server
 * on both engines and a device's replica, against handwritten statements.
 */
import { join } from "node:path"
import { statuses } from "../../core/orders/opportunities/tables/statuses.ts"
import { type Device, enrolDevice } from "../../sync/device/device.ts"
import { inTurns, print, timed } from "./measure.ts"
import { type Client, owner_token, temporaryFolder } from "./processes.ts"
import { multiply, onBoth, overSqlite, saidOn, type Send, type Sql } from "./sql.ts"
import { onSqlite, served } from "./stage.ts"

const orders = 100_000
const people = 10_000
const units = 10_000
const [rounds, warming, at_a_time] = [5, 2, 5]
const day_millis = 86_400_000

/** Ten years of orders, nearly all of them ended; some thirty start and end each day. */
const fill = async (sql: Sql, ask: Client): Promise<void> => multiplied(sql, await begun(ask))

type Begun = Awaited<ReturnType<typeof begun>>
/** Creates one row of each kind over HTTP. */
const begun = async (ask: Client) => {
  const { member } = await ask("POST", "/api/v1/members", { name: "Acme 0", membership_type: "organisation" })
  const { product } = await ask("POST", "/api/v1/products", { name: "Moving head", stock_method: 2, sku: "MH" })
  const unit = { product_id: product.id, store_id: 1, asset_number: "MH-0", serial_number: "S-0", barcode: "B-0" }
  const { stock_level } = await ask("POST", "/api/v1/stock_levels", unit)
  const dates = { starts_at: "2026-07-01T08:00:00Z", ends_at: "2026-07-06T18:00:00Z" }
  const { opportunity } = await ask("POST", "/api/v1/opportunities", { subject: "Festival", store_id: 1, ...dates })
  const line = await ask("POST", `/api/v1/opportunities/${opportunity.id}/items`, { name: "Head", item_id: product.id })
  return { member, stock_level, opportunity, line: line.opportunity.items[0] }
}
/** Copies each row as often as needed. */
const multiplied = async (sql: Sql, { line, member, opportunity, stock_level }: Begun): Promise<void> => {
  const begins = new Date(Math.floor(Date.now() / day_millis - 3_500) * day_millis).toISOString()
  const said = saidOn(sql)
  const { text } = said
  const moment = (minutes: string): string => said.moment(minutes, begins)
  const minutes = `(i * 7907) % ${3_650 * 1_440}`
  const subject = `(case i % 4 when 0 then 'Gala ' when 1 then 'Festival ' when 2 then 'Conference ' else 'Tour ' end) || ${text("(i * 7919) % 100000")}`
  const number = `'1' || ${text("100000 + i")}`
  const name = `'Acme ' || ${text("i")} || ' Events'`
  await multiply(sql, "members", member.id, people - 1, { id: `${member.id} + i`, name, name_folded: `lower(${name})` })
  const code = (letter: string) => ({
    shown: `'${letter}-' || ${text("i")}`,
    folded: `'${letter.toLowerCase()}-' || ${text("i")}`
  })
  const [asset, serial, barcode] = ["MH", "S", "B"].map(code)
  const columns = await sql.columns("stock_levels")
  const folded = {
    asset_number_folded: asset?.folded,
    serial_number_folded: serial?.folded,
    barcode_folded: barcode?.folded
  }
  await multiply(sql, "stock_levels", stock_level.id, units - 1, {
    id: `${stock_level.id} + i`,
    asset_number: asset?.shown ?? "null",
    serial_number: serial?.shown ?? "null",
    barcode: barcode?.shown ?? "null",
    ...Object.fromEntries(
      Object.entries(folded).flatMap(([key, of = ""]) => (columns.includes(key) ? [[key, of]] : []))
    )
  })
  const is_over = `${minutes} < ${3_495 * 1_440}`
  const is_out = `${minutes} < ${3_500 * 1_440}`
  await multiply(sql, "opportunities", opportunity.id, orders - 1, {
    id: `${opportunity.id} + i`,
    subject,
    subject_folded: `lower(${subject})`,
    number,
    number_folded: number,
    state: "2",
    status: `case when ${is_over} then ${statuses.complete.status} when ${is_out} then ${statuses.on_hire.status} else ${statuses.active.status} end`,
    member_id: `${member.id} + i % ${people}`,
    starts_at: moment(minutes),
    ends_at: moment(`${minutes} + 5000`),
    has_shortage: "i % 50 = 0"
  })
  await multiply(sql, "opportunity_items", line.id, orders - 1, {
    id: `${line.id} + i`,
    opportunity_id: `${opportunity.id} + i`
  })
  // Puts the database into the state it has some time after the rows were written.
  for (const statement of sql.is_pg ? ["vacuum analyze", "checkpoint"] : ["analyze"]) await sql.all(statement)
}

type Ask = (path: string, query: ReadonlyArray<readonly [string, string]>) => Promise<any>
interface Question {
  readonly name: string
  readonly path: string
  readonly query: ReadonlyArray<readonly [string, string]>
  /** Handwritten statements for the same rows. */
  readonly by_hand: (sql: Sql) => Promise<ReadonlyArray<ReadonlyArray<any>>>
}
const instant = (days: number): string =>
  new Date((Math.floor(Date.now() / day_millis) + days) * day_millis).toISOString()
const today: Question = {
  name: "today",
  path: "/api/v1/today",
  query: [],
  by_hand: async (sql) => {
    const open = "select * from opportunities where deleted_at is null and state = 2 and"
    const rows = [
      await sql.all(`${open} status = ${statuses.active.status} and starts_at >= $1 and starts_at < $2`, [
        instant(-14),
        instant(2)
      ]),
      await sql.all(`${open} status = ${statuses.on_hire.status} and ends_at < $1`, [instant(1)]),
      await sql.all(`${open} has_shortage and starts_at >= $1 and starts_at < $2`, [instant(0), instant(7)])
    ]
    const ids = rows.flat().map(({ id }) => Number(id))
    const lines = await sql.all(`select * from opportunity_items where opportunity_id in (${ids.join(", ")})`)
    return [...rows, lines]
  }
}
/** A search, and statements that select at most 20 rows of each of three tables. */
const found = (q: string, code: string): Question => ({
  name: `find ${q}`,
  path: "/api/v1/search",
  query: [["q", q]],
  by_hand: async (sql) => {
    const tables = { stock_levels: "asset_number", opportunities: "subject_folded", members: "name_folded" }
    const rows: Array<ReadonlyArray<any>> = []
    for (const [table, column] of Object.entries(tables)) {
      const condition = table === "stock_levels" ? `${column} = $1` : `${column} like $1`
      const sought = table === "stock_levels" ? code : `%${q.toLowerCase()}%`
      rows.push(await sql.all(`select * from ${table} where ${condition} order by id desc limit 20`, [sought]))
    }
    return rows
  }
})
const finds = [found("MH-4711", "MH-4711"), found("gala 4711", ""), found("erenc", ""), found("1104711", "")]

const measured = async (where: string, sql: Sql, ask: Ask, questions: ReadonlyArray<Question>): Promise<void> => {
  for (const { by_hand, name, path, query } of questions) {
    const body = await ask(path, query)
    const { length } = Buffer.isBuffer(body) ? body : JSON.stringify(body)
    print(
      `${name} at ${orders.toLocaleString("en")} orders, ${where} (${length.toLocaleString("en")} bytes)`,
      await inTurns(
        [
          timed("flightcase", at_a_time, () => ask(path, query)),
          timed(sql.driver, at_a_time, async () => JSON.stringify(await by_hand(sql)))
        ],
        rounds,
        warming
      ),
      { unit: "questions", as: "duration" }
    )
  }
}
const overHttp =
  (send: Send): Ask =>
  (path, query) =>
    send("GET", `${path}?${new URLSearchParams(Object.fromEntries(query)).toString()}`)
const onDevice =
  (device: Device): Ask =>
  async (path, query) => {
    const { body, status } = await device.ask({ method: "GET", path, query: [...query], body: {} })
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
    return body
  }

const onReplica = (questions: ReadonlyArray<Question>): Promise<void> =>
  served(onSqlite, async (engine, server, ask) => {
    const rows = await begun(ask)
    const profile = join(temporaryFolder(), "default")
    const device = await enrolDevice(profile, { name: "default", url: server.url, token: owner_token, device: "bench" })
    const path = join(profile, "replica.sqlite")
    const replica = { ...overSqlite({ ...engine, path }), moveIds: async () => {} }
    await multiplied(replica, rows)
    await measured("a device's replica", { ...replica, driver: "node:sqlite alone" }, onDevice(device), questions)
    await replica.close()
    await device.close()
  })
const both = async (questions: ReadonlyArray<Question>): Promise<void> => {
  await onBoth(async (sql, ask, send) => {
    await fill(sql, ask)
    await measured(sql.engine, sql, overHttp(send), questions)
  })
  await onReplica(questions)
}

export const counter = (): Promise<void> => both([today, ...finds])

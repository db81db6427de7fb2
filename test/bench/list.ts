/**
 * Lists of 100,000 opportunities, filtered and sorted, their first and thousandth page, against handwritten statements
 * that return the same rows.
 */
import { inTurns, print, timed } from "./measure.ts"
import type { Client } from "./processes.ts"
import { multiply, onBoth, saidOn, type Sql } from "./sql.ts"

const rows = 100_000
const rounds = 5
const warming = 20
const per_page = 20
const pages = [1, 1_000]

interface List {
  readonly name: string
  /** Query of the API's list. */
  readonly query: string
  readonly where: string
  readonly order: string
}
const lists: ReadonlyArray<List> = [
  { name: "all, in the order of ids", query: "", where: "true", order: "id" },
  { name: "all, newest start first", query: "sort=-starts_at", where: "true", order: "starts_at desc nulls first, id" },
  { name: "all, by subject", query: "sort=subject", where: "true", order: "subject_folded, id" },
  { name: "all, last changed first", query: "sort=-updated_at", where: "true", order: "updated_at desc, id" },
  { name: "all, by number", query: "sort=number", where: "true", order: "number_folded nulls last, id" },
  {
    name: "orders by start",
    query: "q[state_eq]=2&sort=starts_at",
    where: "state = 2",
    order: "starts_at nulls last, id"
  },
  {
    name: "one store's of a year, by start",
    query: "q[store_id_eq]=1&q[starts_at_gteq]=2026-01-01&q[starts_at_lt]=2027-01-01&sort=starts_at",
    where: "store_id = 1 and starts_at >= '2026-01-01T00:00:00.000Z' and starts_at < '2027-01-01T00:00:00.000Z'",
    order: "starts_at nulls last, id"
  },
  {
    name: "subject contains gala",
    query: "q[subject_cont]=Gala&sort=-created_at",
    where: "subject_folded like '%gala%'",
    order: "created_at desc, id"
  },
  {
    name: "short of stock",
    query: "q[has_shortage_true]=1&sort=starts_at",
    where: "has_shortage",
    order: "starts_at nulls last, id"
  },
  {
    name: "one customer's",
    query: "q[member_id_eq]=MEMBER&sort=-created_at",
    where: "member_id = MEMBER",
    order: "created_at desc, id"
  }
]

/** Ten years of jobs of several kinds, most of them of ten customers; one in fifty is short of stock. */
const fill = async (sql: Sql, ask: Client): Promise<number> => {
  const {
    member: { id: member }
  } = await ask("POST", "/api/v1/members", { name: "Acme", membership_type: "organisation" })
  const {
    opportunity: { id }
  } = await ask("POST", "/api/v1/opportunities", {
    subject: "Festival",
    store_id: 1,
    member_id: member,
    starts_at: "2026-07-01T08:00:00Z",
    ends_at: "2026-07-06T18:00:00Z"
  })
  const { moment, text } = saidOn(sql)
  const subject = `(case i % 5 when 0 then 'Gala ' when 1 then 'Festival ' when 2 then 'Conference ' when 3 then 'Tour ' else 'Fair ' end) || ${text("(i * 7919) % 100000")}`
  const number = `'1' || ${text("100000 + i")}`
  await multiply(sql, "opportunities", id, rows - 1, {
    id: `${id} + i`,
    subject,
    subject_folded: `lower(${subject})`,
    number,
    number_folded: number,
    state: "i % 3",
    member_id: `case when i % 1000 = 0 then ${member} else null end`,
    store_id: `1 + i % 2`,
    starts_at: moment("(i * 7907) % 5256000"),
    ends_at: moment("(i * 7907) % 5256000 + 5000"),
    created_at: moment("i * 40"),
    updated_at: moment("(i * 7901) % 5256000"),
    has_shortage: "i % 50 = 0"
  })
  await sql.all("analyze")
  return member
}

export const list = (): Promise<void> =>
  onBoth(async (sql, ask, send) => {
    const member = String(await fill(sql, ask))
    let kept = 0
    for (const { name, query, where, order } of lists) {
      for (const page of pages) {
        const path = `/api/v1/opportunities?${query.replace("MEMBER", member)}&page=${page}&per_page=${per_page}`
        const filter = `deleted_at is null and ${where.replace("MEMBER", member)}`
        const found = (await ask("GET", path)).opportunities.map((one) => one.id)
        // Selects ids first, so that skipped rows are not read in full.
        const select =
          `select o.* from (select id from opportunities where ${filter} order by ${order} limit ${per_page} offset ${(page - 1) * per_page}) as page ` +
          `join opportunities o on o.id = page.id order by ${order.replaceAll(/^|, /g, "$&o.")}`
        const by_hand = (await sql.all(select)).map((row) => Number(row.id))
        if (JSON.stringify(found) !== JSON.stringify(by_hand))
          throw new Error(`${name}, page ${page}: other rows by hand`)
        print(
          `list of ${rows.toLocaleString("en")} opportunities, ${sql.engine}: ${name}; page ${page} of ${per_page} (${found.length} rows), and how many there are`,
          await inTurns(
            [
              timed("flightcase", 3, () => send("GET", path)),
              timed(sql.driver, 3, async () => {
                const page_rows = await sql.all(select)
                const [total] = await sql.all(`select count(*) as total from opportunities where ${filter}`)
                kept += JSON.stringify({ opportunities: page_rows, total: Number(total.total) }).length
              })
            ],
            rounds,
            warming
          ),
          { unit: "requests", as: "duration" }
        )
      }
    }
    if (kept < 0) console.log(kept)
  })

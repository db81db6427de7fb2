/**
 * Checkout and issue of an order of 500 lines, and lists of 100,000 invoices with each filter, against handwritten
 * statements that write and return the same rows.
 */
import { inTurns, print, type Side, timed } from "./measure.ts"
import type { Client } from "./processes.ts"
import { multiply, onBoth, saidOn, type Sql } from "./sql.ts"

const lines = 500
const rows = 100_000
const rounds = 5
const warming = 2
const per_page = 20
const pages = [1, 1_000]

/** Creates an opportunity; most of its charged lines are copied in the table. */
const orderOf = async (sql: Sql, ask: Client, member_id: number): Promise<number> => {
  const { product } = await ask("POST", "/api/v1/products", { name: "PAR 64", tax_class_id: 1 })
  const {
    opportunity: { id }
  } = await ask("POST", "/api/v1/opportunities", {
    subject: `Order of ${lines}`,
    store_id: 1,
    member_id,
    starts_at: "2027-07-01T08:00:00Z",
    ends_at: "2027-07-06T18:00:00Z"
  })
  const path = `/api/v1/opportunities/${id}/items`
  await ask("POST", path, { name: "PAR 64", item_id: product.id, quantity: 2, unit_price: "12.34" })
  const [line] = await sql.all("select max(id) as id from opportunity_items")
  await multiply(sql, "opportunity_items", line.id, lines - 2, {
    id: `${line.id} + i`,
    path: saidOn(sql).padded("1 + i", 4)
  })
  // Added by the server last, so that the totals include all lines.
  await ask("POST", path, { name: "PAR 64", item_id: product.id, quantity: 2, unit_price: "12.34" })
  return id
}

const copied = (columns: ReadonlyArray<string>, table: string, set: { readonly [name: string]: string }): string =>
  `insert into bare_${table} (${columns.map((name) => `"${name}"`).join(", ")}) select ${columns.map((name) => set[name] ?? `"${name}"`).join(", ")} from ${table}`

let kept = 0
/** Writes the invoice, its rows and one event with all of them; returns the invoice with its rows. */
const billingByHand = async (sql: Sql, invoice: number): Promise<Side> => {
  await sql.copyOf("invoices")
  await sql.copyOf("invoice_items")
  const now = sql.is_pg ? "now()" : "datetime()"
  await sql.all("create table bare_events (stream text, data text, at text)")
  await sql.all("create table bare_numbers (kind text primary key, next bigint)")
  await sql.all("insert into bare_numbers (kind, next) values ('invoice', 1)")
  const head = copied(await sql.columns("invoices"), "invoices", { id: "$1", status: "'draft'", number: "null" })
  const items = copied(await sql.columns("invoice_items"), "invoice_items", { id: "id + $1", invoice_id: "$1" })
  const read = async (id: number): Promise<string> => {
    const [row] = await sql.all("select * from bare_invoices where id = $1", [id])
    const found = await sql.all("select * from bare_invoice_items where invoice_id = $1 order by sort_order, id", [id])
    return JSON.stringify({ ...row, items: found })
  }
  let next = 900_000_000
  return timed(sql.driver, 2, async () => {
    const id = (next += 1_000)
    await sql.transaction(async () => {
      await sql.all(`${head} where id = ${invoice}`, [id])
      await sql.all(`${items} where invoice_id = ${invoice}`, [id])
      await sql.all(`insert into bare_events (stream, data, at) values ($1, $2, ${now})`, [
        `invoice:${id}`,
        await read(id)
      ])
    })
    kept += (await read(id)).length
    await sql.transaction(async () => {
      const [{ next: number }] = await sql.all(
        "update bare_numbers set next = next + 1 where kind = 'invoice' returning next"
      )
      await sql.all(`update bare_invoices set status = 'issued', number = $2, issued_at = ${now} where id = $1`, [
        id,
        String(number).padStart(10, "0")
      ])
      await sql.all(`insert into bare_events (stream, data, at) values ($1, $2, ${now})`, [
        `invoice:${id}`,
        JSON.stringify({ id, status: "issued", number: String(number) })
      ])
    })
    const [row] = await sql.all("select * from bare_invoices where id = $1", [id])
    kept += JSON.stringify(row).length
  })
}

const checkouts = async (sql: Sql, ask: Client, opportunity: number): Promise<void> => {
  const checkout = async (): Promise<{ readonly id: number; readonly items: ReadonlyArray<unknown> }> =>
    (await ask("POST", `/api/v1/opportunities/${opportunity}/invoices`, {})).invoice
  const draft = await checkout()
  if (draft.items.length !== lines) throw new Error(`${draft.items.length} rows instead of ${lines}`)
  let issued = 0
  print(
    `checkout and issue of an order of ${lines} lines, ${sql.engine}`,
    await inTurns(
      [
        timed(
          "flightcase",
          2,
          async () => {
            issued = (await checkout()).id
            await ask("POST", `/api/v1/invoices/${issued}/issue`, {})
          },
          // Voided, so that the order can be billed again.
          { after: async () => void (await ask("POST", `/api/v1/invoices/${issued}/void`, {})) }
        ),
        await billingByHand(sql, draft.id)
      ],
      rounds,
      warming
    ),
    { unit: "invoices", as: "duration" }
  )
}

interface List {
  readonly query: string
  readonly where: string
  readonly order?: string
}
const lists: ReadonlyArray<List> = [
  { query: "", where: "true" },
  { query: "q[status_eq]=issued&sort=-issued_at", where: "status = 'issued'", order: "issued_at desc nulls first, id" },
  { query: "q[type_eq]=deposit", where: "type = 'deposit'" },
  { query: "q[member_id_eq]=MEMBER&sort=-created_at", where: "member_id = MEMBER", order: "created_at desc, id" },
  { query: "q[store_id_eq]=1", where: "store_id = 1" },
  { query: "q[opportunity_id_eq]=7", where: "opportunity_id = 7" },
  { query: "q[number_eq]=0000054321", where: "number_folded = '0000054321'" },
  { query: "q[currency_code_eq]=GBP&sort=-total", where: "currency_code = 'GBP'", order: "total desc, id" },
  { query: "q[total_gteq]=900.00", where: "total >= 90000" },
  {
    query: "q[amount_outstanding_gt]=0.00&sort=amount_outstanding",
    where: "amount_outstanding > 0",
    order: "amount_outstanding, id"
  },
  {
    query: "q[issued_at_gteq]=2026-01-01&q[issued_at_lt]=2026-07-01&sort=issued_at",
    where: "issued_at >= '2026-01-01T00:00:00.000Z' and issued_at < '2026-07-01T00:00:00.000Z'",
    order: "issued_at nulls last, id"
  },
  { query: "q[due_at_lt]=2020-01-01&sort=due_at", where: "due_at < '2020-01-01T00:00:00.000Z'", order: "due_at, id" },
  { query: "q[is_overdue_true]=1", where: "status in ('issued', 'partially_paid') and due_at < NOW" },
  { query: "q[paid_at_gteq]=2026-01-01", where: "paid_at >= '2026-01-01T00:00:00.000Z'" },
  { query: "q[updated_at_gteq]=2028-01-01", where: "updated_at >= '2028-01-01T00:00:00.000Z'" },
  { query: "q[subject_cont]=gala", where: "subject_folded like '%gala%'" },
  { query: "q[reference_eq]=ref 77", where: "reference_folded = 'ref 77'" }
]

/** Ten years of invoices in every status, most of them paid; one in a hundred is the given customer's. */
const fill = async (sql: Sql, ask: Client, member_id: number): Promise<void> => {
  const { invoice } = await ask("POST", "/api/v1/invoices", {
    member_id,
    store_id: 1,
    items: [{ name: "Hire", unit_price: "1.00" }]
  })
  const { moment, text, padded } = saidOn(sql)
  const number = padded("i", 10)
  const subject = `(case i % 50 when 0 then 'Gala ' else 'Fair ' end) || ${text("i")}`
  const reference = `'ref ' || ${text("i")}`
  const when = (column: string, minutes: string): string => `case when ${column} then ${moment(minutes)} else null end`
  await multiply(sql, "invoices", invoice.id, rows, {
    id: `${invoice.id} + i`,
    number,
    number_folded: number,
    subject,
    subject_folded: `lower(${subject})`,
    reference,
    reference_folded: reference,
    type: "case when i % 40 = 0 then 'deposit' else 'standard' end",
    status:
      "case when i % 20 = 0 then 'issued' when i % 20 = 1 then 'partially_paid' when i % 20 = 2 then 'voided' else 'paid' end",
    member_id: `case when i % 100 = 0 then ${invoice.member_id} else 1 end`,
    store_id: "1 + i % 4",
    opportunity_id: "i % 5000",
    total: "(i * 7919) % 100000",
    amount_outstanding: "case when i % 20 < 2 then (i * 7919) % 100000 else 0 end",
    issued_at: moment("(i * 7907) % 5256000"),
    due_at: moment("(i * 7907) % 5256000 + 43200"),
    paid_at: when("i % 20 > 2", "(i * 7907) % 5256000 + 30000"),
    created_at: moment("i * 40"),
    updated_at: moment("(i * 7901) % 5256000")
  })
  await sql.all("analyze")
}

const listing = async (sql: Sql, ask: Client, member_id: number): Promise<void> => {
  const now = `'${new Date().toISOString()}'`
  for (const { query, where, order = "id" } of lists) {
    const filter = `deleted_at is null and ${where.replace("MEMBER", String(member_id)).replace("NOW", now)}`
    const [total] = await sql.all(`select count(*) as total from invoices where ${filter}`)
    for (const page of pages.filter((one) => one === 1 || (one - 1) * per_page < Number(total.total))) {
      const path = `/api/v1/invoices?${query.replace("MEMBER", String(member_id))}&page=${page}&per_page=${per_page}`
      const found = (await ask("GET", path)).invoices.map((one) => one.id)
      // Selects ids first, so that skipped rows are not read in full.
      const select =
        `select i.* from (select id from invoices where ${filter} order by ${order} limit ${per_page} offset ${(page - 1) * per_page}) as page ` +
        `join invoices i on i.id = page.id order by ${order.replaceAll(/^|, /g, "$&i.")}`
      const by_hand = (await sql.all(select)).map((row) => Number(row.id))
      if (JSON.stringify(found) !== JSON.stringify(by_hand))
        throw new Error(`${query}, page ${page}: other rows by hand (${found} and ${by_hand})`)
      print(
        `list of ${rows.toLocaleString("en")} invoices, ${sql.engine}: ${query || "all"}; page ${page} (${found.length} rows of ${total.total})`,
        await inTurns(
          [
            timed("flightcase", 3, async () => {
              await ask("GET", path)
            }),
            timed(sql.driver, 3, async () => {
              const page_rows = await sql.all(select)
              const [counted] = await sql.all(`select count(*) as total from invoices where ${filter}`)
              kept += JSON.stringify({ invoices: page_rows, total: Number(counted.total) }).length
            })
          ],
          rounds,
          warming
        ),
        { unit: "requests", as: "duration" }
      )
    }
  }
}

export const billing = (): Promise<void> =>
  onBoth(async (sql, ask) => {
    const { member } = await ask("POST", "/api/v1/members", {
      name: "Acme",
      membership_type: "organisation",
      sale_tax_class_id: 1
    })
    await checkouts(sql, ask, await orderOf(sql, ask, member.id))
    await fill(sql, ask, member.id)
    await listing(sql, ask, member.id)
    if (kept < 0) console.log(kept)
  })

/**
 * An order of 1,000 lines: read, extended by a line, reordered, and 500 of its units booked out at once, against
 * handwritten statements that do the same.
 */
import { inTurns, print, type Side, timed } from "./measure.ts"
import type { Client } from "./processes.ts"
import type { Body } from "../answers.ts"
import { multiply, onBoth, saidOn, type Send, type Sql } from "./sql.ts"

const lines = 1_000
const units = 500
const units_per_line = 50
const rounds = 7
/** Rounds until all has run some dozens of times, as on a server that has run for a while. */
const warming = 12
const window = { starts_at: "2027-07-01T08:00:00Z", ends_at: "2027-07-06T18:00:00Z" }

interface Order {
  readonly id: number
  readonly path: string
  readonly first_line: number
  readonly assignments: ReadonlyArray<number>
}

/**
 * Creates an order of lines with a rated product, the first ones with allocated units; the other lines are copied in
 * the table.
 */
const orderOf = async (
  sql: Sql,
  ask: Client,
  { product, serial }: { readonly product: number; readonly serial: number },
  size: number
): Promise<Order> => {
  const {
    opportunity: { id }
  } = await ask("POST", "/api/v1/opportunities", { subject: `Order of ${size}`, store_id: 1, ...window })
  const path = `/api/v1/opportunities/${id}`
  const serial_lines = size < lines ? 1 : units / units_per_line
  for (let at = 0; at < serial_lines; at++)
    await ask("POST", `${path}/items`, { name: "Moving head", item_id: serial, quantity: units_per_line })
  const { opportunity } = await ask("POST", `${path}/items`, { name: "PAR 64", item_id: product, quantity: 2 })
  const [top] = await sql.all("select max(id) as id from opportunity_items")
  const place = `${opportunity.items.length} + i`
  await multiply(sql, "opportunity_items", opportunity.items.at(-1)!.id, size - opportunity.items.length, {
    id: `${top.id} + i`,
    path: saidOn(sql).padded(place, 4)
  })
  await ask("POST", `${path}/convert_to_quotation`, {})
  await ask("POST", `${path}/convert_to_order`, {})
  const allocations: Array<object> = []
  if (size >= lines) {
    const levels = await sql.all("select id from stock_levels where product_id = $1 order by id", [serial])
    levels.forEach((level, at) =>
      allocations.push({
        opportunity_item_id: opportunity.items[Math.floor(at / units_per_line)]!.id,
        stock_level_id: Number(level.id)
      })
    )
    await ask("POST", `${path}/quick_allocate`, { allocations })
  }
  const assignments = (
    await sql.all("select id from asset_assignments where opportunity_id = $1 order by id", [id])
  ).map((row) => Number(row.id))
  return { id, path, first_line: opportunity.items[0].id, assignments }
}

let kept = 0
/** Reads the order with its lines as JSON. */
const readByHand = async (sql: Sql, id: number): Promise<void> => {
  const [row] = await sql.all("select * from bare_opportunities where id = $1", [id])
  const items = await sql.all(
    "select * from bare_opportunity_items where opportunity_id = $1 and is_live order by path, id",
    [id]
  )
  kept += JSON.stringify({ opportunity: { ...row, items } }).length
}
const totals = "select sum(total) from bare_opportunity_items where opportunity_id = $1 and is_live"
const recorded = (sql: Sql): string => (sql.is_pg ? "now()" : "datetime()")

const showing = (sql: Sql, send: Send, order: Order): ReadonlyArray<Side> => [
  timed("flightcase", 10, () => send("GET", `${order.path}?include=items`)),
  timed(sql.driver, 10, () => readByHand(sql, order.id))
]

const adding = (send: Send, product: number, name: string, order: Order): Side => {
  let answer = ""
  return timed(
    name,
    5,
    async () => {
      answer = (await send("POST", `${order.path}/items`, { name: "PAR 64", item_id: product, quantity: 2 })).toString()
    },
    {
      after: async () => {
        const { opportunity }: Body = JSON.parse(answer)
        await send("DELETE", `${order.path}/items/${opportunity.items.at(-1)!.id}`)
      }
    }
  )
}
/** Adds the line, its claim, the totals and an event, and reads the order with its lines as the server does. */
const addingByHand = async (sql: Sql, order: Order): Promise<Side> => {
  const items = (await sql.columns("opportunity_items")).map((name) => `"${name}"`),
    demands = (await sql.columns("claims")).map((name) => `"${name}"`)
  const copied = (table: string, columns: ReadonlyArray<string>, where: string): string =>
    `insert into bare_${table} (${columns.join(", ")}) select ${columns.map((name) => (name === '"id"' ? "$1" : name === '"path"' ? "'9999'" : name)).join(", ")} from bare_${table} where ${where}`
  const [{ id: line }] = await sql.all("select max(id) as id from bare_opportunity_items where opportunity_id = $1", [
    order.id
  ])
  const [{ id: demand }] = await sql.all(
    "select max(id) as id from bare_claims where opportunity_id = $1 and asset_id is null",
    [order.id]
  )
  const insert_line = copied("opportunity_items", items, `id = ${line}`),
    insert_demand = copied("claims", demands, `id = ${demand}`)
  let next = 900_000_000
  return timed(
    sql.driver,
    5,
    async () => {
      await sql.transaction(async () => {
        await sql.all(insert_line, [++next])
        await sql.all(insert_demand, [next])
        await sql.all(
          `update bare_opportunities set charge_total = (${totals}), tax_total = 0, updated_at = ${recorded(sql)} where id = $1`,
          [order.id]
        )
        await sql.all(`insert into bare_events (stream, data, at) values ($1, $2, ${recorded(sql)})`, [
          `opportunity:${order.id}`,
          JSON.stringify({ id: next, name: "PAR 64", quantity: "2.00" })
        ])
      })
      await readByHand(sql, order.id)
    },
    {
      after: async () => {
        await sql.all("delete from bare_opportunity_items where id = $1", [next])
        await sql.all("delete from bare_claims where id = $1", [next])
      }
    }
  )
}

const reordering = (sql: Sql, send: Send, order: Order, ids: ReadonlyArray<number>): ReadonlyArray<Side> => {
  let turn = 0
  // Rotates the lines, so that each gets another position.
  const next = (): ReadonlyArray<number> => {
    turn = (turn + 1) % ids.length
    return [...ids.slice(-turn), ...ids.slice(0, -turn)]
  }
  return [
    timed("flightcase", 2, () =>
      send("PATCH", `${order.path}/items/tree`, { nodes: next().map((id) => ({ id, depth: 1 })) })
    ),
    timed(sql.driver, 2, async () => {
      const paths = JSON.stringify(next().map((id, at) => ({ id, path: String(at + 1).padStart(4, "0") })))
      await sql.transaction(async () => {
        await sql.all(
          sql.is_pg
            ? `update bare_opportunity_items set path = given.path, updated_at = now() from json_to_recordset($1::json) as given (id bigint, path text) where bare_opportunity_items.id = given.id`
            : `update bare_opportunity_items set path = given.value ->> 'path', updated_at = datetime() from json_each($1) as given where bare_opportunity_items.id = given.value ->> 'id'`,
          [paths]
        )
        await sql.all(`insert into bare_events (stream, data, at) values ($1, $2, ${recorded(sql)})`, [
          `opportunity:${order.id}`,
          paths
        ])
      })
      await readByHand(sql, order.id)
    })
  ]
}

const moved = ["opportunities", "opportunity_items", "asset_assignments", "claims", "stock_levels"]
/** Restores the tables, as units can be booked out only once. */
const rewound = (sql: Sql, prefix: string) => async (): Promise<void> =>
  sql.transaction(async () => {
    await sql.all(`delete from ${prefix}asset_assignments`)
    await sql.all(`insert into ${prefix}asset_assignments select * from kept_asset_assignments`)
    await sql.all(`delete from ${prefix}claims`)
    await sql.all(`insert into ${prefix}claims select * from kept_claims`)
    await sql.all(
      `update ${prefix}opportunities set status = (select status from kept_opportunities where id = ${prefix}opportunities.id) where id in (select id from kept_opportunities)`
    )
  })
const bookingOut = (sql: Sql, send: Send, order: Order): ReadonlyArray<Side> => {
  const ids = JSON.stringify(order.assignments)
  const chosen = sql.is_pg
    ? "(select value::bigint from json_array_elements_text($1::json))"
    : "(select value from json_each($1))"
  return [
    timed("flightcase", 1, () => send("POST", `${order.path}/quick_book_out`, { asset_ids: order.assignments }), {
      before: rewound(sql, "")
    }),
    timed(
      sql.driver,
      1,
      async () => {
        await sql.transaction(async () => {
          await sql.all(
            `update bare_asset_assignments set status = 2, dispatched_at = ${recorded(sql)}, updated_at = ${recorded(sql)} where id in ${chosen}`,
            [ids]
          )
          await sql.all(`update bare_claims set updated_at = ${recorded(sql)} where opportunity_id = $1`, [order.id])
          await sql.all(`update bare_opportunities set status = 25, updated_at = ${recorded(sql)} where id = $1`, [
            order.id
          ])
          await sql.all(
            `insert into bare_events (stream, data, at) select 'opportunity:${order.id}', ${sql.is_pg ? "json_build_object('unit', value, 'set', json_build_object('status', 2))::text" : "json_object('unit', value, 'set', json_object('status', 2))"}, ` +
              `${recorded(sql)} from ${sql.is_pg ? "json_array_elements_text($1::json)" : "json_each($1)"} as given (value)`.replace(
                sql.is_pg ? "" : " (value)",
                ""
              ),
            [ids]
          )
        })
        await readByHand(sql, order.id)
      },
      { before: rewound(sql, "bare_") }
    )
  ]
}

export const order = (): Promise<void> =>
  onBoth(async (sql, ask, send) => {
    const {
      product: { id: product }
    } = await ask("POST", "/api/v1/products", { name: "PAR 64", stock_method: 1 })
    await ask("POST", `/api/v1/products/${product}/rates`, {
      rate_definition_id: 2,
      transaction_type: "rental",
      price: "12.50",
      currency: "GBP"
    })
    const [level] = await sql.all("select id from stock_levels where product_id = $1", [product])
    await ask("PUT", `/api/v1/stock_levels/${level.id}`, { quantity_held: 100_000 })
    const {
      product: { id: serial }
    } = await ask("POST", "/api/v1/products", { name: "Moving head", stock_method: 2 })
    await ask("POST", "/api/v1/discount_rules", {
      name: "Ten",
      discount_type: "percentage",
      discount_value: 10,
      criteria: {},
      auto_apply: true
    })
    for (let at = 0; at < units; at++)
      await ask("POST", "/api/v1/stock_levels", { product_id: serial, store_id: 1, asset_number: `MH-${at}` })
    const large = await orderOf(sql, ask, { product, serial }, lines),
      small = await orderOf(sql, ask, { product, serial }, 10)
    for (const table of moved) {
      await sql.copyOf(table)
      await sql.all(`create table kept_${table} as select * from ${table}`)
    }
    await sql.all(
      `create table bare_events (id ${sql.is_pg ? "bigint generated always as identity" : "integer"} primary key, stream text, data text, at text)`
    )
    const ids = (
      await sql.all("select id from opportunity_items where opportunity_id = $1 order by path", [large.id])
    ).map((row) => Number(row.id))
    const told = (what: string): string => `order of ${lines.toLocaleString("en")} lines, ${sql.engine}: ${what}`
    const shown = { unit: "requests", as: "duration" } as const
    print(told("show with items"), await inTurns(showing(sql, send, large), rounds, warming), shown)
    print(
      told("add a line, answered with all lines; and to an order of 10"),
      await inTurns(
        [
          adding(send, product, "flightcase", large),
          adding(send, product, "flightcase, 10 lines", small),
          await addingByHand(sql, large)
        ],
        rounds,
        warming
      ),
      shown
    )
    print(
      told("put every line in another place"),
      await inTurns(reordering(sql, send, large, ids), rounds, warming),
      shown
    )
    print(told(`book out ${units} units at once`), await inTurns(bookingOut(sql, send, large), rounds, warming), shown)
    if (kept < 0) console.log(kept)
  })

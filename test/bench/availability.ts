/**
 * Availability of a large company: 5,000 products and 250,000 claims over 380 days. Each query runs through the product
 * (token, checks, rules, JSON; no socket) and as one handwritten statement on the same tables that finds the same
 * figures. Both also run on a database with twice the history, which should cost them nothing.
 */
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { Effect } from "effect"
import pg from "pg"
import { demands, relevantUntil } from "../../core/orders/demands/schema.ts"
import { initialRow } from "../../core/kernel/tables/field-schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { type AnyRow, insert, type RowChange, type RowOf } from "../../core/kernel/tables/table.ts"
import { productFields, products } from "../../core/products/products/schema.ts"
import { stock_levels } from "../../core/products/stock/schema.ts"
import { openServerApp, type ServerApp, type ServerOptions } from "../../server/host/app.ts"
import { askOf, owner_token } from "../server/serving.ts"
import { inTurns, print, type Side, timed } from "./measure.ts"
import { temporaryFolder } from "./processes.ts"
import { onPostgres, type PgEngine } from "./stage.ts"
import type { Body } from "../answers.ts"

const product_count = 5_000
const demands_each = 50
const days = 380
const rounds = 7
const dayMillis = 86_400_000
const store_id = 1
const calendar_products = 200
const calendar_days = 60
/** Every fifth product is serialised, in five units. */
const is_serialised = (product: number): boolean => product % 5 === 0
const units = 5

const today = Math.floor(Date.now() / dayMillis) * dayMillis
const first_day = today - (days / 2) * dayMillis
const instant = (millis: number): string => new Date(millis).toISOString()
const dateOf = (millis: number): string => instant(millis).slice(0, 10)
const stamps = { created_at: instant(first_day), updated_at: instant(first_day), deleted_at: null }

const stock = (): ReadonlyArray<RowChange> =>
  Array.from({ length: product_count }, (_, at) => at + 1).flatMap((id) => {
    const level = (level_id: number, more: AnyRow) =>
      insert(stock_levels, {
        ...initialRow(stock_levels, stock_levels.columns),
        id: level_id,
        product_id: id,
        store_id,
        ...stamps,
        ...more
      } as RowOf<typeof stock_levels>)
    return [
      insert(products, {
        ...initialRow(products, { ...products.columns, ...productFields }),
        id,
        name: `Product ${id}`,
        stock_method: is_serialised(id) ? 2 : 1,
        ...stamps
      } as RowOf<typeof products>),
      ...(is_serialised(id)
        ? Array.from({ length: units }, (_, unit) =>
            level(id * 10 + unit, { stock_category: 50, serial_number: `SN-${id}-${unit}` })
          )
        : // One in twenty has too little stock.
          [level(id * 10, { stock_category: 10, quantity_held: id % 20 === 1 ? "3.00" : "20.00" })])
    ]
  })

/** Claims of `days` days from `from`; those that have ended are closed, as those of returned orders are. */
const demandsFrom = (from: number, first_id: number): ReadonlyArray<RowChange> =>
  Array.from({ length: product_count * demands_each }, (_, at) => {
    const product_id = (at % product_count) + 1,
      turn = Math.floor(at / product_count)
    const starts = from + (Math.floor((turn * days) / demands_each) + (product_id % 7)) * dayMillis
    const ends = starts + (1 + ((product_id + turn) % 6)) * dayMillis
    const is_over = ends <= today
    const row = {
      ...initialRow(demands, demands.columns),
      id: first_id + at,
      product_id,
      store_id,
      quantity: is_serialised(product_id) ? 1 : 1 + ((product_id + turn) % 3),
      asset_id: is_serialised(product_id) ? product_id * 10 + (turn % units) : null,
      starts_at: instant(starts),
      ends_at: instant(ends),
      buffered_starts_at: instant(starts),
      buffered_ends_at: instant(ends),
      source_type: "opportunity_item",
      source_id: first_id + at,
      opportunity_id: Math.floor((first_id + at) / 20),
      phase: is_over ? "closed" : starts <= today ? "on_hire" : "reserved",
      is_active: !is_over,
      out: !is_over && starts <= today,
      pending_checkin: false,
      checked_at: null,
      ...stamps
    } as RowOf<typeof demands>
    return insert(demands, { ...row, reaches_to: relevantUntil(row) })
  })

const write = (app: ServerApp, changes: ReadonlyArray<RowChange>): Promise<void> =>
  app.run(
    Effect.gen(function* () {
      const store = yield* Store
      for (let at = 0; at < changes.length; at += 5_000)
        yield* store.transaction(store.apply(changes.slice(at, at + 5_000)))
    })
  )

type Rows = ReadonlyArray<{ readonly [column: string]: unknown }>
/** Runs one statement with its numbered values in order. */
type Ask = (text: string, values: ReadonlyArray<unknown>) => Promise<Rows>

interface Dialect {
  readonly name: "SQLite" | "Postgres"
  /** SQL: `$2` days from `$1`, as `day(starts, ends)`. */
  readonly calendar: string
  readonly held: string
}
const sqlite: Dialect = {
  name: "SQLite",
  calendar:
    "with recursive n(i) as (select 0 union all select i + 1 from n where i < $2 - 1), " +
    "day(starts, ends) as materialized (select strftime('%Y-%m-%dT%H:%M:%fZ', $1, i || ' days'), strftime('%Y-%m-%dT%H:%M:%fZ', $1, (i + 1) || ' days') from n) ",
  held: "sum(case when stock_category = 50 then 1 else (quantity_held + 50) / 100 end)"
}
const postgres: Dialect = {
  name: "Postgres",
  calendar:
    "with day(starts, ends) as materialized (select $1::timestamptz + i * interval '24 hours', $1::timestamptz + (i + 1) * interval '24 hours' from generate_series(0, $2::integer - 1) i) ",
  held: "sum(case when stock_category = 50 then 1 else round(quantity_held) end)"
}
const meets = (from: string, to: string): string =>
  `is_active = true and reaches_to > ${from} and buffered_ends_at > ${from} and buffered_starts_at < ${to}`

interface Question {
  readonly name: string
  readonly repeat: number
  /** Rounds that do not count: short questions are asked thousands of times, as on a server that has run for a day. */
  readonly warming: number
  readonly path: (product: number) => string
  readonly sql: (product: number) => readonly [text: string, values: ReadonlyArray<unknown>]
  /** A figure of each response, which must equal that of the statement. */
  readonly figure: (body: Body) => unknown
  readonly found: (rows: Rows) => unknown
}
const at = "/api/v1/availability"
const span = (from: number, count: number): string => `from=${dateOf(from)}&to=${dateOf(from + count * dayMillis)}`
const questions = (dialect: Dialect): ReadonlyArray<Question> => {
  const last =
    dialect.name === "SQLite"
      ? "strftime('%Y-%m-%dT%H:%M:%fZ', $1, $2 || ' days')"
      : "$1::timestamptz + $2::integer * interval '24 hours'"
  /** SQL: available quantity per product and day; `which` limits both `s` and `c` to some products. */
  const perDay = (which: (row: string) => string) =>
    dialect.calendar +
    `select stock.product_id, d.starts, stock.held - coalesce(t.taken, 0) as available ` +
    `from (select s.product_id, ${dialect.held} as held from stock_levels s where s.store_id = $3${which("s")} group by s.product_id) stock cross join day d ` +
    `left join (select c.product_id, d.starts, sum(c.quantity) as taken from claims c join day d on c.buffered_starts_at < d.ends and c.buffered_ends_at > d.starts ` +
    `where c.store_id = $3${which("c")} and c.is_active = true and c.reaches_to > $1 and c.buffered_starts_at < ${last} group by c.product_id, d.starts) t ` +
    "on t.product_id = stock.product_id and t.starts = d.starts"
  return [
    {
      name: "one moment of one product",
      repeat: 40,
      warming: 100,
      path: (product) => `${at}?product_id=${product}&store_id=1&date=${dateOf(today + 10 * dayMillis)}`,
      sql: (product) => [
        `select (select ${dialect.held} from stock_levels where product_id = $1 and store_id = $2) - ` +
          `coalesce((select sum(quantity) from claims where product_id = $1 and store_id = $2 and ${meets("$3", "$4")}), 0) as available`,
        [product, store_id, instant(today + 10 * dayMillis), instant(today + 11 * dayMillis)]
      ],
      figure: (body) => body.availability.available,
      found: ([row]) => Number(row!["available"])
    },
    {
      name: "14 days of one product",
      repeat: 40,
      warming: 100,
      path: (product) => `${at}?product_id=${product}&store_id=1&${span(today, 14)}`,
      sql: (product) => [
        `${perDay((row) => ` and ${row}.product_id = $4`)} order by 1, 2`,
        [instant(today), 14, store_id, product]
      ],
      figure: (body) => body.availability.slots.map((slot) => slot.available),
      found: (rows) => rows.map((row) => Number(row["available"]))
    },
    {
      name: `a calendar of ${calendar_products} products and ${calendar_days} days`,
      repeat: 2,
      warming: 10,
      path: (product) =>
        `${at}/calendar?store_id=1&${span(today, calendar_days - 1)}&${block(product)
          .map((id) => `product_ids[]=${id}`)
          .join("&")}`,
      sql: (product) => [
        `${perDay((row) => ` and ${row}.product_id between $4 and $4 + ${calendar_products - 1}`)} order by 1, 2`,
        [instant(today), calendar_days, store_id, block(product)[0]]
      ],
      figure: (body) => body.calendar.products.flatMap((one) => one.days.map((day) => day.available)),
      found: (rows) => rows.map((row) => Number(row["available"]))
    },
    {
      name: "the chart of one product, 60 days",
      repeat: 40,
      warming: 100,
      path: (product) => `${at}/${product}/gantt?store_id=1&${span(today, 59)}`,
      sql: (product) => [
        `select * from claims where product_id = $1 and store_id = $2 and ${meets("$3", "$4")} order by asset_id, starts_at`,
        [product, store_id, instant(today), instant(today + 60 * dayMillis)]
      ],
      figure: (body) => body.gantt.demands.length,
      found: (rows) => rows.length
    },
    {
      name: "a sweep of the store for shortages, 60 days",
      repeat: 1,
      warming: 4,
      path: () => `${at}/shortages?store_id=1&per_page=200&${span(today, 59)}`,
      sql: () => [`${perDay(() => "")} where stock.held - coalesce(t.taken, 0) < 0`, [instant(today), 60, store_id]],
      figure: (body) => body.meta.total,
      found: (rows) => rows.length
    }
  ]
}
const block = (product: number): ReadonlyArray<number> => {
  const from = Math.min(product, product_count - calendar_products)
  return Array.from({ length: calendar_products }, (_, step) => from + step)
}

/** Uses each product in turn, so that no query is repeated. */
const sidesOf = (app: ServerApp, sql: Ask, question: Question, dialect: Dialect): readonly [Side, Side] => {
  const asking = (name: string, once: (product: number) => Promise<unknown>): Side => {
    let product = 0
    return timed(name, question.repeat, () => once((product = (product + 37) % product_count) + 1))
  }
  const product = async (id: number) => {
    const got = await askOf(app, question.path(id), {})
    if (got.status !== 200) throw new Error(`${question.path(id)} answered ${got.status}: ${got.text}`)
    return got.body
  }
  const statement = (id: number): Promise<Rows> => sql(...question.sql(id))
  return [asking("flightcase", product), asking(`one statement, ${dialect.name}`, statement)]
}
const sameFigures = async (app: ServerApp, sql: Ask, question: Question): Promise<void> => {
  for (const id of [1, 5, 2_741]) {
    const ours = JSON.stringify(question.figure((await askOf(app, question.path(id), {})).body)),
      theirs = JSON.stringify(question.found(await sql(...question.sql(id))))
    if (ours !== theirs)
      throw new Error(
        `${question.name}, product ${id}: the product says ${ours.slice(0, 200)}, the statement ${theirs.slice(0, 200)}`
      )
  }
}

/** A company in its own database: the server, and a connection for statements. */
interface House {
  readonly app: ServerApp
  readonly sql: Ask
  readonly close: () => Promise<void>
}
const furnished = async (
  database: ServerOptions["database"],
  stretches: number,
  sql: Ask,
  close: () => Promise<void>
): Promise<House> => {
  const app = await openServerApp({
    database,
    key: "key-of-the-benchmarks-which-is-long",
    owner_token,
    rate_limit: 1_000_000_000
  })
  await write(app, stock())
  for (let stretch = 0; stretch < stretches; stretch++)
    await write(app, demandsFrom(first_day - stretch * days * dayMillis, stretch * product_count * demands_each + 1))
  await sql("analyze", [])
  return {
    app,
    sql,
    close: async () => {
      await app.close()
      await close()
    }
  }
}

const measured = async (dialect: Dialect, one: House, twice: House): Promise<void> => {
  for (const question of questions(dialect)) {
    for (const business of [one, twice]) await sameFigures(business.app, business.sql, question)
    const sides = [one, twice].flatMap((business) => sidesOf(business.app, business.sql, question, dialect))
    const [ours, theirs, ours_twice, theirs_twice] = await inTurns(sides, rounds, question.warming)
    const title = `availability: ${question.name}, ${dialect.name}`
    print(`${title}; ${(product_count * demands_each).toLocaleString("en")} claims`, [ours!, theirs!], {
      unit: "answers",
      as: "duration"
    })
    const before = { ...ours!, name: "flightcase before" }
    print(`${title}; twice the history`, [{ ...ours_twice!, name: "flightcase" }, before], {
      unit: "answers",
      as: "duration"
    })
    print(`${title}; twice the history`, [theirs_twice!, { ...theirs!, name: "the statement before" }], {
      unit: "answers",
      as: "duration"
    })
  }
}

const sqliteHouse = (stretches: number): Promise<House> => {
  const path = join(temporaryFolder(), "availability.sqlite")
  let db: DatabaseSync | undefined
  const prepared = new Map<string, ReturnType<DatabaseSync["prepare"]>>()
  return furnished(
    { kind: "sqlite", path },
    stretches,
    async (text, values) => {
      db ??= new DatabaseSync(path)
      let statement = prepared.get(text)
      if (statement === undefined) prepared.set(text, (statement = db.prepare(text)))
      // SQLite treats numbered parameters as names.
      return statement.all(
        Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value as SQLInputValue]))
      ) as Rows
    },
    async () => db?.close()
  )
}
const postgresHouse = async (engine: PgEngine, stretches: number): Promise<House> => {
  const name = `house_${stretches}`
  const admin = new pg.Client(engine.url)
  await admin.connect()
  await admin.query(`create database ${name}`)
  await admin.end()
  const url = Object.assign(new URL(engine.url), { pathname: `/${name}` }).href
  const client = new pg.Client(url)
  await client.connect()
  const names = new Map<string, string>()
  const nameOf = (text: string): string =>
    names.get(text) ?? (names.set(text, `statement_${names.size}`), names.get(text)!)
  return furnished(
    { kind: "pg", url, connections_max: 5 },
    stretches,
    async (text, values) => (await client.query({ name: nameOf(text), text, values: [...values] })).rows,
    () => client.end()
  )
}

export const availability = async (): Promise<void> => {
  const both = async (dialect: Dialect, business: (stretches: number) => Promise<House>): Promise<void> => {
    const one = await business(1),
      twice = await business(2)
    try {
      await measured(dialect, one, twice)
    } finally {
      await one.close()
      await twice.close()
    }
  }
  await both(sqlite, sqliteHouse)
  const engine = await onPostgres()
  try {
    await both(postgres, (stretches) => postgresHouse(engine, stretches))
  } finally {
    await engine.stop()
  }
}

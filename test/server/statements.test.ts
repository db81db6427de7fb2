/** Costs of requests that do not depend on the machine: statements, round trips, rows, commits and fibers. */
import { StatementSync } from "node:sqlite"
import { Effect, Scheduler } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { sentBy } from "./pg/sent.ts"
import { serve, type Serving, untilListening } from "./serving.ts"

let server: Serving
let id: number
beforeAll(async () => {
  server = await serve("pg")
  server.setClock(Date.parse("2026-06-01T10:00:00Z"))
  // What it remembers is forgotten as it begins to listen.
  await untilListening(server.app)
  id = (await server.ask("/api/v1/products", { method: "POST", json: { name: "Speaker" } })).body.product.id
})
afterAll(() => server.close())

/**
 * Round trips of the second of two equal requests, on the connection that names products, as jobs, limits and metering
 * send theirs at any time. Statements sent together are joined by semicolons.
 */
const statementsOf = async (request: () => Promise<unknown>): Promise<ReadonlyArray<string>> => {
  await request()
  const sent = await sentBy(request)
  const { on } = sent.find(({ text }) => /\bproducts\b/.test(text))!
  const of_request = sent.filter(
    (one) =>
      one.on === on &&
      !/asked \(kind\)|rate_windows|request_logs|usage_hours|month_units|timed_work|effect_queue|^with quick/.test(
        one.text
      )
  )
  return [...Map.groupBy(of_request, ({ turn }) => turn).values()].map((together) =>
    together.map(({ text }) => /^\s*\S+(?: [^\s(]+)?/.exec(text)?.[0] ?? text).join("; ")
  )
}

/** The transaction that contains this statement; those of jobs come before or after it. */
const transactionOf = (statements: ReadonlyArray<string>, one: string, begin: string): ReadonlyArray<string> => {
  const at = statements.indexOf(one)
  return statements.slice(
    statements.lastIndexOf(begin, at),
    statements.findIndex((text, index) => index > at && text.endsWith("COMMIT")) + 1
  )
}

/** Creates an order with one line of as many single units, and other lines of bulk goods. */
const orderOf = async ({ ask }: Serving, lines: number) => {
  const made = async (path: string, json: object) => (await ask(`/api/v1/${path}`, { method: "POST", json })).body
  const { product: bulk } = await made("products", { name: "PAR 64", stock_method: 1 })
  const [level] = (await ask(`/api/v1/stock_levels?q[product_id_eq]=${bulk.id}`)).body.stock_levels
  await ask(`/api/v1/stock_levels/${level.id}`, { method: "PUT", json: { quantity_held: "1000" } })
  const { product: serial } = await made("products", { name: "Moving head", stock_method: 2 })
  const window = { starts_at: "2027-07-01T08:00:00Z", ends_at: "2027-07-06T18:00:00Z" }
  const path = `opportunities/${(await made("opportunities", { subject: "Gala", store_id: 1, ...window })).opportunity.id}`
  const added = { name: "PAR 64", item_id: bulk.id, unit_price: "1.00" }
  const heads = { name: "Moving head", item_id: serial.id, quantity: lines, unit_price: "1.00" }
  const [head] = (await made(`${path}/items`, heads)).opportunity.items
  for (let at = 0; at < lines; at++) await made(`${path}/items`, added)
  await made(`${path}/convert_to_quotation`, {})
  await made(`${path}/convert_to_order`, {})
  return { added, head: head.id, made, path, serial: serial.id }
}

describe("a request to a server on Postgres", () => {
  it("reads one row with one statement", async () => {
    const statements = await statementsOf(() => server.ask(`/api/v1/products/${id}`))
    expect(statements).toEqual(['select "id",'])
  })
  it("answers one moment of a product in one round trip", async () => {
    const point = `/api/v1/availability?product_id=${id}&store_id=1&date=2026-12-01`
    const statements = await statementsOf(() => server.ask(point))
    expect(statements).toEqual(["select p.id,; select id,; select id,"])
  })
  it("answers the chart of a product in one round trip", async () => {
    const chart = `/api/v1/availability/${id}/gantt?store_id=1&from=2026-12-01&to=2027-01-29`
    const statements = await statementsOf(() => server.ask(chart))
    expect(statements).toEqual(["select p.id,; select id,; select c.*,"])
  })
  it("answers a list of one page in one statement, and one that last filled its page in one round trip", async () => {
    const page = (rows: number) => server.ask(`/api/v1/products?q[id_eq]=${id}&per_page=${rows}`)
    expect(await statementsOf(() => page(2))).toEqual(['select "id",'])
    expect(await statementsOf(() => page(1))).toEqual(['select "id",; select count'])
    expect(await statementsOf(() => page(2))).toEqual(['select "id",'])
  })
  it("counts a list by store, state, status and shortage from the stored counts", async () => {
    await server.ask("/api/v1/opportunities", { method: "POST", json: { subject: "Gala", store_id: 1 } })
    const countOf = async (query: string) => {
      const sent = await sentBy(() => server.ask(`/api/v1/opportunities?per_page=1&${query}`))
      return sent.flatMap(
        ({ text }) => /^select (?:count|sum)\(\S+\) as total from "opportunities\w*"/.exec(text)?.[0] ?? []
      )
    }
    const kept = await countOf("q[store_id_eq]=1&q[state_eq]=0&q[status_eq]=0&q[has_shortage_false]=1")
    expect(kept).toEqual(['select sum("rows") as total from "opportunities_counts"'])
    expect(await countOf("q[subject_eq]=Gala")).toEqual(['select count(*) as total from "opportunities"'])
  })
  it("works out an include once, however often it is requested", async () => {
    await server.ask("/api/v1/stocktakes", { method: "POST", json: { store_id: 1 } })
    const countOf = async (times: number) => {
      const include = Array.from({ length: times }, () => "stocktake_lines").join()
      const sent = await sentBy(() => server.ask(`/api/v1/stocktakes?include=${include}`))
      return sent.filter(({ text }) => text.includes("stocktake")).length
    }
    const once = await countOf(1)
    expect(once).toBeGreaterThan(1)
    expect(await countOf(20)).toBe(once)
  })
  it("answers a changed container template as it answers the template", async () => {
    const made = await server.ask("/api/v1/products", { method: "POST", json: { name: "Case" } })
    const path = `/api/v1/products/${made.body.product.id}/container_template`
    const json = { slots: [{ quantity: 2, product_id: id }] }
    const put = await server.ask(path, { method: "PUT", json })
    expect([put.status, put.text]).toEqual([200, (await server.ask(path)).text])
  })
  it("adds a line to an order of 70 with one read of its lines, and of demands only on what may be short", async () => {
    const { added, made, path } = await orderOf(server, 70)
    const sent = await sentBy(() => made(`${path}/items`, added))
    const reads = sent.map(({ text }) => text).filter((text) => text.startsWith("select "))
    const of = (table: string) => reads.filter((text) => text.includes(` from ${table} where`))
    // Versions, rows, and versions again for the answer.
    expect(of('"opportunity_items"').map((text) => text.includes("xmin"))).toEqual([true, false, true])
    expect(of("claims").map((text) => text.includes("sum(quantity)"))).toEqual([true, false])
  })
  it("changes one row in two round trips, those of BEGIN and COMMIT included", async () => {
    let count = 0
    const { product_group } = (await server.ask("/api/v1/product_groups", { method: "POST", json: { name: "Sound" } }))
      .body
    await server.ask(`/api/v1/products/${id}`, { method: "PUT", json: { product_group_id: product_group.id } })
    const statements = await statementsOf(() =>
      server.ask(`/api/v1/products/${id}`, { method: "PUT", json: { name: `Speaker ${count++}` } })
    )
    const begin = 'BEGIN; select; select "id",'
    expect(transactionOf(statements, begin, begin)).toEqual([begin, 'update "products"; with head; COMMIT'])
  })
  it("imports 100 products in 23 round trips, without locking or reading the rows and streams that it makes", async () => {
    let made = 0
    const row = () => ({
      name: `Lamp ${++made}`,
      sku: `L-${made}`,
      stock: 4,
      rate: { preset: "daily-rate", price: "5" }
    })
    const rows = () => Array.from({ length: 100 }, row)
    const importing = () => server.ask("/api/v1/products/import", { method: "POST", json: { rows: rows() } })
    expect((await statementsOf(importing)).length).toBeLessThanOrEqual(23)
    const texts = (await sentBy(importing)).map(({ text }) => text)
    const locked = texts.flatMap((text) => /^select .* from "(\w+)" .* for key share$/.exec(text)?.[1] ?? [])
    expect(locked).toEqual(["rate_definitions", "stores"])
    expect(texts.filter((text) => text.includes("max(version)"))).toEqual([])
  })
})

describe("a request to a server on SQLite", () => {
  let on_file: Serving
  beforeAll(async () => {
    on_file = await serve("sqlite")
    for (let at = 0; at < 30; at++)
      await on_file.ask("/api/v1/opportunities", { method: "POST", json: { subject: `Gala ${at}`, store_id: 1 } })
  })
  afterAll(() => on_file.close())
  const fiberId = () => on_file.run(Effect.withFiber(({ id }) => Effect.succeed(id)))
  /** Statements run meanwhile, with the number of rows each returned. */
  const readsOf = async (request: () => Promise<unknown>) => {
    const all = vi.spyOn(StatementSync.prototype, "all")
    try {
      await request()
      return all.mock.results.map(({ value }, at) => ({
        text: (all.mock.contexts[at] as StatementSync).sourceSQL,
        rows: (value as ReadonlyArray<unknown>).length,
        columns: (value as ReadonlyArray<ReadonlyArray<unknown>>)[0]?.length ?? 0
      }))
    } finally {
      all.mockRestore()
    }
  }

  it("reads only one page's rows and one stored count of a list of 30 opportunities", async () => {
    const reads = await readsOf(() => on_file.ask("/api/v1/opportunities?per_page=5&q[state_eq]=0"))
    const of_list = reads.filter(({ text }) => text.includes("opportunities"))
    expect(of_list.map(({ rows }) => rows)).toEqual([5, 1])
  })
  it("answers one moment and the chart of a product from three statements each", async () => {
    const { id } = (await on_file.ask("/api/v1/products", { method: "POST", json: { name: "Speaker" } })).body.product
    const tablesOf = async (path: string) =>
      (await readsOf(() => on_file.ask(`/api/v1/${path}`))).flatMap(
        ({ text }) => /from "?(products|stock_levels|claims|opportunities|containers)\b/.exec(text)?.[1] ?? []
      )
    const facts = ["products", "stock_levels", "claims"]
    expect(await tablesOf(`availability?product_id=${id}&store_id=1&date=2026-12-01`)).toEqual(facts)
    const chart = `availability/${id}/gantt?store_id=1&from=2026-12-01&to=2027-01-29`
    expect(await tablesOf(chart)).toEqual(facts)
  })
  it("plans, sends and receives 198 units and 3 cases with as many reads as 2 units and 2 cases", async () => {
    const made = async (path: string, json: object) =>
      (await on_file.ask(`/api/v1/${path}`, { method: "POST", json })).body
    const { store } = await made("stores", { name: "Leeds" })
    const { product } = await made("products", { name: "Moving head", stock_method: 2 })
    const codes = Array.from({ length: 205 }, (_, at) => `MH-${at}`)
    const units = await Promise.all(
      codes.map(async (asset_number) => {
        const one = { product_id: product.id, store_id: 1, asset_number, quantity_held: "1" }
        return (await made("stock_levels", one)).stock_level.id
      })
    )
    const cases: Array<{ readonly container_id: number }> = []
    for (const serialised_item_id of units.splice(200)) {
      const { container } = await made("containers", { name: "Case", store_id: 1 })
      await made(`containers/${container.id}/pack`, { serialised_item_id })
      cases.push({ container_id: container.id })
    }
    const place = { from_store_id: 1, to_store_id: store.id, starts_at: "2026-12-01T09:00:00Z" }
    const selectsOf = async (path: string, json: object) =>
      (await readsOf(() => made(path, json)))
        .map(({ text }) => text)
        .filter((text) => /from "(stock_levels|products|transfer_items|container\w*)"/.test(text))
    const readsOfMove = async (from: number, to: number, boxes: typeof cases) => {
      const named = { codes: codes.slice(from, to), items: boxes }
      const planned = await selectsOf("transfers", { ...place, ...named })
      const [{ id }] = (await on_file.ask("/api/v1/transfers?sort=-id&per_page=1")).body.transfers
      const sent = await selectsOf(`transfers/${id}/send`, {
        codes: [...named.codes, ...boxes.map(({ container_id }) => `container:${container_id}`)]
      })
      const received = await selectsOf(`transfers/${id}/receive`, named)
      expect((await on_file.ask(`/api/v1/transfers/${id}`)).body.transfer.status).toBe("received")
      return [planned.length, sent.length, received.length]
    }
    const few = await readsOfMove(0, 2, cases.slice(0, 2))
    expect(await readsOfMove(2, 200, cases.slice(2))).toEqual(few)
  })
  it("adds a line to an order of 70, and books out 70 units, with one read of each row", async () => {
    const many = [...Array(70).keys()]
    const { added, head, made, path, serial } = await orderOf(on_file, many.length)
    const allocations: Array<object> = []
    for (const at of many) {
      const unit = { product_id: serial, store_id: 1, asset_number: `OUT-${at}` }
      const { stock_level } = await made("stock_levels", unit)
      allocations.push({ opportunity_item_id: head, stock_level_id: stock_level.id })
    }
    const { opportunity } = await made(`${path}/quick_allocate`, { allocations })
    const asset_ids = opportunity.items[0].assets.map((one: { id: number }) => one.id)
    /** Reads of 70 rows or more by table, with their rows and how wide they are. */
    const longReads = async (request: () => Promise<unknown>) =>
      (await readsOf(request))
        .filter(({ rows }) => rows >= 70)
        .map(({ text, columns, rows }) => [/ from "?(\w+)/.exec(text)?.[1], rows, columns])
    // Both products suffice. The answer's lines are those read before: only their ids are read again.
    expect(await longReads(() => made(`${path}/items`, added))).toEqual([
      ["asset_assignments", 70, 16],
      ["opportunity_items", 71, 38],
      ["opportunity_items", 72, 1]
    ])
    expect(await longReads(() => made(`${path}/quick_book_out`, { asset_ids }))).toEqual([
      ["asset_assignments", 70, 16],
      ["asset_assignments", 70, 1],
      ["opportunity_items", 72, 38],
      ["claims", 141, 23],
      ["stock_levels", 70, 14],
      ["stock_levels", 71, 17],
      ["claims", 70, 1],
      ["opportunity_items", 72, 1],
      ["asset_assignments", 70, 16],
      ["stock_levels", 70, 3]
    ])
  })
  it("changes one row with six statements, BEGIN and COMMIT included", async () => {
    const { product_group } = (await on_file.ask("/api/v1/product_groups", { method: "POST", json: { name: "Sound" } }))
      .body
    const made = { name: "Speaker", product_group_id: product_group.id }
    const { product } = (await on_file.ask("/api/v1/products", { method: "POST", json: made })).body
    const rename = (name: string) => on_file.ask(`/api/v1/products/${product.id}`, { method: "PUT", json: { name } })
    await rename("Speaker 1")
    let sent: ReadonlyArray<string> = []
    let inserts: ReadonlyArray<string> = []
    const renamed = async () => {
      const written = vi.spyOn(StatementSync.prototype, "run")
      sent = (await readsOf(() => rename("Speaker 2"))).map(({ text }) => text)
      inserts = written.mock.contexts.map((one) => (one as StatementSync).sourceSQL)
      written.mockRestore()
      await rename("Speaker 1")
      const texts = sent.map((text) => text.split(/\s+/).slice(0, 2).join(" "))
      return transactionOf(texts, 'update "products"', "BEGIN IMMEDIATE")
    }
    // What the server does at the same time may share the commit.
    await expect
      .poll(renamed, { timeout: 20_000 })
      .toEqual(["BEGIN IMMEDIATE", 'select "id",', 'update "products"', "update journal_head", "COMMIT"])
    expect(inserts.filter((text) => text.startsWith('insert into "journal"'))).toHaveLength(1)
    const returning = [...sent, ...inserts].filter((text) => text.includes(" returning "))
    expect(returning.filter((text) => /"(products|journal)"/.test(text))).toEqual([])
  })
  it("shares its commit with requests that arrive at the same time", async () => {
    const put = (id: number) =>
      on_file.ask(`/api/v1/opportunities/${id}`, { method: "PUT", json: { subject: "Renamed" } })
    const reads = await readsOf(() => Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(put)))
    const transactions = reads
      .map(({ text }) => text)
      .join("\n")
      .split("COMMIT")
    expect(transactions.filter((one) => one.includes('update "opportunities"')).length).toBeLessThan(3)
  })
  it("answers a read in few steps of its fiber", async () => {
    const { id } = (await on_file.ask("/api/v1/products", { method: "POST", json: { name: "Speaker" } })).body.product
    const stepsOf = async (path: string) => {
      const steps = vi.spyOn(Scheduler.MixedScheduler.prototype, "shouldYield")
      try {
        await on_file.ask(`/api/v1/${path}`)
        return steps.mock.calls.length
      } finally {
        steps.mockRestore()
      }
    }
    // The minimum of several runs, as jobs and limits take steps at any time.
    const fewest = async (path: string) =>
      Math.min(await stepsOf(path), await stepsOf(path), await stepsOf(path), await stepsOf(path))
    expect(await fewest(`products/${id}`)).toBeLessThanOrEqual(36)
    expect(await fewest("opportunities?per_page=20")).toBeLessThanOrEqual(35)
    expect(await fewest(`availability?product_id=${id}&store_id=1&date=2026-12-01`)).toBeLessThanOrEqual(35)
    expect(await fewest(`availability/${id}/gantt?store_id=1&from=2026-12-01&to=2027-01-29`)).toBeLessThanOrEqual(38)
  })
  it("reads one row in one fiber", async () => {
    const started = async () => {
      const before = await fiberId()
      await on_file.ask("/api/v1/opportunities/1")
      return (await fiberId()) - before - 1
    }
    // The minimum of several runs, as jobs and limits start fibers at any time.
    expect(Math.min(await started(), await started(), await started())).toBe(1)
  })
})

/** How many statements a request sends to Postgres, each a round trip: what does not depend on the machine. */
import pg from "pg"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { serve, type Serving } from "./serving.ts"

let server: Serving
let id: number
beforeAll(async () => {
  server = await serve("pg")
  server.setClock(Date.parse("2026-06-01T10:00:00Z"))
  id = (await server.ask("/api/v1/products", { method: "POST", json: { name: "Speaker" } })).body.product.id
})
afterAll(() => server.close())

/**
 * Of the second of two such requests, on the connection that names the table: jobs, limits and metering send theirs by the
 * clock.
 */
const statementsOf = async (request: () => Promise<unknown>, table = "products"): Promise<ReadonlyArray<string>> => {
  await request()
  const query = vi.spyOn(pg.Client.prototype, "query")
  try {
    await request()
    const sent = query.mock.calls.map(([one]: ReadonlyArray<unknown>, at) => ({
      on: query.mock.contexts[at],
      text: typeof one === "string" ? one : (one as { readonly text: string }).text
    }))
    const { on } = sent.find(({ text }) => text.includes(`"${table}"`))!
    return sent
      .filter(
        (one) =>
          one.on === on && !/asked \(kind\)|rate_windows|request_logs|usage_hours|month_units|pg_notify/.test(one.text)
      )
      .map(({ text }) => text.split(/\s+/).slice(0, 2).join(" "))
  } finally {
    query.mockRestore()
  }
}

describe("a request to a server on Postgres", () => {
  it("reads one row with one statement", async () => {
    const statements = await statementsOf(() => server.ask(`/api/v1/products/${id}`))
    expect(statements).toEqual(['select "id",'])
  })
  it("counts a list by store, state and status from the kept counts", async () => {
    await server.ask("/api/v1/opportunities", { method: "POST", json: { subject: "Gala", store_id: 1 } })
    const read = (query: string) => () => server.ask(`/api/v1/opportunities?per_page=1&${query}`)
    const kept = await statementsOf(read("q[store_id_eq]=1&q[state_eq]=0&q[status_eq]=0"), "opportunities")
    expect(kept.slice(0, 2)).toEqual(['select "id",', 'select sum("rows")'])
    const counted = await statementsOf(read("q[subject_eq]=Gala"), "opportunities")
    expect(counted.slice(0, 2)).toEqual(['select "id",', "select count(*)"])
  })
  it("changes one row with four statements between BEGIN and COMMIT", async () => {
    let count = 0
    const statements = await statementsOf(() =>
      server.ask(`/api/v1/products/${id}`, { method: "PUT", json: { name: `Speaker ${count++}` } })
    )
    expect(statements.slice(0, 6)).toEqual([
      "BEGIN",
      "select pg_advisory_xact_lock(hashtextextended($1,",
      'select "id",',
      'update "products"',
      "with head",
      "COMMIT"
    ])
  })
})

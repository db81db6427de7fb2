/** A database that temporarily refuses writes. */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { serve, type Serving } from "../../serving.ts"

const poll = { timeout: 30_000, interval: 50 }
const sql = (server: Serving, text: string) => server.run(Effect.flatMap(Store, (store) => store.run<any>(text)))
const loggedAs = async (server: Serving, agent: string): Promise<number> =>
  Number((await sql(server, `select count(*) as n from request_logs where user_agent = '${agent}'`))[0].n)
const askMany = async (server: Serving, count: number, agent: string): Promise<ReadonlyArray<number>> => {
  const got = await Promise.all(
    Array.from({ length: count }, () => server.ask("/api/v1/stores", { headers: { "user-agent": agent } }))
  )
  return [...new Set(got.map(({ status }) => status))]
}
const passing = (code: string) => `create or replace function no_logs() returns trigger language plpgsql as
  $$ begin raise exception 'not now' using errcode = '${code}'; end $$`
const trigger = "create trigger no_logs before insert on request_logs for each statement execute function no_logs()"

it.each(["53200", "55000", "28P01"])(
  "metering loses no call while Postgres fails for some seconds with %s",
  { timeout: 60_000 },
  async (code) => {
    const server = await serve("pg")
    try {
      await sql(server, passing(code))
      await sql(server, trigger)
      expect(await askMany(server, 8, "meanwhile")).toEqual([200])
      // Longer than it takes to isolate one bad row.
      await new Promise((done) => setTimeout(done, 6_000))
      expect(await askMany(server, 8, "meanwhile")).toEqual([200])
      await sql(server, "drop trigger no_logs on request_logs")
      await expect.poll(() => loggedAs(server, "meanwhile"), poll).toBe(16)
    } finally {
      await server.close()
    }
  }
)

it("metering loses no call while SQLite's disk is full for some seconds", { timeout: 60_000 }, async () => {
  const server = await serve("sqlite")
  try {
    await expect(askMany(server, 1, "before")).resolves.toEqual([200])
    await expect.poll(() => loggedAs(server, "before"), poll).toBe(1)
    const [{ page_count }] = await sql(server, "pragma page_count")
    await sql(server, `pragma max_page_count = ${page_count}`)
    for (let round = 0; round < 6; round++) {
      expect(await askMany(server, 200, "meanwhile")).toEqual([200])
      await new Promise((done) => setTimeout(done, 1_000))
    }
    expect(await loggedAs(server, "meanwhile")).toBeLessThan(1_200)
    await sql(server, "pragma max_page_count = 1073741823")
    await expect.poll(() => loggedAs(server, "meanwhile"), poll).toBe(1_200)
  } finally {
    await server.close()
  }
})

it("metering isolates the row that Postgres rejects, and writes the others", { timeout: 60_000 }, async () => {
  const server = await serve("pg")
  try {
    await sql(server, "alter table request_logs add constraint no_poison check (user_agent <> 'poison')")
    expect(await askMany(server, 1, "poison")).toEqual([200])
    expect(await askMany(server, 5, "good")).toEqual([200])
    await expect.poll(() => loggedAs(server, "good"), poll).toBe(5)
    expect(await loggedAs(server, "poison")).toBe(0)
  } finally {
    await server.close()
  }
})

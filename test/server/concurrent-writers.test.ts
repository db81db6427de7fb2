/** Writers at two servers of one Postgres, whose connections are killed at any time. */
import pg from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type OwnDatabase, serve, type Serving, startedDatabase } from "./serving.ts"

let shared: OwnDatabase, servers: ReadonlyArray<Serving>, client: pg.Client
beforeAll(async () => {
  shared = await startedDatabase("pg")
  const { database } = shared
  if (database.kind !== "pg") throw new Error("not on Postgres")
  servers = [await serve("pg", { database }), await serve("pg", { database })]
  client = new pg.Client(database.url)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  for (const server of servers) await server.close()
  await shared.drop()
})
const ask = (at: number, path: string, method: string, json: object) =>
  servers[at % servers.length]!.ask(`/api/v1/${path}`, { method, json })

describe("commands at two servers, of which connections are killed,", () => {
  it("are in the journal once if they succeeded, in order and without holes, and leave the last one's name", async () => {
    const ids: Array<number> = []
    for (const name of ["A", "B", "C"]) ids.push((await ask(0, "products", "POST", { name })).body.product.id)
    const answered = new Map<string, number>()
    let left = 8
    const write = async (writer: number): Promise<void> => {
      for (let nth = 0; nth < 12; nth++) {
        const name = nth % 4 === 3 ? "" : `Name ${writer}.${nth}`
        const { status } = await ask(writer, `products/${ids[(writer + nth) % ids.length]}`, "PUT", { name })
        if (name === "") expect([422, 503]).toContain(status)
        else answered.set(name, status)
      }
      left--
    }
    const seen: Array<number> = []
    const follow = async (): Promise<void> => {
      for (let is_last = false; !is_last;) {
        is_last = left === 0
        const { rows } = await client.query("select position::int from journal where position > $1 order by 1", [
          seen.at(-1) ?? 0
        ])
        seen.push(...rows.map(({ position }) => position))
      }
    }
    const kill = async (): Promise<void> => {
      while (left > 0) {
        await new Promise((resolve) => setTimeout(resolve, 40))
        await client.query(
          `select pg_terminate_backend(pid) from (select pid from pg_stat_activity where pid <> pg_backend_pid()
            and datname = current_database() and xact_start is not null order by random() limit 1) as one`
        )
      }
    }
    await Promise.all([...Array.from({ length: 8 }, (_, writer) => write(writer)), follow(), kill()])
    const succeeded = [...answered].filter(([, status]) => status === 200).map(([name]) => name)
    expect(succeeded.length).toBeGreaterThan(20)
    const { rows: events } = await client.query<{ position: number; id: number; name: string }>(
      "select position::int, (data->>'id')::int as id, data->>'name' as name from journal where type = 'product.updated' order by 1"
    )
    const recorded = events.map(({ name }) => name)
    expect(new Set(recorded).size).toBe(recorded.length)
    expect(succeeded.filter((name) => !recorded.includes(name))).toEqual([])
    for (const id of ids) {
      const { rows } = await client.query("select name from products where id = $1", [id])
      expect(rows).toEqual([{ name: events.findLast((event) => event.id === id)!.name }])
    }
    const { rows: all } = await client.query("select position::int from journal order by 1")
    expect(seen).toEqual(all.map(({ position }) => position))
    expect(seen).toEqual(seen.map((_, at) => at + 1))
    // A killed connection ends in a failure that may be retried, never in another answer.
    expect([...new Set(answered.values())].filter((status) => ![200, 500, 503].includes(status))).toEqual([])
  })
})

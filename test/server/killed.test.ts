import { randomInt } from "node:crypto"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"
import { afterAll, describe, expect, it } from "vitest"
import { freshDatabase } from "../postgres.ts"
import { cleanUp, type Env, folderOfItsOwn, type ServerProcess, startServer } from "./process.ts"

afterAll(cleanUp)

const token = "a-token-of-more-than-twenty-characters"
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }

/** Writes from several clients at once until the server is gone; keeps what it acknowledged. */
const writeUntilGone = async (server: ServerProcess, round: number, acknowledged: Map<number, string>): Promise<void> => {
  const client = async (number: number): Promise<void> => {
    for (let at = 0; ; at++) {
      const name = `r${round} c${number} w${at}`
      try {
        const response = await fetch(`${server.url}/api/v1/products`, { method: "POST", headers, body: JSON.stringify({ name, sku: name }) })
        const { product } = await response.json() as { product: { id: number } }
        if (response.status === 201) acknowledged.set(product.id, name)
      } catch { return }
    }
  }
  await Promise.all([0, 1, 2, 3].map(client))
}

const killAgainAndAgain = async (times: number, env: Env): Promise<Map<number, string>> => {
  const acknowledged = new Map<number, string>()
  for (let round = 0; round < times; round++) {
    const server = await startServer(env)
    const writing = writeUntilGone(server, round, acknowledged)
    const before = acknowledged.size
    // In the middle of writes: some have been answered, more are under way.
    for (let waits = 0; acknowledged.size < before + 3 && waits < 2_000; waits++) await new Promise((resolve) => setTimeout(resolve, 5))
    await new Promise((resolve) => setTimeout(resolve, randomInt(0, 120)))
    await server.kill("SIGKILL")
    await writing
  }
  return acknowledged
}

interface Kept { readonly products: Map<number, string>; readonly positions: ReadonlyArray<number>; readonly created: ReadonlyArray<number> }
const holdsTogether = (acknowledged: Map<number, string>, { products, positions, created }: Kept): void => {
  expect(acknowledged.size).toBeGreaterThan(0)
  const lost = [...acknowledged].filter(([id, name]) => products.get(id) !== name)
  expect(lost).toEqual([])
  // The journal has no gap, and journal and table tell the same story.
  expect(positions).toEqual(positions.map((_, at) => at + 1))
  expect([...products.keys()].sort((a, b) => a - b)).toEqual([...created].sort((a, b) => a - b))
}

describe("a server killed in the middle of writes", () => {
  it("has kept every write it acknowledged, 30 times over, in its own database", async () => {
    const folder = await folderOfItsOwn()
    const acknowledged = await killAgainAndAgain(30, { FLIGHTCASE_DATA: folder, FLIGHTCASE_TOKEN: token, FLIGHTCASE_RATE_LIMIT: "10000", FLIGHTCASE_LOG: "info" })
    const database = new DatabaseSync(join(folder, "flightcase.sqlite"))
    const rows = <A>(sql: string): Array<A> => database.prepare(sql).all() as Array<A>
    expect(rows("pragma integrity_check")).toEqual([{ integrity_check: "ok" }])
    holdsTogether(acknowledged, {
      products: new Map(rows<{ id: number; name: string }>("select id, name from products").map((row) => [row.id, row.name])),
      positions: rows<{ position: number }>("select position from journal order by position").map((row) => row.position),
      created: rows<{ id: number }>("select json_extract(data, '$.id') as id from journal where type = 'product.created'").map((row) => row.id)
    })
    database.close()
  })
  it("has kept them on Postgres too", async () => {
    const { url, drop } = await freshDatabase()
    const acknowledged = await killAgainAndAgain(8, {
      DATABASE_URL: url, FLIGHTCASE_KEY: "a-key-of-more-than-twenty-characters", FLIGHTCASE_TOKEN: token, FLIGHTCASE_RATE_LIMIT: "10000", FLIGHTCASE_DATA: await folderOfItsOwn()
    })
    const client = new pg.Client(url)
    await client.connect()
    const rows = async <A>(sql: string): Promise<Array<A>> => (await client.query(sql)).rows as Array<A>
    holdsTogether(acknowledged, {
      products: new Map((await rows<{ id: string; name: string }>("select id, name from products")).map((row) => [Number(row.id), row.name])),
      positions: (await rows<{ position: string }>("select position from journal order by position")).map((row) => Number(row.position)),
      created: (await rows<{ id: number }>("select cast(data ->> 'id' as bigint) as id from journal where type = 'product.created'")).map((row) => Number(row.id))
    })
    await client.end()
    await drop()
  })
})

import { setTimeout as pause } from "node:timers/promises"
import { randomInt } from "node:crypto"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { databaseOn } from "../postgres-database.ts"
import { DURABLE, type PostgresServer, startPostgres } from "../postgres-server.ts"
import { environment, token } from "./killing.ts"
import { cleanUp, type Env, folderOfItsOwn, type ServerProcess, startServer } from "./process.ts"
import { shareOf } from "../share.ts"

afterAll(cleanUp)

const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }

type Acknowledged = Map<number, string>

/** Writes with four clients until stopped or the server is killed; records acknowledged and refused writes. */
const writing = (server: ServerProcess, round: number, acknowledged: Acknowledged) => {
  let stopped = false
  const refused = new Set<number>()
  const client = async (number: number): Promise<void> => {
    for (let at = 0; !stopped; at++) {
      const name = `r${round} c${number} w${at}`
      try {
        const response = await fetch(`${server.url}/api/v1/products`, {
          method: "POST",
          headers,
          body: JSON.stringify({ name, sku: name })
        })
        const { product } = (await response.json()) as { product: { id: number } }
        if (response.status === 201) acknowledged.set(product.id, name)
        else {
          refused.add(response.status)
          await pause(20)
        }
      } catch {
        return
      }
    }
  }
  const done = Promise.all([0, 1, 2, 3].map(client))
  return {
    refused,
    stop: async () => {
      stopped = true
      await done
    },
    gone: () => done
  }
}
const acknowledged_per_kill_min = 3
/** Waits until some writes have been answered and others are in progress. */
const someAcknowledged = async (acknowledged: Acknowledged, before: number): Promise<void> => {
  for (let waits = 0; acknowledged.size < before + acknowledged_per_kill_min && waits < 6_000; waits++) await pause(5)
  expect(acknowledged.size).toBeGreaterThanOrEqual(before + acknowledged_per_kill_min)
  await pause(randomInt(0, 120))
}

const killAgainAndAgain = async (times: number, env: Env): Promise<Acknowledged> => {
  const acknowledged: Acknowledged = new Map()
  for (let round = 0; round < times; round++) {
    const server = await startServer(env)
    const before = acknowledged.size
    const writers = writing(server, round, acknowledged)
    await someAcknowledged(acknowledged, before)
    await server.kill("SIGKILL")
    await writers.gone()
  }
  return acknowledged
}

interface Kept {
  readonly products: Map<number, string>
  readonly positions: ReadonlyArray<number>
  readonly created: ReadonlyArray<number>
}
const holdsTogether = (times: number, acknowledged: Acknowledged, { products, positions, created }: Kept): void => {
  expect(acknowledged.size).toBeGreaterThanOrEqual(times * acknowledged_per_kill_min)
  const lost = [...acknowledged].filter(([id, name]) => products.get(id) !== name)
  expect(lost).toEqual([])
  // The journal has no gaps and agrees with the table.
  expect(positions).toEqual(positions.map((_, at) => at + 1))
  expect([...products.keys()].sort((a, b) => a - b)).toEqual([...created].sort((a, b) => a - b))
}

describe("a server killed in the middle of writes", () => {
  it("has every acknowledged write in its SQLite database after the last of repeated kills", async () => {
    const folder = await folderOfItsOwn()
    const acknowledged = await killAgainAndAgain(shareOf(30), {
      FLIGHTCASE_DATA: folder,
      FLIGHTCASE_TOKEN: token,
      FLIGHTCASE_RATE_LIMIT: "10000",
      FLIGHTCASE_LOG: "info"
    })
    const database = new DatabaseSync(join(folder, "flightcase.sqlite"))
    const rows = <A>(sql: string): Array<A> => database.prepare(sql).all() as Array<A>
    expect(rows("pragma integrity_check")).toEqual([{ integrity_check: "ok" }])
    holdsTogether(shareOf(30), acknowledged, {
      products: new Map(
        rows<{ id: number; name: string }>("select id, name from products").map((row) => [row.id, row.name])
      ),
      positions: rows<{ position: number }>("select position from journal order by position").map(
        (row) => row.position
      ),
      created: rows<{ id: number }>(
        "select json_extract(data, '$.id') as id from journal where type = 'product.created'"
      ).map((row) => row.id)
    })
    database.close()
  })
})

describe("Postgres with synchronous commits, killed in the middle of writes", () => {
  // The run's shared Postgres does not sync commits, which would prove nothing.
  let postgres: PostgresServer
  beforeAll(async () => {
    postgres = await startPostgres(DURABLE)
  })
  afterAll(() => postgres.stop())
  const kept = async (url: string): Promise<Kept> => {
    const client = new pg.Client(url)
    await client.connect()
    const rows = async <A>(sql: string): Promise<Array<A>> => (await client.query(sql)).rows as Array<A>
    try {
      for (const setting of Object.keys(DURABLE))
        expect(await rows(`show ${setting}`), setting).toEqual([{ [setting]: "on" }])
      return {
        products: new Map(
          (await rows<{ id: string; name: string }>("select id, name from products")).map((row) => [
            Number(row.id),
            row.name
          ])
        ),
        positions: (await rows<{ position: string }>("select position from journal order by position")).map((row) =>
          Number(row.position)
        ),
        created: (
          await rows<{ id: string }>(
            "select cast(data ->> 'id' as bigint) as id from journal where type = 'product.created'"
          )
        ).map((row) => Number(row.id))
      }
    } finally {
      await client.end()
    }
  }

  it("has every acknowledged write after the server is killed 8 times", async () => {
    const { url, drop } = await databaseOn(postgres.url)
    const acknowledged = await killAgainAndAgain(8, await environment(url))
    holdsTogether(8, acknowledged, await kept(url))
    await drop()
  })
  it("has every acknowledged write after Postgres is killed 6 times, and the server recovers", async () => {
    const { url, drop } = await databaseOn(postgres.url)
    const server = await startServer(await environment(url))
    const acknowledged: Acknowledged = new Map()
    for (let round = 0; round < 6; round++) {
      const before = acknowledged.size
      const writers = writing(server, round, acknowledged)
      await someAcknowledged(acknowledged, before)
      await postgres.kill()
      // Concurrent writers are refused with 503.
      for (let waits = 0; writers.refused.size === 0 && waits < 6_000; waits++) await pause(5)
      await writers.stop()
      expect([...writers.refused]).toEqual([503])
      await postgres.startAgain()
    }
    const after = writing(server, 6, acknowledged)
    await someAcknowledged(acknowledged, acknowledged.size)
    await after.stop()
    holdsTogether(6, acknowledged, await kept(url))
    await server.kill("SIGKILL")
    await drop()
  })
})

/** Two servers on a Postgres with a streaming replica, which is paused, killed and started again. */
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Endpoint, Param } from "../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { checkConfiguration } from "../../../server/host/check.ts"
import { freePort } from "../../free-port.ts"
import { DURABLE, type PostgresServer, startPostgres, startReplica } from "../../postgres-server.ts"
import { serve, type Serving, tests_key } from "../serving.ts"

describe("reads of servers with a replica", () => {
  let primary: PostgresServer, replica: PostgresServer, one: Serving, other: Serving
  beforeAll(async () => {
    primary = await startPostgres(DURABLE)
    replica = await startReplica(primary.url)
    const database = { kind: "pg", url: primary.url, replica_url: replica.url, connections_max: 4 } as const
    one = await serve("pg", { database })
    other = await serve("pg", { database })
    await Promise.all([one, other].map((server) => untilFound(server, true)))
  })
  afterAll(async () => {
    await Promise.all([one.close(), other.close()])
    await replica.stop()
    await primary.stop()
  })

  const found = async ({ ask }: Serving): Promise<{ readonly ok: boolean; readonly detail: string }> => {
    const { body } = await ask("/api/v1/system/checks")
    return body.checks.find(({ check }: { readonly check: string }) => check === "replica")
  }
  const untilFound = async (server: Serving, ok: boolean): Promise<string> => {
    for (let tries = 0; tries < 200; tries++) {
      const { detail, ok: is_ok } = await found(server)
      if (is_ok === ok) return detail
      await pause(50)
    }
    throw new Error(`the replica is never found ${ok ? "well" : "bad"}: ${(await found(server)).detail}`)
  }
  /** Reads since the start, by result. */
  const reads = async ({ ask }: Serving): Promise<{ readonly [outcome: string]: number }> => {
    const { text } = await ask("/metrics", { token: null, from: "127.0.0.1" })
    const lines = text.matchAll(/^flightcase_replica_reads_total\{replica="(\w+)"\} (\d+)$/gm)
    return Object.fromEntries([...lines].map(([, outcome, count]) => [outcome, Number(count)]))
  }
  const make = async ({ ask }: Serving, name: string): Promise<number> => {
    const { body, status } = await ask("/api/v1/products", { json: { name } })
    expect(status).toBe(201)
    return body.product.id
  }
  const onReplica = async (statement: string): Promise<void> => {
    const client = new pg.Client(replica.url)
    await client.connect()
    await client.query(statement)
    await client.end()
  }

  it("show at one server the rows that the other has just recorded", async () => {
    const before = await reads(other)
    for (let at = 0; at < 40; at++) {
      const id = await make(one, `Lamp ${at}`)
      const { body, status } = await other.ask(`/api/v1/products/${id}`)
      expect([status, body.product?.name]).toEqual([200, `Lamp ${at}`])
    }
    const after = await reads(other)
    expect(after["failing"]).toBe(before["failing"])
    expect(after["up_to_date"]! - before["up_to_date"]!).toBeGreaterThan(0)
  })
  it("are answered by the primary while the replica has not replayed a write, and by the replica once it has", async () => {
    await untilFound(one, true)
    await onReplica("select pg_wal_replay_pause()")
    const id = await make(one, "Written while paused")
    const before = await reads(one)
    for (const server of [one, other]) expect((await server.ask(`/api/v1/products/${id}`)).status).toBe(200)
    expect(await reads(one)).toMatchObject({ up_to_date: before["up_to_date"], lagging: before["lagging"]! + 1 })
    expect(await untilFound(one, false)).toMatch(
      /^is \d+ MiB behind, so the primary answers; it answered \d+ of \d+ reads/
    )
    await onReplica("select pg_wal_replay_resume()")
    expect(await untilFound(one, true)).toMatch(/^has what was committed; answered \d+ of \d+ reads since the start$/)
    const resumed = await reads(one)
    expect((await one.ask(`/api/v1/products/${id}`)).status).toBe(200)
    expect((await reads(one))["up_to_date"]).toBe(resumed["up_to_date"]! + 1)
  })
  it("are the same at every endpoint that may ask the replica, none of which writes", async () => {
    const member = await one.ask("/api/v1/members", { json: { name: "Ann", membership_type: "organisation" } })
    const opportunity = await one.ask("/api/v1/opportunities", {
      json: {
        subject: "Ball",
        member_id: member.body.member.id,
        starts_at: "2027-07-01T09:00:00Z",
        ends_at: "2027-07-03T18:00:00Z"
      }
    })
    expect(opportunity.status).toBe(201)
    const without = await serve("pg", { database: { kind: "pg", url: primary.url, connections_max: 4 } })
    const before = await reads(one)
    const compared = one.app.catalogue.endpoints.filter(
      ({ kind, method, public: is_public, server_only }) =>
        kind === "query" && method === "GET" && !server_only && !is_public
    )
    expect(compared.length).toBeGreaterThan(140)
    for (const endpoint of compared) {
      const path = await pathOf(endpoint)
      const [here, there] = [await one.ask(path), await without.ask(path)]
      expect([here.status, withoutTimes(here.text)], path).toEqual([there.status, withoutTimes(there.text)])
    }
    const after = await reads(one)
    expect(after["failing"]).toBe(before["failing"])
    expect(after["up_to_date"]! - before["up_to_date"]!).toBeGreaterThan(100)
    await without.close()
  })
  const withoutTimes = (text: string): string => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "")
  const pathOf = async (endpoint: Endpoint): Promise<string> => {
    let { path } = endpoint
    for (const [name, { table }] of Object.entries<Param>(endpoint.params)) {
      const rows = await one.run(Store.run<{ id: unknown }>(`select min(${table.key}) as id from ${table.name}`))
      path = path.replace(`{${name}}`, String(rows[0]?.id ?? 1))
    }
    return path.replaceAll(/\{\w+\}/g, "company")
  }
  it("go on without an error when the replica is killed, and return to it", async () => {
    await untilFound(one, true)
    const statuses: Array<number> = []
    const reading = async (): Promise<void> => {
      while (statuses.length < 400) statuses.push((await one.ask("/api/v1/products?per_page=5")).status)
    }
    const readers = [reading(), reading(), reading()]
    await replica.kill()
    await Promise.all(readers)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    expect(await untilFound(one, false)).toMatch(/so the primary answers; it answered/)
    expect((await reads(one))["failing"]).toBeGreaterThan(0)
    await replica.startAgain()
    await untilFound(one, true)
    expect((await one.ask("/metrics", { token: null, from: "127.0.0.1" })).text).toContain(
      "\nflightcase_replica_up 1\n"
    )
  })
  it("stay with the primary where the setting names no replica of it, which serve --check reports", async () => {
    const wrong = { database: { kind: "pg", url: primary.url, replica_url: primary.url, connections_max: 4 } } as const
    const server = await serve("pg", wrong)
    expect((await server.ask("/api/v1/products")).status).toBe(200)
    const checked = async (replica_url: string) => {
      const findings = await checkConfiguration({
        DATABASE_URL: primary.url,
        FLIGHTCASE_DATABASE_REPLICA_URL: replica_url,
        FLIGHTCASE_KEY: tests_key,
        FLIGHTCASE_PORT: String(await freePort())
      })
      return findings.find(({ check }) => check === "replica")
    }
    const names = "FLIGHTCASE_DATABASE_REPLICA_URL: it is"
    expect(await checked(primary.url)).toMatchObject({ ok: false, detail: `${names} no replica: it accepts writes.` })
    expect(await checked(replica.url.replace("/postgres?", "/template1?"))).toMatchObject({
      ok: false,
      detail: `${names} a replica of another database.`
    })
    expect(await checked(replica.url)).toMatchObject({ ok: true })
    expect(await untilFound(server, false)).toMatch(
      /^it is no replica: it accepts writes, so the primary answers; it answered 0 of 1 reads/
    )
    await server.close()
  })
})

/** Fixture of the HTTP benchmarks: an engine, a server on it, and typical data. */
import { join } from "node:path"
import { startPostgres } from "../postgres-server.ts"
import type { Peer } from "./peer.ts"
import { type Client, clientOf, type Running, startPeer, startServer, temporaryFolder } from "./processes.ts"

export interface Engine {
  readonly name: string
  /** Environment variables of the server. */
  readonly environment: { readonly [name: string]: string }
  readonly stop: () => Promise<void>
}
export interface PgEngine extends Engine {
  readonly url: string
}
export interface SqliteEngine extends Engine {
  readonly path: string
}

/** Options of a durable Postgres: fsync and synchronous commits on, otherwise defaults. */
export const durable = { fsync: "on", full_page_writes: "on", synchronous_commit: "on", autovacuum: "on", jit: "on" }

export const onPostgres = async (): Promise<PgEngine> => {
  const server = await startPostgres({ ...durable, shared_buffers: "256MB" })
  return { name: "Postgres", url: server.url, environment: { DATABASE_URL: server.url }, stop: server.stop }
}
export const onSqlite = async (): Promise<SqliteEngine> => {
  const folder = temporaryFolder()
  return {
    name: "SQLite",
    path: join(folder, "flightcase.sqlite"),
    environment: { FLIGHTCASE_DATA: folder },
    stop: async () => {}
  }
}

/** Creates groups, custom fields and products with typical values; returns the products' ids. */
export const furnish = async (ask: Client, count: number): Promise<ReadonlyArray<number>> => {
  for (const [name, field_type] of [
    ["Power (W)", 2],
    ["Connector", 0]
  ])
    await ask("POST", "/api/v1/custom_fields", { name, module_type: "Product", field_type })
  const groups: Array<number> = []
  for (const name of ["Lighting", "Sound", "Rigging", "Video"])
    groups.push((await ask("POST", "/api/v1/product_groups", { name })).product_group.id)
  const ids: Array<number> = []
  await atOnce(8, count, async (at) => {
    const { product } = await ask("POST", "/api/v1/products", {
      name: `Moving head ${at}`,
      description: "LED profile with framing shutters, 50-degree zoom, in a case with two lamps and clamps.",
      product_group_id: groups[at % groups.length],
      sku: `MH-${at}`,
      barcode: `50${at}`,
      weight: "28.5",
      replacement_charge: "1890.00",
      tag_list: ["led", "profile"],
      custom_fields: { "Power (W)": "850", Connector: "powerCON" }
    })
    ids.push(product.id)
  })
  return ids.sort((a, b) => a - b)
}
const atOnce = async (width: number, count: number, task: (at: number) => Promise<void>): Promise<void> => {
  let next = 0
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) await task(next++)
    })
  )
}

/** Creates enough tokens for `requests` a minute, 8,000 each; a token is limited to 10,000. */
export const tokensFor = async (ask: Client, requests: number): Promise<ReadonlyArray<string>> => {
  const secrets: Array<string> = []
  for (let at = 0; at < Math.ceil(requests / 8_000); at++)
    secrets.push((await ask("POST", "/api/v1/tokens", { name: `Load ${at}`, abilities: ["*"] })).token.secret)
  return secrets
}

/** Runs the bare peer while `use` runs. */
export const besidePeer = async (peer: Peer, use: (running: Running) => Promise<void>): Promise<void> => {
  const running = await startPeer(peer)
  try {
    await use(running)
  } finally {
    await running.stop()
  }
}

/** Runs a server on an engine while `use` runs. */
export const served = async <E extends Engine, A>(
  open: () => Promise<E>,
  use: (engine: E, server: Running, ask: Client) => Promise<A>
): Promise<A> => {
  const engine = await open()
  try {
    const server = await startServer(engine.environment)
    try {
      return await use(engine, server, clientOf(server))
    } finally {
      await server.stop()
    }
  } finally {
    await engine.stop()
  }
}

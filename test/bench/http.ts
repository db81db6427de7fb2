/** One product over HTTP: the server against `node:http` and a bare driver that read the same row. */
import { products } from "../../core/products/products/schema.ts"
import { cpuSecondsOf, inTurns, print, type Side } from "./measure.ts"
import { clientOf, type Running, startLoad } from "./processes.ts"
import { besidePeer, furnish, onPostgres, onSqlite, served, tokensFor } from "./stage.ts"

const rounds = 11
/** Code runs at full speed only after thousands of requests, as in a server that has run for a day. */
const warming = 4
const requests = 4_000
const connections = 16

/** Selects all columns of the response, with the group's name. */
export const selectProduct = (placeholder: string): string => {
  const columns = Object.entries(products.columns)
    .filter(([name, field]) => !field.hidden && name !== "deleted_at")
    .map(([name]) => `p."${name}"`)
  return `select ${columns.join(", ")}, g.name as product_group_name from products p left join product_groups g on g.id = p.product_group_id where p.id = ${placeholder}`
}

/** A side that sends requests over keep-alive connections from another process. */
export const loadSide = (
  name: string,
  server: Running,
  load: ReturnType<typeof startLoad>,
  asked: {
    readonly paths: ReadonlyArray<string>
    readonly tokens: ReadonlyArray<string>
    readonly method: "GET" | "PUT"
    readonly body?: string
    readonly connections: number
    readonly count: number
  }
): Side => ({
  name,
  round: async () => {
    const before = cpuSecondsOf(server.pid)
    const { seconds } = await load.drive({ host: "127.0.0.1", port: server.port, ...asked })
    const after = cpuSecondsOf(server.pid)
    return {
      seconds,
      count: asked.count,
      cpu_seconds: before === undefined || after === undefined ? undefined : after - before
    }
  }
})

const compare = async (title: string, server: Running, peer: Running, peer_name: string): Promise<void> => {
  const ask = clientOf(server)
  const ids = await furnish(ask, 500)
  const tokens = await tokensFor(ask, (warming + rounds) * requests)
  const bytes = await Promise.all(
    [
      [server.url, `/api/v1/products/${ids[0]}`],
      [peer.url, `/products/${ids[0]}`]
    ].map(
      async ([url, path]) =>
        (await (await fetch(url! + path, { headers: { authorization: `Bearer ${tokens[0]}` } })).text()).length
    )
  )
  const load = startLoad()
  try {
    const side = (name: string, running: Running, path: string): Side =>
      loadSide(name, running, load, {
        method: "GET",
        paths: ids.map((id) => `${path}/${id}`),
        tokens,
        connections,
        count: requests
      })
    const taken = await inTurns(
      [side("flightcase", server, "/api/v1/products"), side(peer_name, peer, "/products")],
      rounds,
      warming
    )
    print(
      `${title}: GET of one product of ${ids.length}, ${connections} keep-alive connections, ${requests} requests a round, ${bytes[0]} and ${bytes[1]} bytes of JSON`,
      taken,
      { unit: "requests", as: "rate" }
    )
  } finally {
    await load.stop()
  }
}

export const http = async (): Promise<void> => {
  await served(onPostgres, async (engine, server) => {
    await besidePeer({ engine: "pg", url: engine.url, select: selectProduct("$1"), write: "" }, (peer) =>
      compare("http, Postgres", server, peer, "node:http + pg")
    )
  })
  await served(onSqlite, async (engine, server) => {
    const { path } = engine
    await besidePeer({ engine: "sqlite", path, select: selectProduct("?"), writes: ["select 1", "select 1"] }, (peer) =>
      compare("http, SQLite", server, peer, "node:http + node:sqlite")
    )
  })
}

/**
 * The server against programs built from widely used libraries, on Postgres: a GET against Fastify, pg and pino;
 * durable commands of 16 clients against Emmett's event store with an inline projection.
 */
import pg from "pg"
import { loadSide, selectProduct } from "./http.ts"
import { inTurns, print } from "./measure.ts"
import { type LibraryPeer, type Running, startLibrary, startLoad } from "./processes.ts"
import { furnish, onPostgres, served, tokensFor } from "./stage.ts"

const rounds = 11
const warming = 4
const connections = 16

interface Compared {
  readonly title: string
  readonly peer: string
  readonly unit: string
  readonly asked: {
    readonly method: "GET" | "PUT"
    readonly count: number
    readonly ids: ReadonlyArray<number>
    readonly tokens: ReadonlyArray<string>
    readonly body?: string
  }
}
const compare = async (server: Running, told: LibraryPeer, { asked, peer, title, unit }: Compared): Promise<void> => {
  const library = await startLibrary(told)
  if (library === undefined) return console.log(`\n${title}: left out, as ${peer} could not be installed`)
  const load = startLoad()
  try {
    const sideOf = (name: string, running: Running, path: string) =>
      loadSide(name, running, load, { ...asked, connections, paths: asked.ids.map((id) => `${path}/${id}`) })
    const sides = [sideOf("flightcase", server, "/api/v1/products"), sideOf(peer, library, "/products")]
    const ends = `${connections} connections, ${asked.count} a round`
    print(`${title}, ${ends}`, await inTurns(sides, rounds, warming), { unit, as: "rate" })
  } finally {
    await load.stop()
    await library.stop()
  }
}

/** The peer looks up tokens, logs and counts; it has no limits, permissions or rows of a request log. */
export const fastify = (): Promise<void> =>
  served(onPostgres, async ({ url }, server, ask) => {
    const ids = await furnish(ask, 500)
    const count = 4_000
    const tokens = await tokensFor(ask, (warming + rounds) * count)
    await compare(
      server,
      { library: "fastify", url, select: selectProduct("$1") },
      {
        title: "GET of one product with bearer, log line and metering, Postgres",
        peer: "Fastify + pg + pino",
        unit: "requests",
        asked: { method: "GET", count, ids, tokens }
      }
    )
  })

/**
 * The peer has no tokens, permissions, checks, log, metering, undo or search; its products have the server's indexes.
 * Each stream is short: at most some forty events.
 */
export const emmett = (): Promise<void> =>
  served(onPostgres, async ({ url }, server, ask) => {
    const ids = await furnish(ask, 200)
    const client = new pg.Client(url)
    await client.connect()
    await client.query("create table bare_products (like products including all)")
    await client.query("insert into bare_products select * from products")
    await client.end()
    const count = 500
    const tokens = await tokensFor(ask, (warming + rounds) * count)
    await compare(
      server,
      { library: "emmett", url, ids },
      {
        title: "PUT of a name as a durable command, Postgres (fsync on)",
        peer: "node:http + Emmett, one inline projection",
        unit: "commands",
        asked: { method: "PUT", count, ids, tokens, body: `{"name":"Renamed #"}` }
      }
    )
  })

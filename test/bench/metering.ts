/**
 * Cost of metering per request: a server with metering and one without, in turns in one process, called over sockets
 * from another. Once with a typical mix (of ten requests four read a product, three a list of 20, two a filtered list,
 * one creates a product), and once with the lightest request alone.
 */
import { join } from "node:path"
import { openServerApp } from "../../server/host/app.ts"
import type { Database } from "../../server/host/config.ts"
import { listenOn } from "../../server/host/http.ts"
import { silentLog } from "../../server/ports/log.ts"
import { inTurns, median, print, type Side } from "./measure.ts"
import { clientOf, owner_token, startLoad, temporaryFolder } from "./processes.ts"
import { durable, furnish, tokensFor } from "./stage.ts"
import { startPostgres } from "../postgres-server.ts"

// Many short rounds, so that other load on the machine affects both alike.
const rounds = 21
const warming = 4
const connections = 16

interface Asked {
  readonly what: string
  readonly requests: number
  readonly paths: (ids: ReadonlyArray<number>) => ReadonlyArray<string>
}
const asked: ReadonlyArray<Asked> = [
  {
    what: "a mix of lists, shows and creates",
    requests: 400,
    paths: (ids) =>
      ids.flatMap((id, at) => {
        const show = `/api/v1/products/${id}`
        const list = `/api/v1/products?page=${1 + (at % 5)}`
        const filtered = `/api/v1/products?q[name_cont]=head ${at % 10}&sort=-name`.replaceAll(" ", "%20")
        return [show, list, show, filtered, show, list, show, filtered, list, "POST /api/v1/products"]
      })
  },
  { what: "GET of a product, the lightest", requests: 2_000, paths: (ids) => ids.map((id) => `/api/v1/products/${id}`) }
]

const measured = async (
  title: string,
  { paths, requests, what }: Asked,
  databaseOf: (name: string) => Promise<Database>
): Promise<void> => {
  const load = startLoad()
  const open = async (name: string, metered: boolean) => {
    const app = await openServerApp({
      database: await databaseOf(name),
      key: "a-key-of-the-benchmark-only",
      owner_token,
      rate_limit: 10_000,
      metered
    })
    const { stop, url } = await listenOn({ host: "127.0.0.1", port: 0, log: silentLog, answer: app.answer })
    const ask = clientOf({ url })
    const ids = await furnish(ask, 200)
    const tokens = await tokensFor(ask, (warming + rounds) * requests)
    const port = Number(new URL(url).port)
    const side: Side = {
      name,
      round: async () => {
        const before = process.cpuUsage()
        const { seconds } = await load.drive({
          host: "127.0.0.1",
          port,
          method: "GET",
          paths: paths(ids),
          body: JSON.stringify({ name: "Case #", weight: "12.5", tag_list: ["case"] }),
          tokens,
          connections,
          count: requests
        })
        // Writes the pending rows within the round that caused them. Both servers are queried, as the query has a cost.
        await ask("GET", "/api/v1/usage?window=custom&from=2020-01-01&to=2020-01-01")
        const { system, user } = process.cpuUsage(before)
        return { seconds, count: requests, cpu_seconds: (system + user) / 1e6 }
      }
    }
    const close = async (): Promise<void> => {
      await stop(1_000)
      await app.close()
    }
    return { side, close }
  }
  const sides = [await open("metered", true), await open("not metered", false)]
  try {
    const taken = await inTurns(
      sides.map(({ side }) => side),
      rounds,
      warming
    )
    print(`${title}: ${what}, ${connections} connections, ${requests} requests a round`, taken, {
      unit: "requests",
      as: "rate"
    })
    const [with_it, without] = taken.map(({ samples }) => samples.map(({ cpu_seconds = 0 }) => cpu_seconds))
    const ratios = (with_it ?? []).map((seconds, at) => seconds / (without?.[at] ?? Number.NaN))
    const more = (with_it ?? []).map((seconds, at) => ((seconds - (without?.[at] ?? Number.NaN)) * 1e6) / requests)
    console.log(
      `  CPU with metering: ${((median(ratios) - 1) * 100).toFixed(1)} % more, ` +
        `${median(more).toFixed(1)} µs a request (medians of rounds in turns)`
    )
  } finally {
    for (const { close } of sides) await close()
    await load.stop()
  }
}

export const metering = async (): Promise<void> => {
  for (const one of asked)
    await measured("metering, SQLite", one, async () => ({
      kind: "sqlite",
      path: join(temporaryFolder(), "flightcase.sqlite")
    }))
  const servers: Array<Awaited<ReturnType<typeof startPostgres>>> = []
  try {
    for (const one of asked)
      await measured("metering, Postgres", one, async () => {
        const server = await startPostgres({ ...durable, shared_buffers: "256MB" })
        servers.push(server)
        return { kind: "pg", url: server.url, connections_max: 10 }
      })
  } finally {
    for (const server of servers) await server.stop()
  }
}

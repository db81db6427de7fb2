/**
 * Cost of limits per request on Postgres: the server with and without quotas, and an earlier build of it
 * (`FLIGHTCASE_BENCH_BEFORE=…/out/server.js`), in turns.
 */
import { loadSide } from "./http.ts"
import { inTurns, print, type Side } from "./measure.ts"
import { clientOf, startLoad, startServer } from "./processes.ts"
import { furnish, onPostgres, tokensFor } from "./stage.ts"

const rounds = 11
const warming = 3
const requests = 4_000
const connections = 16

export const limits = async (): Promise<void> => {
  const load = startLoad()
  const ends: Array<() => Promise<void>> = [load.stop]
  const side = async (name: string, settings?: object): Promise<Side> => {
    const engine = await onPostgres()
    const server = await startServer(engine.environment)
    ends.unshift(server.stop, engine.stop)
    const ask = clientOf(server)
    const ids = await furnish(ask, 200)
    const tokens = await tokensFor(ask, (warming + rounds) * requests)
    if (settings !== undefined) await ask("PUT", "/api/v1/settings/api", { settings })
    const paths = ids.map((id) => `/api/v1/products/${id}`)
    return loadSide(name, server, load, { method: "GET", paths, tokens, connections, count: requests })
  }
  try {
    const sides = [await side("limits shared"), await side("with a month's quota", { monthly_units: 10_000_000 })]
    const before = process.env["FLIGHTCASE_BENCH_BEFORE"]
    if (before !== undefined) {
      process.env["FLIGHTCASE_BENCH_SERVER"] = before
      sides.push(await side("before"))
    }
    print(
      `GET of one product on Postgres, ${connections} keep-alive connections, ${requests} requests a round`,
      await inTurns(sides, rounds, warming),
      { unit: "requests", as: "rate" }
    )
  } finally {
    for (const end of ends) await end()
  }
}

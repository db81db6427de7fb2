/** A server killed under load: all answered calls are counted, except for the last second's. */
import { afterAll, describe, expect, it } from "vitest"
import { durable_databases, token } from "./killing.ts"
import { cleanUp, type Env, type ServerProcess, startServer } from "./process.ts"
import { bodyRead } from "../answers.ts"

afterAll(cleanUp)

const headers = { authorization: `Bearer ${token}` }
const clients = 4
const kills = 3

/** Flush interval of a second, and the time that a flush takes. */
const flush_millis = 1_500
/** Longest time without a response, in milliseconds: a busy machine delays flushes by as much. */
const longestPause = (answered: ReadonlyArray<number>): number =>
  answered.reduce((longest, at, n) => Math.max(longest, at - (answered[n - 1] ?? at)), 0)

/** Sends requests until the server is killed; records the time of each response. */
const asking = async (server: ServerProcess, answered: Array<number>): Promise<void> => {
  try {
    for (;;) {
      const got = await fetch(`${server.url}/api/v1/stores`, { headers })
      await got.arrayBuffer()
      if (got.status === 200) answered.push(performance.now())
      // Keeps to the rate limit of one token.
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  } catch {
    // The server was killed.
  }
}
const countOf = async (server: ServerProcess): Promise<number> => {
  const got = await fetch(`${server.url}/api/v1/usage?window=24h`, { headers })
  const { usage } = bodyRead(await got.json())
  return usage.find((row) => row.key === "stores.list")?.request_count ?? 0
}
const logsOf = async (server: ServerProcess): Promise<number> => {
  const got = await fetch(`${server.url}/api/v1/request_logs?per_page=1&q[route_name_eq]=stores.list`, { headers })
  const { meta } = bodyRead(await got.json())
  return meta.total
}

const killedUnderLoad = async (env: Env): Promise<void> => {
  let counted = 0
  for (let round = 0; round < kills; round++) {
    const server = await startServer(env)
    const answered: Array<number> = []
    const done = Array.from({ length: clients }, () => asking(server, answered))
    const sureAt = (now: number): ReadonlyArray<number> =>
      answered.filter((at) => at < now - flush_millis - 2 * longestPause(answered))
    while (sureAt(performance.now()).length < 50) await new Promise((resolve) => setTimeout(resolve, 20))
    const killed_at = performance.now()
    await server.kill("SIGKILL")
    await Promise.all(done)
    const again = await startServer(env)
    const now = await countOf(again)
    expect(await logsOf(again)).toBe(now)
    await again.kill("SIGKILL")
    expect(now - counted).toBeGreaterThanOrEqual(sureAt(killed_at).length)
    // Each client may have had one call whose response it never received.
    expect(now - counted).toBeLessThanOrEqual(answered.length + clients)
    counted = now
  }
}

describe("a server killed under load", () => {
  it.each(durable_databases)(
    "keeps the usage counts of calls answered over 1.5 seconds before, on %s",
    { timeout: 300_000 },
    (_name, on) => on(killedUnderLoad)
  )
})

/**
 * Runs the smoke test with the built command line and server on each engine: every step passes, nothing is left behind.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { freePort } from "../free-port.ts"
import { engines } from "../app.ts"
import { freshDatabase } from "../postgres.ts"
import { asOwner, commandLine, startServer, token } from "./processes.ts"

it.each(engines)("a server on %s passes the smoke test, which leaves no products, orders or units", async (engine) => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-smoke-"))
  const database = engine === "pg" ? await freshDatabase() : undefined
  const server = await startServer({ port: await freePort(), data: join(folder, "server"), database: database?.url })
  try {
    const cli = commandLine(join(folder, "home"))
    const ran = await cli("smoke", server.url, "--token", token)
    expect(ran).toMatchObject({ code: 0 })
    const ask = asOwner(server.url)
    for (const collection of [
      "products",
      "opportunities",
      "containers",
      "stock_levels",
      "members?q[membership_type_not_eq]=user"
    ]) {
      expect((await ask("GET", `/api/v1/${collection}`)).body.meta.total, collection).toBe(0)
    }
    expect((await cli("smoke", server.url, "--token", "a-token-nobody-was-given")).code).not.toBe(0)
    expect(await server.stop()).toBe(0)
  } finally {
    await server.kill()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  }
})

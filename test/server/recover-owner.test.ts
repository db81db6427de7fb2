/**
 * A lost owner token: access to the server's machine suffices to issue a new one, beside a running server, without
 * other changes.
 */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { Store } from "../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp } from "../../server/host/app.ts"
import type { Database } from "../../server/host/config.ts"
import { databaseHere, recoverOwner } from "../../server/host/recover-owner.ts"
import { both_engines } from "../app.ts"
import { freshDatabase } from "../postgres.ts"
import { askOf, type Sent } from "./serving.ts"

describe.each(both_engines)("an owner's lost token on %s", (engine) => {
  let app: ServerApp | undefined
  let drop: (() => Promise<void>) | undefined
  afterEach(async () => {
    await app?.close()
    await drop?.()
    app = drop = undefined
  })
  const opened = async (): Promise<{ readonly database: Database; readonly environment: Record<string, string> }> => {
    const folder = mkdtempSync(join(tmpdir(), "flightcase-recover-"))
    if (engine === "sqlite")
      return {
        database: { kind: "sqlite", path: join(folder, "flightcase.sqlite") },
        environment: { FLIGHTCASE_DATA: folder }
      }
    const fresh = await freshDatabase()
    drop = fresh.drop
    return { database: { kind: "pg", url: fresh.url, connections_max: 4 }, environment: { DATABASE_URL: fresh.url } }
  }

  it("stays valid beside a new one that is issued while the server runs and recorded in the journal", async () => {
    const { database, environment } = await opened()
    const lost = "owner-token-that-somebody-loses"
    const running = (app = await openServerApp({ database, key: "key-of-the-tests-which-is-long", owner_token: lost }))
    const ask = (path: string, sent: Sent) => askOf(running, path, sent)
    const { id, secret } = await recoverOwner(databaseHere(environment))
    const listed = await ask("/api/v1/tokens", { token: secret })
    expect(listed.status).toBe(200)
    expect(listed.body.tokens.map((one) => one.name)).toEqual(
      expect.arrayContaining(["First owner", "Recovered at the server"])
    )
    expect((await ask("/api/v1/stores", { token: lost })).status).toBe(200)
    // The running server continues with its ids.
    const made = await ask("/api/v1/tokens", { token: secret, json: { name: "Another", abilities: ["*"] } })
    expect(made.status).toBe(201)
    expect(made.body.token.id).toBeGreaterThan(id)
    const journal = await running.run(
      Effect.flatMap(Store, (store) =>
        store.run<{ type: string; actor_id: number | null }>(
          "select type, actor_id from journal where type = 'token.issued' order by position"
        )
      )
    )
    expect(journal[0]).toEqual({ type: "token.issued", actor_id: null })
  })
  it("cannot be replaced without a server's database", async () => {
    const { database, environment } = await opened()
    if (database.kind === "sqlite") expect(() => databaseHere(environment)).toThrow("There is no database at")
    else await expect(recoverOwner(databaseHere(environment))).rejects.toThrow("start the server")
  })
})

/** Jobs on Postgres: two servers share them, and run them even after all connections were closed. */
import { Effect } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp } from "../../../../server/host/app.ts"
import { freshDatabase } from "../../../postgres.ts"
import { offered, queueWord, rowsOf, wordKind, type WordKind } from "./words.ts"

const within = { timeout: 30_000 }

const opened = async (url: string, kind: WordKind): Promise<ServerApp> => {
  const app = await openServerApp({
    database: { kind: "pg", url, connections_max: 6 },
    key: "a key of more than twenty characters",
    slices: [{ name: "words", jobs: [kind] }]
  })
  onTestFinished(() => app.close())
  return app
}
const database = async (): Promise<string> => {
  const fresh = await freshDatabase()
  onTestFinished(() => fresh.drop())
  return fresh.url
}

describe("two servers that start at once on an empty Postgres", () => {
  it("run each of 300 jobs once, whichever server queued it", async () => {
    const url = await database()
    const done: Array<string> = []
    const kind = (server: string): WordKind =>
      wordKind(
        (word) =>
          Effect.andThen(
            Effect.sleep(2),
            Effect.sync(() => void done.push(`${server} ${word}`))
          ),
        { at_a_time: 4 }
      )
    const kinds = [kind("one"), kind("other")]
    const servers = await Promise.all(kinds.map((one) => opened(url, one)))
    const words = Array.from({ length: 300 }, (_, at) => `w${at}`)
    await Promise.all(
      servers.map((app, half) =>
        app.run(
          Effect.flatMap(Store, (store) =>
            Effect.forEach(
              words.filter((_, at) => at % 2 === half),
              (word) =>
                store.transaction(
                  offered(
                    wordKind(() => Effect.void),
                    word
                  )
                ),
              { discard: true }
            )
          )
        )
      )
    )
    await expect.poll(() => done.length, within).toBe(300)
    expect(new Set(done.map((one) => one.split(" ")[1])).size).toBe(300)
    expect(await rowsOf(servers[0]!, "select distinct status from system_jobs where kind = 'test.word'")).toEqual([
      { status: "done" }
    ])
    expect(new Set(done.map((one) => one.split(" ")[0]))).toEqual(new Set(["one", "other"]))
  })
})

describe("jobs on a Postgres that closes all connections", () => {
  it("are run on new connections", async () => {
    const fresh = await freshDatabase()
    onTestFinished(() => fresh.drop())
    const done: Array<string> = []
    const kind = wordKind((word) => Effect.sync(() => void done.push(word)))
    const app = await opened(fresh.url, kind)
    await queueWord(app, kind, "before")
    await expect.poll(() => done, within).toEqual(["before"])
    const cut = () =>
      app.run(
        Effect.flatMap(Store, (store) =>
          Effect.ignore(
            store.run(
              "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            )
          )
        )
      )
    for (let times = 0; times < 5; times++) await cut()
    await queueWord(app, kind, "after")
    await expect.poll(() => done, within).toEqual(["before", "after"])
  })
})

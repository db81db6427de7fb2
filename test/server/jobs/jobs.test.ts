/** Durable jobs: queued with what causes them, done after it, at least once. */
import { Effect, Schema } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { Store } from "../../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp } from "../../../server/app.ts"
import { jobKind, jobOffer } from "../../../server/jobs/job-kind.ts"
import { ServerContext } from "../../../server/server-context.ts"
import { engines } from "../../app.ts"
import { freshDatabase } from "../../postgres.ts"

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

describe.each(engines)("jobs on %s", (engine) => {
  const opened = async (done: Array<string>): Promise<{ app: ServerApp; kind: ReturnType<typeof noted> }> => {
    const noted_kind = noted(done)
    const database = engine === "pg" ? await freshDatabase() : undefined
    if (database !== undefined) open.push(() => database.drop())
    const app = await openServerApp({
      database:
        database === undefined
          ? { kind: "sqlite", path: ":memory:" }
          : { kind: "pg", url: database.url, connections_max: 5 },
      key: "a key of more than twenty characters",
      owner_token: "an owner's token of some length",
      slices: [{ name: "noted", jobs: [noted_kind] }]
    })
    open.push(() => app.close())
    return { app, kind: noted_kind }
  }
  const noted = (done: Array<string>) =>
    jobKind({
      kind: "test.note",
      meaning: "notes a word",
      data: Schema.Struct({ word: Schema.String }),
      attempts_max: 3,
      waits_seconds: [1],
      at_a_time: 2,
      run: ({ word }) => Effect.sync(() => void done.push(word))
    })

  it("are done once their transaction has committed, once for each subject, and never where it was taken back", async () => {
    const done: Array<string> = []
    const { app, kind } = await opened(done)
    const queue = (word: string) =>
      Effect.flatMap(ServerContext, ({ jobs }) => jobs.offer(jobOffer(kind, { word }, { subject: word })))
    await app.run(
      Effect.flatMap(Store, (store) =>
        Effect.ignore(store.transaction(Effect.andThen(queue("refused"), Effect.fail("taken back"))))
      )
    )
    await app.run(Effect.flatMap(Store, (store) => store.transaction(Effect.andThen(queue("kept"), queue("kept")))))
    await expect.poll(() => done, { timeout: 20_000 }).toEqual(["kept"])
  })
})

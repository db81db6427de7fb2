/** Attempts that their server's end broke off, and what follows a job that has failed for good. */
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { GivenUp } from "../../../../server/ports/server-context.ts"
import { both_engines } from "../../../app.ts"
import { serve, type Serving } from "../../serving.ts"
import { queueWord, rowsOf, wordKind, type WordKind } from "./words.ts"

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})
const within = { timeout: 20_000 }

describe.each(both_engines)("a job on %s", (engine) => {
  const serving = async (kind: WordKind): Promise<Serving> => {
    const server = await serve(engine, { slices: [{ name: "words", jobs: [kind] }] })
    open.push(() => server.close())
    return server
  }
  const job = async (server: Serving, id: string) =>
    (await server.ask(`/api/v1/system/jobs/${encodeURIComponent(id)}`)).body.job
  /** A job after servers were killed in each of its attempts. */
  const brokenOff = async (server: Serving, kind: WordKind, word: string, attempts: number): Promise<string> => {
    const id = await queueWord(server, kind, word, { delay_seconds: 3_600 })
    const now = engine === "pg" ? "now()" : "current_timestamp"
    await server.run(
      Effect.flatMap(Store, (store) =>
        store.run(`update effect_queue set attempts = ${attempts}, visible_at = ${now} where id = '${id}'`)
      )
    )
    return id
  }

  it("fails, with its kind's follow-up, if the server ended during its last attempt", async () => {
    const ended: Array<readonly [string, string]> = []
    const run: Array<string> = []
    const kind = wordKind((word) => Effect.sync(() => void run.push(word)), {
      ended: ({ word }, error) => Effect.sync(() => void ended.push([word, error]))
    })
    const server = await serving(kind)
    const id = await brokenOff(server, kind, "killed", 3)
    await expect.poll(async () => (await job(server, id)).status, within).toBe("failed")
    expect(await job(server, id)).toMatchObject({ attempts: 3, error: "The server ended during the last attempt." })
    expect([run, ended]).toEqual([[], [["killed", "The server ended during the last attempt."]]])
    // A manual retry restarts it.
    await server.ask(`/api/v1/system/jobs/${encodeURIComponent(id)}/retry`, { method: "POST" })
    await expect.poll(async () => (await job(server, id)).status, within).toBe("done")
  })

  it("does not count attempts cut off by the server if its kind cannot end a server", async () => {
    const numbers: Array<readonly [number, boolean]> = []
    const kind = wordKind(
      (_word, { is_last, number }) =>
        Effect.suspend(() => {
          numbers.push([number, is_last])
          return number < 3 ? Effect.fail("not yet") : Effect.void
        }),
      { counts_broken_off: false, waits_seconds: [0] }
    )
    const server = await serving(kind)
    const id = await brokenOff(server, kind, "killed often", 40)
    await expect.poll(async () => (await job(server, id)).status, within).toBe("done")
    expect(numbers).toEqual([
      [1, false],
      [2, false],
      [3, true]
    ])
  })

  it("runs its kind's follow-up when it fails, gives up or times out", async () => {
    const kind = wordKind(
      (word) =>
        word === "hangs"
          ? Effect.never
          : word === "given up"
            ? Effect.fail(new GivenUp({ message: "No use." }))
            : Effect.fail("no"),
      {
        attempts_max: 1,
        limit_seconds: 1,
        ended: ({ word }) =>
          Effect.flatMap(Store, (store) =>
            store.run(`insert into job_notes (job_id, progress) values ('ended ${word}', 1)`)
          )
      }
    )
    const server = await serving(kind)
    for (const word of ["hangs", "given up", "fails"]) {
      const id = await queueWord(server, kind, word)
      await expect.poll(async () => (await job(server, id)).status, within).toBe("failed")
      expect(await rowsOf(server, `select job_id from job_notes where job_id = 'ended ${word}'`)).toHaveLength(1)
    }
  })

  it("fails even if its kind's follow-up throws", async () => {
    const kind = wordKind(() => Effect.fail(new GivenUp({ message: "No use." })), {
      ended: () => Effect.die(new Error("a fault of ours"))
    })
    const server = await serving(kind)
    const id = await queueWord(server, kind, "odd")
    await expect.poll(async () => (await job(server, id)).error, within).toBe("No use.")
    expect((await job(server, id)).status).toBe("failed")
  })
})

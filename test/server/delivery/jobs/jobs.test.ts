/** Durable jobs: queued in the transaction that causes them, run after it, at least once. */
import { Effect } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { openServerApp } from "../../../../server/host/app.ts"
import { GivenUp } from "../../../../server/ports/server-context.ts"
import { both_engines } from "../../../app.ts"
import { freshDatabase } from "../../../postgres.ts"
import { cleanUp, folderOfItsOwn } from "../../process.ts"
import { clockAt, serve, type ServeOptions, type Serving } from "../../serving.ts"
import { offered, queueWord, rowsOf, wordKind, type WordKind } from "./words.ts"

const within = { timeout: 20_000 }

describe.each(both_engines)("background jobs on %s", (engine) => {
  const serving = async (kind: WordKind, more: ServeOptions = {}): Promise<Serving> => {
    const server = await serve(engine, { slices: [{ name: "words", jobs: [kind] }], ...more })
    onTestFinished(() => server.close())
    return server
  }
  const job = async (server: Serving, id: string) =>
    (await server.ask(`/api/v1/system/jobs/${encodeURIComponent(id)}`)).body.job

  it("run once per subject after their transaction commits, and never after a rollback", async () => {
    const done: Array<string> = []
    const kind = wordKind((word) => Effect.sync(() => void done.push(word)))
    const server = await serving(kind)
    await server.run(
      Effect.flatMap(Store, (store) =>
        Effect.ignore(store.transaction(Effect.andThen(offered(kind, "refused"), Effect.fail("taken back"))))
      )
    )
    await server.run(
      Effect.flatMap(Store, (store) => store.transaction(Effect.andThen(offered(kind, "kept"), offered(kind, "kept"))))
    )
    await expect.poll(() => done, within).toEqual(["kept"])
    expect(await rowsOf(server, "select id from effect_queue where state <> 'bell'")).toEqual([
      { id: "test.word:kept" }
    ])
    expect(await rowsOf(server, "select * from job_notes")).toEqual([])
  })

  it("are retried until their attempts are used up, with the last error in one line", async () => {
    const attempts: Array<readonly [number, boolean]> = []
    const kind = wordKind(
      (_word, { is_last, number }) =>
        Effect.suspend(() => {
          attempts.push([number, is_last])
          return Effect.fail(new Error(`The post office\nis closed (${number}).`))
        }),
      { waits_seconds: [0] }
    )
    const server = await serving(kind)
    const id = await queueWord(server, kind, "letter")
    await expect.poll(async () => (await job(server, id)).status, within).toBe("failed")
    expect(attempts).toEqual([
      [1, false],
      [2, false],
      [3, true]
    ])
    expect(await job(server, id)).toMatchObject({
      kind: "test.word",
      meaning: "does something with a word",
      attempts: 3,
      attempts_max: 3,
      error: "The post office is closed (3).",
      next_attempt_at: null
    })
  })

  it("fail at once if their work gives up, and can be retried by hand", async () => {
    let is_mended = false
    const kind = wordKind(() =>
      Effect.suspend(() =>
        is_mended ? Effect.void : Effect.fail(new GivenUp({ message: "There is no such address." }))
      )
    )
    const server = await serving(kind)
    const id = await queueWord(server, kind, "letter")
    await expect.poll(async () => (await job(server, id)).status, within).toBe("failed")
    expect(await job(server, id)).toMatchObject({ attempts: 1, error: "There is no such address." })
    is_mended = true
    const again = await server.ask(`/api/v1/system/jobs/${encodeURIComponent(id)}/retry`, { method: "POST" })
    expect([again.status, again.body.job.status, again.body.job.attempts]).toEqual([200, "queued", 0])
    await expect.poll(async () => (await job(server, id)).status, within).toBe("done")
    expect(await job(server, id)).toMatchObject({ attempts: 1, error: null })
  })

  it("do not stop their worker by throwing or being interrupted", async () => {
    const done: Array<string> = []
    const kind = wordKind(
      (word) =>
        word === "bad"
          ? Effect.sync(() => {
              throw new TypeError("undefined is not a letter")
            })
          : word === "interrupted"
            ? Effect.interrupt
            : Effect.sync(() => void done.push(word)),
      { at_a_time: 1, attempts_max: 1 }
    )
    const server = await serving(kind)
    const bad = await queueWord(server, kind, "bad")
    const interrupted = await queueWord(server, kind, "interrupted")
    await queueWord(server, kind, "good")
    await expect.poll(() => done, within).toEqual(["good"])
    await expect.poll(async () => (await job(server, bad)).status, within).toBe("failed")
    expect((await job(server, bad)).error).toBe("undefined is not a letter")
    await expect.poll(async () => (await job(server, interrupted)).status, within).toBe("failed")
  })

  it("fail if their data cannot be decoded, and other jobs of their kind still run", async () => {
    const done: Array<string> = []
    const kind = wordKind((word) => Effect.sync(() => void done.push(word)), { at_a_time: 1 })
    const server = await serving(kind)
    const id = await queueWord(server, kind, "old", { delay_seconds: 3_600 })
    await rowsOf(
      server,
      `update effect_queue set element = '{"data":{"wort":1}}', visible_at = created_at where id = '${id}'`
    )
    await expect.poll(async () => (await job(server, id)).status, within).toBe("failed")
    expect((await job(server, id)).error).toMatch(/^[^\n]*word[^\n]*$/)
    await queueWord(server, kind, "new")
    await expect.poll(() => done, within).toEqual(["new"])
  })

  it("have their progress while they run, and their result and its download URL when done", async () => {
    let finish = (): void => {}
    const finished = new Promise<void>((resolve) => (finish = resolve))
    const kind = wordKind((word, { progress }) =>
      Effect.gen(function* () {
        yield* progress(0.25)
        yield* progress(0.2501)
        yield* Effect.promise(() => finished)
        return { download_url: `https://example.com/${word}.zip`, files: 3 }
      })
    )
    const server = await serving(kind)
    const id = await queueWord(server, kind, "export", { owner_id: 1 })
    await expect
      .poll(async () => await job(server, id), within)
      .toMatchObject({ status: "running", progress: 0.25, owner_id: 1, result: null, download_url: null })
    finish()
    await expect
      .poll(async () => await job(server, id), within)
      .toMatchObject({
        status: "done",
        result: { download_url: "https://example.com/export.zip", files: 3 },
        download_url: "https://example.com/export.zip"
      })
  })

  it("run after the delay they were queued with", async () => {
    const done: Array<string> = []
    const kind = wordKind((word) => Effect.sync(() => void done.push(word)))
    const server = await serving(kind)
    const id = await queueWord(server, kind, "later", { delay_seconds: 3_600 })
    await queueWord(server, kind, "now")
    await queueWord(server, kind, "soon", { delay_seconds: 1 })
    await expect.poll(() => done, within).toEqual(["now", "soon"])
    const { created_at, next_attempt_at, status } = await job(server, id)
    expect(status).toBe("queued")
    expect(Math.round((Date.parse(next_attempt_at!) - Date.parse(created_at)) / 60_000)).toBe(60)
  })

  it("are queued again if a stopping server interrupted them, and the attempt does not count", async () => {
    const fresh = engine === "pg" ? await freshDatabase() : undefined
    onTestFinished(async () => (fresh === undefined ? cleanUp() : fresh.drop()))
    let began = 0
    const kind = wordKind(
      () =>
        Effect.andThen(
          Effect.sync(() => began++),
          Effect.never
        ),
      { at_a_time: 1 }
    )
    const options = {
      database:
        fresh === undefined
          ? ({ kind: "sqlite", path: `${await folderOfItsOwn()}/server.sqlite` } as const)
          : ({ kind: "pg", url: fresh.url, connections_max: 4 } as const),
      key: "a key of more than twenty characters",
      slices: [{ name: "words", jobs: [kind] }],
      services: clockAt(() => Date.now())
    }
    const app = await openServerApp(options)
    const id = await queueWord(app, kind, "endless")
    await expect.poll(() => began, within).toBe(1)
    await app.close()
    const other = await openServerApp({ ...options, slices: [] })
    onTestFinished(() => other.close())
    expect(await rowsOf(other, `select status, attempts from system_jobs where id = '${id}'`)).toEqual([
      { status: "queued", attempts: 0 }
    ])
  })

  const erase = async (server: Serving) => {
    const made = await server.ask("/api/v1/members", { json: { name: "Ann", membership_type: "contact" } })
    const erased = await server.ask(`/api/v1/members/${made.body.member.id}/anonymise`, { method: "POST", json: {} })
    expect(erased.status, erased.text).toBe(200)
  }

  it("are emptied when anyone is erased, if their kind names people and they are not pending", async () => {
    const kind = wordKind(
      (word) =>
        word === "Ann refused" ? Effect.fail(new GivenUp({ message: "Ann refused" })) : Effect.succeed({ to: word }),
      { names_people: true }
    )
    const server = await serving(kind)
    const [done, failed] = [await queueWord(server, kind, "Ann done"), await queueWord(server, kind, "Ann refused")]
    await expect.poll(async () => (await job(server, done)).status, within).toBe("done")
    await expect.poll(async () => (await job(server, failed)).status, within).toBe("failed")
    const waiting = await queueWord(server, kind, "waiting", { delay_seconds: 3_600 })
    await erase(server)
    const texts = JSON.stringify([
      await rowsOf(server, "select element, last_failure from effect_queue"),
      await rowsOf(server, "select result from job_notes")
    ])
    expect(texts).not.toContain("Ann")
    expect(texts).toContain("waiting")
    expect((await job(server, waiting)).status).toBe("queued")
    const again = await server.ask(`/api/v1/system/jobs/${encodeURIComponent(failed)}/retry`, { method: "POST" })
    expect(again.body.job).toMatchObject({ status: "failed", error: expect.stringContaining("erased") })
    // Completed jobs are kept, so that they are not repeated.
    expect(await queueWord(server, kind, "Ann done")).toBe(done)
    expect((await job(server, done)).status).toBe("done")
  })

  it("fail after their kind's time limit if they hang, and release their worker", async () => {
    const kind = wordKind((word) => (word === "hangs" ? Effect.never : Effect.succeed({ word })), {
      at_a_time: 1,
      attempts_max: 1,
      limit_seconds: 2
    })
    const server = await serving(kind)
    const hanging = await queueWord(server, kind, "hangs")
    await expect.poll(async () => (await job(server, hanging)).status, within).toBe("running")
    const after = await queueWord(server, kind, "after")
    await expect.poll(async () => (await job(server, after)).status, within).toBe("done")
    expect(await job(server, hanging)).toMatchObject({ status: "failed", error: "It did not end within 2 seconds." })
  })

  describe("after their last or an interrupted attempt", () => {
    /** Queues a job with this number of attempts, as if a server had been killed in each. */
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

    it("fail and run their kind's follow-up if the server ended during the last attempt", async () => {
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

    it("do not count interrupted attempts if their kind sets counts_broken_off to false", async () => {
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

    it("run their kind's follow-up when they fail, give up or time out", async () => {
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

    it("fail even if their kind's follow-up throws", async () => {
      const kind = wordKind(() => Effect.fail(new GivenUp({ message: "No use." })), {
        ended: () => Effect.die(new Error("a fault of ours"))
      })
      const server = await serving(kind)
      const id = await queueWord(server, kind, "odd")
      await expect.poll(async () => (await job(server, id)).error, within).toBe("No use.")
      expect((await job(server, id)).status).toBe("failed")
    })
  })
})

/** Durable jobs: queued with what causes them, done after it, at least once. */
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { openServerApp } from "../../../../server/host/app.ts"
import { GivenUp } from "../../../../server/ports/server-context.ts"
import { both_engines } from "../../../app.ts"
import { freshDatabase } from "../../../postgres.ts"
import { cleanUp, folderOfItsOwn } from "../../process.ts"
import { clockAt, serve, type ServeOptions, type Serving } from "../../serving.ts"
import { offered, queueWord, rowsOf, wordKind, type WordKind } from "./words.ts"

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})
const within = { timeout: 20_000 }

describe.each(both_engines)("jobs on %s", (engine) => {
  const serving = async (kind: WordKind, more: ServeOptions = {}): Promise<Serving> => {
    const server = await serve(engine, { slices: [{ name: "words", jobs: [kind] }], ...more })
    open.push(() => server.close())
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

  it("that give up fail at once, and can be retried by hand", async () => {
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

  it("that throw or are interrupted do not stop their worker", async () => {
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

  it("whose data cannot be decoded fail, and their kind continues", async () => {
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

  it("show progress and result to their owner", async () => {
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

  it("wait as long as requested", async () => {
    const done: Array<string> = []
    const kind = wordKind((word) => Effect.sync(() => void done.push(word)))
    const server = await serving(kind)
    const id = await queueWord(server, kind, "later", { delay_seconds: 3_600 })
    await queueWord(server, kind, "now")
    await queueWord(server, kind, "soon", { delay_seconds: 1 })
    await expect.poll(() => done, within).toEqual(["now", "soon"])
    const { created_at, next_attempt_at, status } = await job(server, id)
    expect(status).toBe("queued")
    expect(Math.round((Date.parse(next_attempt_at) - Date.parse(created_at)) / 60_000)).toBe(60)
  })

  it("interrupted by a stopping server are queued again, and the attempt does not count", async () => {
    const fresh = engine === "pg" ? await freshDatabase() : undefined
    open.push(async () => (fresh === undefined ? cleanUp() : fresh.drop()))
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
    open.push(() => other.close())
    expect(await rowsOf(other, `select status, attempts from system_jobs where id = '${id}'`)).toEqual([
      { status: "queued", attempts: 0 }
    ])
  })
})

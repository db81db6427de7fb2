/** Erased persons in jobs, and hanging jobs. */
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { GivenUp } from "../../../../server/ports/server-context.ts"
import { both_engines } from "../../../app.ts"
import { serve, type Serving } from "../../serving.ts"
import { queueWord, rowsOf, wordKind, type WordKind } from "./words.ts"

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})
const within = { timeout: 20_000 }

describe.each(both_engines)("jobs on %s", (engine) => {
  const serving = async (kind: WordKind): Promise<Serving> => {
    const server = await serve(engine, { slices: [{ name: "words", jobs: [kind] }] })
    open.push(() => server.close())
    return server
  }
  const job = async (server: Serving, id: string) =>
    (await server.ask(`/api/v1/system/jobs/${encodeURIComponent(id)}`)).body.job
  const erase = async (server: Serving) => {
    const made = await server.ask("/api/v1/members", { json: { name: "Ann", membership_type: "contact" } })
    const erased = await server.ask(`/api/v1/members/${made.body.member.id}/anonymise`, { method: "POST", json: {} })
    expect(erased.status, erased.text).toBe(200)
  }

  it("that name people are emptied once somebody is erased, unless they are still pending", async () => {
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
    // Completed jobs stay known, so that they are not repeated.
    expect(await queueWord(server, kind, "Ann done")).toBe(done)
    expect((await job(server, done)).status).toBe("done")
  })

  it("that hang fail after their kind's time limit, and release their worker", async () => {
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
})

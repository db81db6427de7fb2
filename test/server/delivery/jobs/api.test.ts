/** Visibility of jobs, and actions on them. */
import { Effect } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { ServerContext } from "../../../../server/ports/server-context.ts"
import { both_engines } from "../../../app.ts"
import { serve, type Serving } from "../../serving.ts"
import { jobRow, queueWord, rowsOf, wordKind } from "./words.ts"

const path = (id: string, more = ""): string => `/api/v1/system/jobs/${encodeURIComponent(id)}${more}`

describe.each(both_engines)("jobs over the API on %s", (engine) => {
  let server: Serving
  let token: string
  let user_id: number
  const kind = wordKind((word) => (word === "endless" ? Effect.never : Effect.fail(new Error("no"))), {
    attempts_max: 1
  })
  beforeAll(async () => {
    server = await serve(engine, { slices: [{ name: "words", jobs: [kind] }] })
    const invited = await server.ask("/api/v1/users", {
      json: { name: "Clerk", email: "clerk@example.com", roles: [], active: true, send_invitation: false }
    })
    user_id = invited.body.user.id
    const issued = await server.ask("/api/v1/tokens", { json: { name: "Clerk's", abilities: ["*"], user_id } })
    token = issued.body.token.secret
  })
  beforeEach(async () => {
    // Notifications about the clerk are a separate job, which is not tested here.
    const told = "select status from system_jobs where kind = 'notifications.tell' and status <> 'done'"
    await expect.poll(() => rowsOf(server, told), { timeout: 20_000 }).toEqual([])
    await rowsOf(server, "delete from effect_queue where state <> 'bell'")
    await rowsOf(server, "delete from job_notes")
  })
  afterAll(() => server.close())
  const failed = async (word: string, owner_id?: number): Promise<string> => {
    const id = await queueWord(server, kind, word, owner_id === undefined ? {} : { owner_id })
    await expect.poll(async () => (await server.ask(path(id))).body.job.status, { timeout: 20_000 }).toBe("failed")
    return id
  }

  it("are counted by kind and status in the metrics", async () => {
    await failed("letter")
    const { text } = await server.ask("/metrics", { token: null, from: "127.0.0.1" })
    expect(text).toContain(`flightcase_jobs{kind="test.word",status="failed"} 1\n`)
    expect(text).toContain(`flightcase_job_failures_total{kind="test.word",final="true"} 1\n`)
  })

  it("are visible to their owner, who can neither retry nor delete them, and hidden from other users", async () => {
    const [mine, other] = [await failed("mine", user_id), await failed("other")]
    const ids = async (as?: string) =>
      (await server.ask("/api/v1/system/jobs", as === undefined ? {} : { token: as })).body.jobs.map(({ id }) => id)
    expect(await ids()).toEqual([other, mine])
    expect(await ids(token)).toEqual([mine])
    expect((await server.ask(path(mine), { token })).body.job).toMatchObject({ id: mine, owner_id: user_id })
    expect((await server.ask(path(other), { token })).status).toBe(403)
    expect((await server.ask(path("test.word:none"), { token })).status).toBe(404)
    for (const method of ["POST", "DELETE"])
      expect((await server.ask(path(mine, method === "POST" ? "/retry" : ""), { method, token })).status).toBe(403)
  })

  it("are filtered by kind and status, newest first, in pages", async () => {
    for (const word of ["one", "two", "three"]) await failed(word)
    await queueWord(server, kind, "later", { delay_seconds: 3_600 })
    const page = async (query: string) => {
      const { jobs, meta } = (await server.ask(`/api/v1/system/jobs?${query}`)).body
      return [jobs.map(({ id }) => id.slice("test.word:".length)), meta.total]
    }
    expect(await page("q[status_eq]=failed&per_page=2")).toEqual([["three", "two"], 3])
    expect(await page("q[status_eq]=failed&per_page=2&page=2")).toEqual([["one"], 3])
    expect(await page("q[status_eq]=queued&q[kind_eq]=test.word")).toEqual([["later"], 1])
    expect(await page("q[kind_eq]=mail.send")).toEqual([[], 0])
    expect(await page("q[status_eq]=nonsense")).toEqual([[], 0])
    expect(await page("q[kind_start]=TEST.&per_page=1")).toEqual([["later"], 4])
  })

  it("can be retried once they have failed, and not before", async () => {
    const id = await failed("letter")
    const retried = await server.ask(path(id, "/retry"), { method: "POST" })
    expect([retried.status, retried.body.job.status, retried.body.job.error]).toEqual([200, "queued", null])
    const waiting = await queueWord(server, kind, "later", { delay_seconds: 3_600 })
    const refused = await server.ask(path(waiting, "/retry"), { method: "POST" })
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      { status: ["This job is queued; only a failed one can be tried again."] }
    ])
  })

  it("may have slashes, spaces and percent signs in their ids", async () => {
    const id = "test.unknown:a.b/c d?e#ü%"
    await rowsOf(server, jobRow(engine, id))
    const { job } = (await server.ask(path(id))).body
    expect([job.id, job.meaning, job.attempts_max]).toEqual([id, null, null])
    expect((await server.ask(path(id), { method: "DELETE" })).status).toBe(204)
  })

  it("are deleted two weeks after they completed, with their notes; failed ones stay", async () => {
    const id = await failed("letter", 1)
    const long_ago = engine === "pg" ? "now() - interval '15 days'" : "datetime('now', '-15 days')"
    await rowsOf(server, jobRow(engine, "test.unknown:old").replace("'failed'", "'completed'"))
    await rowsOf(server, jobRow(engine, "test.unknown:new").replace("'failed'", "'completed'"))
    await rowsOf(server, "insert into job_notes (job_id, owner_id) values ('test.unknown:old', 1)")
    await rowsOf(server, `update effect_queue set updated_at = ${long_ago} where id in ('test.unknown:old', '${id}')`)
    await server.run(Effect.flatMap(ServerContext, ({ jobs }) => jobs.forget(14)))
    expect((await rowsOf(server, "select id from system_jobs order by id")).map((row) => row["id"])).toEqual([
      "test.unknown:new",
      id
    ])
    expect(await rowsOf(server, "select job_id from job_notes")).toEqual([{ job_id: id }])
  })

  // Stays last, as its second job never ends.
  it("can be deleted while queued, and not while running", async () => {
    const waiting = await queueWord(server, kind, "later", { delay_seconds: 3_600, owner_id: 1 })
    expect((await server.ask(path(waiting), { method: "DELETE" })).status).toBe(204)
    expect((await server.ask(path(waiting))).status).toBe(404)
    expect(await rowsOf(server, "select * from job_notes")).toEqual([])
    const endless = await queueWord(server, kind, "endless")
    await expect
      .poll(async () => (await server.ask(path(endless))).body.job.status, { timeout: 20_000 })
      .toBe("running")
    const refused = await server.ask(path(endless), { method: "DELETE" })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["status"]])
  })
})

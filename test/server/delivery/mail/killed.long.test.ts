/** A server killed while the mail server has its message sends it again with the same Message-ID. */
import { afterEach, describe, expect, it, onTestFinished } from "vitest"
import { type Engine, engines } from "../../../app.ts"
import { freshDatabase } from "../../../postgres.ts"
import { cleanUp, folderOfItsOwn, startServer } from "../../process.ts"
import { share } from "../../../share.ts"
import { mailServer, type Taken } from "./smtp.ts"

afterEach(cleanUp)

const token = "owner-token-of-the-tests"

describe.each(share(engines))("a mail whose server is killed while sending it, on %s,", (engine: Engine) => {
  it("is sent again with the same bytes and Message-ID, and its job is done at the second attempt", async () => {
    const seen: Array<Taken> = []
    let first = true
    let died: () => Promise<unknown> = () => Promise.resolve()
    const smtp = await mailServer({
      message: async (taken) => {
        seen.push(taken)
        // The message has arrived, and its sender is killed before the response.
        if (first) {
          first = false
          await died()
        }
        return undefined
      }
    })
    onTestFinished(() => smtp.close())
    const database = engine === "pg" ? await freshDatabase() : undefined
    if (database !== undefined) onTestFinished(() => database.drop())
    const folder = await folderOfItsOwn()
    const env = {
      FLIGHTCASE_DATA: folder,
      FLIGHTCASE_KEY: "a key of more than twenty characters",
      FLIGHTCASE_TOKEN: token,
      FLIGHTCASE_URL: "https://hire.example",
      FLIGHTCASE_SMTP_URL: smtp.url,
      DATABASE_URL: database?.url
    }
    const server = await startServer(env)
    died = () => server.kill("SIGKILL")
    const answer = await fetch(`${server.url}/api/v1/system/mail/test`, {
      method: "POST",
      headers: { "authorization": `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ to: "ann@customer.example" })
    })
    expect(answer.status).toBe(202)
    const { job_id } = (await answer.json()) as { readonly job_id: string }
    await server.ended
    const again = await startServer(env)
    // A job is not taken over while its previous server may still run.
    await expect.poll(() => seen.length, { timeout: 150_000, interval: 250 }).toBe(2)
    expect(seen[0]?.read.messageId).toMatch(/^<[0-9a-f-]{36}@hire\.example>$/)
    expect(seen[1]?.raw.toString("latin1")).toBe(seen[0]?.raw.toString("latin1"))
    await expect
      .poll(
        async () => {
          const shown = await fetch(`${again.url}/api/v1/system/jobs/${encodeURIComponent(job_id)}`, {
            headers: { authorization: `Bearer ${token}` }
          })
          return await shown.json()
        },
        { timeout: 20_000 }
      )
      .toMatchObject({ job: { status: "done", attempts: 2, result: { delivered_to: "smtp" } } })
    expect(seen).toHaveLength(2)
  })
})

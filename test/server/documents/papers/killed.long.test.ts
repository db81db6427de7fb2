/** A server killed while it renders a batch: each document is rendered once. */
import { afterAll, describe, expect, it } from "vitest"
import { call, durable_databases } from "../../killing.ts"
import { cleanUp, type Env, type ServerProcess, startServer } from "../../process.ts"

afterAll(cleanUp)

const count = 60

const drawn = async (server: ServerProcess): Promise<ReadonlyArray<any>> =>
  (await call(server, "GET", "documents?per_page=100&sort=id")).documents

const killedWhileDrawing = async (env: Env, kills: number): Promise<void> => {
  let server = await startServer(env)
  const ids: Array<number> = []
  for (let at = 0; at < count; at++)
    ids.push((await call(server, "POST", "opportunities", { subject: `Job ${at}` })).opportunity.id)
  const asked = await call(server, "POST", "documents/batch_generate", {
    document_type: "quotation",
    documentable_type: "Opportunity",
    documentable_ids: ids
  })
  expect(asked).toMatchObject({ count })
  const addresses = new Map<number, { readonly file_size: number; readonly generated_at: string }>()
  for (let kill = 0; kill < kills; kill++) {
    const enough = ((kill + 1) * count) / (kills + 2)
    for (;;) {
      const rows = await drawn(server)
      for (const row of rows.filter(({ status }) => status === "generated"))
        addresses.set(row.id, { file_size: row.file_size, generated_at: row.generated_at })
      if (rows.filter(({ status }) => status !== "pending").length >= enough) break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await server.kill("SIGKILL")
    server = await startServer(env)
  }
  for (;;) {
    const { job } = await call(server, "GET", `system/jobs/${asked.job_id}`)
    if (job.status === "done" || job.status === "failed") {
      expect(job).toMatchObject({ status: "done", progress: 1 })
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const rows = await drawn(server)
  expect(rows.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => "generated"))
  expect(new Set(rows.map(({ document_number }) => document_number)).size).toBe(count)
  // Documents rendered before a kill are not rendered again.
  for (const row of rows) {
    const before = addresses.get(row.id)
    if (before !== undefined) expect([row.file_size, row.generated_at]).toEqual([before.file_size, before.generated_at])
    const file = await fetch(row.download_url.replace(/^https?:\/\/[^/]+/, server.url))
    expect([file.status, (await file.arrayBuffer()).byteLength]).toEqual([200, row.file_size])
  }
  await server.kill("SIGKILL")
}

describe("a batch whose server is killed", () => {
  // On Postgres another server takes over a killed server's job within a minute.
  it.each(durable_databases)("generates each document once, on %s", { timeout: 600_000 }, (name, on) =>
    on((env) => killedWhileDrawing(env, name === "Postgres" ? 2 : 4))
  )
})

/** A server killed while invoices are issued: all answered ones exist, with numbers from 1 to n. */
import { randomInt } from "node:crypto"
import { afterAll, describe, expect, it } from "vitest"
import { call, durable_databases } from "./killing.ts"
import { cleanUp, type Env, type ServerProcess, startServer } from "./process.ts"

afterAll(cleanUp)

const clients = 16
const kills = 6

/** Issues invoices until the server is killed; records the answered numbers. */
const issuing = async (server: ServerProcess, member_id: number, acknowledged: Map<number, string>): Promise<void> => {
  const items = [{ name: "Heads", unit_price: "10.00" }]
  try {
    for (;;) {
      const { invoice } = await call(server, "POST", "invoices", { member_id, items })
      if (randomInt(3) === 0) await call(server, "POST", `invoices/${invoice.id}/issue`, { due_at: "2000-01-01" })
      const issued = await call(server, "POST", `invoices/${invoice.id}/issue`)
      if (issued.invoice !== undefined) acknowledged.set(invoice.id, issued.invoice.number!)
    }
  } catch {
    // The server was killed.
  }
}
const allOf = async (server: ServerProcess) => {
  const found: Array<{ readonly id: number; readonly number: string }> = []
  for (let page = 1; ; page++) {
    const { invoices } = await call(server, "GET", `invoices?per_page=100&page=${page}&q[status_eq]=issued&sort=number`)
    if (invoices.length === 0) return found
    for (const { id, number } of invoices) found.push({ id, number: number! })
  }
}
const killedWhileIssuing = async (env: Env): Promise<void> => {
  const acknowledged = new Map<number, string>()
  let member_id = 0
  for (let round = 0; round < kills; round++) {
    const server = await startServer(env)
    if (member_id === 0)
      member_id = (await call(server, "POST", "members", { name: "Payer", membership_type: "organisation" })).member.id
    const before = acknowledged.size
    const done = Array.from({ length: clients }, () => issuing(server, member_id, acknowledged))
    while (acknowledged.size < before + 8) await new Promise((resolve) => setTimeout(resolve, 5))
    await server.kill("SIGKILL")
    await Promise.all(done)
  }
  const server = await startServer(env)
  const found = await allOf(server)
  expect(found.map(({ number }) => number)).toEqual(found.map((_, at) => String(at + 1).padStart(10, "0")))
  const kept = new Map(found.map(({ id, number }) => [id, number]))
  expect([...acknowledged].filter(([id, number]) => kept.get(id) !== number)).toEqual([])
  expect(acknowledged.size).toBeGreaterThanOrEqual(kills * 8)
  await server.kill("SIGKILL")
}

describe("a server killed while sixteen people issue invoices", () => {
  it.each(durable_databases)(
    "keeps every answered invoice, with consecutive numbers, on %s",
    { timeout: 300_000 },
    (_name, on) => on(killedWhileIssuing)
  )
})

/**
 * Resident memory of a server: fresh, during 40 s of 16 clients that read, write and have documents drawn, and when
 * it has been idle for long enough that its drawing threads have ended.
 */
import { readFileSync } from "node:fs"
import { type Client, clientOf } from "./processes.ts"
import { type Engine, furnish, onPostgres, onSqlite, served, tokensFor } from "./stage.ts"

const clients = 16
const seconds = 40
const idle_seconds = 75

const megabytesOf = (pid: number): number =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024)
const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** One round of a client: what a counter does in a few minutes. */
const round = async (ask: Client, products: ReadonlyArray<number>, at: number): Promise<void> => {
  const item_id = products[at % products.length]
  await ask("GET", "/api/v1/products?per_page=100")
  await ask("GET", `/api/v1/products/${item_id}`)
  const { member } = await ask("POST", "/api/v1/members", { name: `Member ${at}`, membership_type: "organisation" })
  const { opportunity } = await ask("POST", "/api/v1/opportunities", {
    subject: `Summer Ball ${at}`,
    member_id: member.id,
    starts_at: "2027-07-01T09:00:00Z",
    ends_at: "2027-07-03T18:00:00Z"
  })
  const path = `/api/v1/opportunities/${opportunity.id}`
  for (const quantity of [1, 2, 3])
    await ask("POST", `${path}/items`, { item_id, item_type: "product", name: "Lamp", quantity })
  await ask("GET", path)
  await ask("GET", "/api/v1/opportunities?per_page=50&include[]=items&include[]=member")
  await ask("PUT", path, { subject: `Summer Ball ${at}, indoors` })
  await ask("GET", "/api/v1/members?per_page=50&q[name_cont]=Member")
  if (at % 10 === 0)
    await ask("POST", "/api/v1/documents/generate", {
      document_type: "quotation",
      documentable_type: "Opportunity",
      documentable_id: opportunity.id
    })
}

const measured = (open: () => Promise<Engine>): Promise<void> =>
  served(open, async ({ name }, server, ask) => {
    await pause(5_000)
    const fresh = megabytesOf(server.pid)
    const products = await furnish(ask, 500)
    const asks = (await tokensFor(ask, clients * 8_000)).map((token) => clientOf(server, token))
    const until = performance.now() + seconds * 1_000
    let most = 0
    let rounds = 0
    const watch = setInterval(() => {
      most = Math.max(most, megabytesOf(server.pid))
    }, 100)
    await Promise.all(
      asks.map(async (client) => {
        while (performance.now() < until) await round(client, products, rounds++)
      })
    )
    clearInterval(watch)
    const after = megabytesOf(server.pid)
    await pause(idle_seconds * 1_000)
    console.log(
      `  ${name}: fresh ${fresh} MB; ${most} MB at most, ${after} MB after ${rounds} rounds; ` +
        `${megabytesOf(server.pid)} MB after ${idle_seconds} s without a request`
    )
  })

export const memory = async (): Promise<void> => {
  console.log(`\nMemory of the server under ${clients} clients for ${seconds} s`)
  await measured(onSqlite)
  await measured(onPostgres)
}

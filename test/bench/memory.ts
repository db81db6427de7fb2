/**
 * Resident memory of a server: fresh; after ten minutes (or MEMORY_SECONDS) of 16 clients that read, write and generate
 * documents; after it was idle long enough for its rendering threads to end; and after a minute of the same on a
 * journal of a million events. Both engines run at once, as other load does not affect memory.
 */
import { setTimeout as pause } from "node:timers/promises"
import { readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import pg from "pg"
import { enrolDevice } from "../../sync/device/device.ts"
import { printFigure } from "./measure.ts"
import { type Client, clientOf, owner_token, type Running, startServer, temporaryFolder } from "./processes.ts"
import { type Engine, furnish, onPostgres, onSqlite, tokensFor } from "./stage.ts"

const clients = 16
const seconds = Number(process.env["MEMORY_SECONDS"] ?? 600)
const long_seconds = Math.min(60, seconds)
const idle_seconds = 75
const events = 1_000_000
const goals = { fresh: 150, loaded: 300, long: 350 }

const megabytesOf = (pid: number): number =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024)

/** One round of a client: the work of a counter in a few minutes. */
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

interface Loaded {
  readonly most: number
  readonly after: number
  readonly rounds: number
}
const underLoad = async (server: Running, products: ReadonlyArray<number>, for_seconds: number): Promise<Loaded> => {
  const ask = clientOf(server)
  const asks = (await tokensFor(ask, clients * 8_000)).map((token) => clientOf(server, token))
  const until = performance.now() + for_seconds * 1_000
  let most = 0
  let rounds = 0
  const watch = setInterval(() => {
    most = Math.max(most, megabytesOf(server.pid))
  }, 100)
  try {
    await Promise.all(
      asks.map(async (client) => {
        while (performance.now() < until) await round(client, products, rounds++)
      })
    )
  } finally {
    clearInterval(watch)
  }
  return { most, after: megabytesOf(server.pid), rounds }
}

interface Sized extends Engine {
  /** Runs statements while no server is running. */
  readonly run: (statements: (head: number) => ReadonlyArray<string>) => Promise<void>
}
const head = "select position from journal_head where id = 1"
const onSizedPostgres = async (): Promise<Sized> => {
  const engine = await onPostgres()
  return {
    ...engine,
    run: async (statements) => {
      const client = new pg.Client(engine.url)
      await client.connect()
      const { rows } = await client.query<{ position: string }>(head)
      for (const one of statements(Number(rows[0]!.position))) await client.query(one)
      await client.query("vacuum analyze journal")
      await client.end()
    }
  }
}
const onSizedFile = async (): Promise<Sized> => {
  const engine = await onSqlite()
  return {
    ...engine,
    run: async (statements) => {
      const db = new DatabaseSync(engine.path)
      for (const one of statements(Number(db.prepare(head).get()!["position"]))) db.exec(one)
      db.exec("analyze journal")
      db.close()
    }
  }
}
/** Statements that double the journal until it has a million events, each copy under its own streams and commands. */
const copies = (position: number): ReadonlyArray<string> => {
  const statements: Array<string> = []
  const columns = "stream, command_id, version, type, data, actor_id, replica_id, recorded_at"
  let length = position
  while (length < events) {
    const own = columns.replace("stream, command_id", `stream || '-${length}', command_id || '-${length}'`)
    const count = Math.min(length, events - length)
    statements.push(
      `insert into journal (position, ${columns}) select position + ${length}, ${own} from journal where position <= ${count}`
    )
    length += count
  }
  return [...statements, `update journal_head set position = ${length} where id = 1`]
}

const fromFresh = async (engine: Engine): Promise<ReadonlyArray<number>> => {
  const title = `memory, ${engine.name}`
  const server = await startServer(engine.environment)
  try {
    await pause(5_000)
    const fresh = megabytesOf(server.pid)
    const products = await furnish(clientOf(server), 500)
    const { after, most, rounds } = await underLoad(server, products, seconds)
    await pause(idle_seconds * 1_000)
    const idle = megabytesOf(server.pid)
    printFigure(`${title}: fresh`, [fresh], { unit: "MB", goal: goals.fresh })
    printFigure(`${title}: after ${seconds} s of ${clients} clients`, [after], { unit: "MB", goal: goals.loaded })
    console.log(`    ${rounds} rounds, ${most} MB at most; ${idle} MB after ${idle_seconds} s without a request`)
    return products
  } finally {
    await server.stop()
  }
}
const atLength = async (engine: Engine, products: ReadonlyArray<number>): Promise<void> => {
  const server = await startServer(engine.environment)
  try {
    await pause(5_000)
    const started = megabytesOf(server.pid)
    const enrolling = enrolDevice(join(temporaryFolder(), "default"), {
      name: "default",
      url: server.url,
      token: owner_token,
      device: "bench"
    }).then((device) => device.close())
    const [{ after, most }] = await Promise.all([underLoad(server, products, long_seconds), enrolling])
    const title = `memory, ${engine.name}: ${events.toLocaleString("en")} events, after ${long_seconds} s of ${clients} clients and a device's fill`
    printFigure(title, [after], { unit: "MB", goal: goals.long })
    console.log(`    ${started} MB after the start, ${most} MB at most`)
  } finally {
    await server.stop()
  }
}

const measured = async (open: () => Promise<Sized>): Promise<void> => {
  const engine = await open()
  try {
    const products = await fromFresh(engine)
    await engine.run(copies)
    await atLength(engine, products)
  } finally {
    await engine.stop()
  }
}

export const memory = async (): Promise<void> => {
  await Promise.all([measured(onSizedFile), measured(onSizedPostgres)])
}

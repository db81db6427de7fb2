/**
 * The bare peer in its own process: `node:http` and the driver, one prepared statement, JSON. It has no token, checks
 * or rules, and writes one journal row per change.
 */
import { createServer, type ServerResponse } from "node:http"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"

export type Peer =
  | { readonly engine: "pg"; readonly url: string; readonly select: string; readonly write: string }
  | {
      readonly engine: "sqlite"
      readonly path: string
      readonly select: string
      readonly writes: readonly [string, string]
    }
interface Bare {
  readonly read: (id: number) => Promise<object> | object
  readonly write: (id: number, name: string) => Promise<void> | void
}

const overPg = ({ url, select, write }: Peer & { engine: "pg" }): Bare => {
  // Returns times as the received text, which is cheapest.
  const types: pg.CustomTypesConfig = {
    getTypeParser: (oid, format) => (oid === 1184 ? (text: string) => text : pg.types.getTypeParser(oid, format))
  }
  const pool = new pg.Pool({ connectionString: url, max: 10, types })
  return {
    read: async (id) => (await pool.query({ name: "read", text: select, values: [id] })).rows[0],
    write: async (id, name) => {
      await pool.query({ name: "write", text: write, values: [id, name] })
    }
  }
}
const overSqlite = ({ path, select, writes }: Peer & { engine: "sqlite" }): Bare => {
  const db = new DatabaseSync(path, { timeout: 10_000 })
  db.exec("pragma journal_mode = wal; pragma synchronous = full")
  const read = db.prepare(select)
  const [update, insert] = writes.map((sql) => db.prepare(sql))
  return {
    read: (id) => read.get(id)!,
    write: (id, name) => {
      db.exec("begin immediate")
      update!.run(name, id)
      insert!.run(id, name)
      db.exec("commit")
    }
  }
}

const serve = (bare: Bare): void => {
  const answer = (response: ServerResponse, body: object): void => {
    const text = JSON.stringify(body)
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
    response.end(text)
  }
  const server = createServer(async (request, response) => {
    try {
      const id = Number(request.url!.slice(request.url!.lastIndexOf("/") + 1))
      if (request.method === "GET") return answer(response, { product: await bare.read(id) })
      let body = ""
      for await (const part of request) body += part
      await bare.write(id, JSON.parse(body).name)
      answer(response, {})
    } catch (cause) {
      response.writeHead(500, { "content-length": 0 })
      response.end()
      console.error(cause)
    }
  })
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    process.send!({ port: typeof address === "object" && address !== null ? address.port : 0 })
  })
}
process.once("message", (peer: Peer) => serve(peer.engine === "pg" ? overPg(peer) : overSqlite(peer)))

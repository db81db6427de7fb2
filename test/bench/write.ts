/**
 * One durable change over HTTP: the server's `PUT` of a name against one bare statement that updates a row and inserts
 * another.
 */
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import pg from "pg"
import { loadSide } from "./http.ts"
import { inTurns, print, type Side, timed } from "./measure.ts"
import { clientOf, type Running, startLoad, startPeer, temporaryFolder } from "./processes.ts"
import { furnish, onPostgres, onSqlite, served, tokensFor } from "./stage.ts"

const rounds = 9
/** Code runs at full speed only after thousands of requests, as in a server that has run for a day. */
const warming = 16
const writes = 250
const body = `{"name":"Renamed #"}`

const compare = async (
  title: string,
  server: Running,
  peer: Running,
  peer_name: string,
  direct: Side
): Promise<void> => {
  const ask = clientOf(server)
  const { products } = await ask("GET", "/api/v1/products?per_page=100")
  const ids: ReadonlyArray<number> = products.map((product) => product.id)
  const tokens = await tokensFor(ask, 2 * (warming + rounds) * writes)
  const load = startLoad()
  try {
    for (const connections of [1, 8]) {
      const side = (name: string, running: Running, path: string): Side =>
        loadSide(name, running, load, {
          method: "PUT",
          paths: ids.map((id) => `${path}/${id}`),
          tokens,
          connections,
          count: writes,
          body
        })
      const sides = [
        side("flightcase", server, "/api/v1/products"),
        side(peer_name, peer, "/products"),
        ...(connections === 1 ? [direct] : [])
      ]
      print(
        `${title}: PUT of a name, each durable, ${connections} at a time, ${writes} a round`,
        await inTurns(sides, rounds, warming),
        connections === 1 ? { unit: "changes", as: "duration" } : { unit: "changes", as: "rate" }
      )
    }
  } finally {
    await load.stop()
  }
}

const onPg = (): Promise<void> =>
  served(onPostgres, async (engine, server, ask) => {
    await furnish(ask, 200)
    const client = new pg.Client(engine.url)
    await client.connect()
    await client.query("create table bare_products (like products including all)")
    await client.query("insert into bare_products select * from products")
    await client.query(
      "create table bare_journal (id bigint generated always as identity primary key, product_id bigint not null, data jsonb not null, recorded_at timestamptz not null)"
    )
    const write = `with changed as (update bare_products set name = $2, name_folded = lower($2), updated_at = now() where id = $1 returning id)
    insert into bare_journal (product_id, data, recorded_at) select id, jsonb_build_object('id', id, 'name', $2::text), now() from changed`
    const { rows } = await client.query<{ id: string }>("select id from bare_products order by id limit 100")
    let at = 0
    const direct = timed("pg alone, no HTTP", writes, () =>
      client.query({ name: "write", text: write, values: [rows[at % rows.length]!.id, `Renamed ${at++}`] })
    )
    const peer = await startPeer({ engine: "pg", url: engine.url, select: "select 1 where $1 = $1", write })
    try {
      await compare("write, Postgres (fsync on)", server, peer, "node:http + pg", direct)
    } finally {
      await peer.stop()
      await client.end()
    }
  })

const onFile = (): Promise<void> =>
  served(onSqlite, async (engine, server, ask) => {
    await furnish(ask, 200)
    const path = join(temporaryFolder(), "bare.sqlite")
    const db = new DatabaseSync(path)
    db.exec(`pragma journal_mode = wal; pragma synchronous = full; attach '${engine.path}' as ours`)
    const { sql } = db.prepare("select sql from ours.sqlite_master where name = 'products'").get() as {
      readonly sql: string
    }
    db.exec(sql)
    for (const index of db
      .prepare("select sql from ours.sqlite_master where type = 'index' and tbl_name = 'products' and sql is not null")
      .all())
      db.exec(String(index["sql"]))
    db.exec(
      "insert into products select * from ours.products; create table journal (id integer primary key, product_id integer not null, data text not null, recorded_at text not null); detach ours"
    )
    const change = "update products set name = ?1, name_folded = lower(?1), updated_at = datetime() where id = ?2"
    const add =
      "insert into journal (product_id, data, recorded_at) values (?1, json_object('id', ?1, 'name', ?2), datetime())"
    const [update, insert] = [db.prepare(change), db.prepare(add)]
    const ids = db
      .prepare("select id from products order by id limit 100")
      .all()
      .map(({ id }) => Number(id))
    let at = 0
    const direct = timed("node:sqlite alone, no HTTP", writes, async () => {
      db.exec("begin immediate")
      update.run(`Renamed ${at}`, ids[at % ids.length]!)
      insert.run(ids[at % ids.length]!, `Renamed ${at++}`)
      db.exec("commit")
    })
    const peer = await startPeer({
      engine: "sqlite",
      path,
      select: "select * from products where id = ?",
      writes: [change, add]
    })
    try {
      await compare("write, SQLite (synchronous=full)", server, peer, "node:http + node:sqlite", direct)
    } finally {
      await peer.stop()
      db.close()
    }
  })

export const write = async (): Promise<void> => {
  await onPg()
  await onFile()
}

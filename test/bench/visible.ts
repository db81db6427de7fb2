/**
 * Time until a change is visible on another device that runs `flightcase sync --watch`: from the request's first byte
 * until the row is in the other replica's file, against a durable write and a read over bare `node:http`.
 */
import { once } from "node:events"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type Device, enrolDevice, openDevice } from "../../sync/device/device.ts"
import { inTurns, print, type Side } from "./measure.ts"
import { type Client, owner_token, type Running, startCommandLine, startLoad } from "./processes.ts"
import { startPeer, temporaryFolder } from "./processes.ts"
import { type Engine, furnish, onPostgres, onSqlite, served, tokensFor } from "./stage.ts"

const rounds = 9
const commits = 4
/** Changes that come first: only then is the code compiled, as that of a server is that devices follow. */
const warming = 6_000
const patience_millis = 20_000

interface Watched {
  readonly profile: string
  readonly stop: () => Promise<void>
}
/** A device on which the command line follows the server in its own process. */
const watched = async (name: string, server: Running): Promise<Watched> => {
  const home = temporaryFolder()
  const profile = join(home, "profiles", "default")
  await (await enrolDevice(profile, { name: "default", url: server.url, token: owner_token, device: name })).close()
  const { child, stop } = startCommandLine(home, ["sync", "--watch", "--json"])
  await once(child.stdout!, "data")
  child.stdout!.resume()
  return { profile, stop }
}

/** Resolves when the product has this name in the replica's file, checked about every millisecond. */
const looking = (profile: string) => {
  const db = new DatabaseSync(join(profile, "replica.sqlite"), { readOnly: true })
  const select = db.prepare("select name from products where id = ?")
  return {
    until: async (id: number, name: string): Promise<void> => {
      const given_up = performance.now() + patience_millis
      while (select.get(id)?.["name"] !== name) {
        if (performance.now() > given_up)
          throw new Error(`${name} was not seen on the other device within ${patience_millis} ms`)
        await new Promise((resume) => setTimeout(resume, 1))
      }
    },
    close: () => db.close()
  }
}

let named = 0
const timed = (name: string, one: (name: string) => Promise<void>): Side => ({
  name,
  round: async () => {
    let seconds = 0
    for (let at = 0; at < commits; at++) {
      const started = performance.now()
      await one(`Named ${++named}`)
      seconds += (performance.now() - started) / 1000
      // Users act one after another, so that work after a commit does not delay the next.
      await new Promise((resume) => setTimeout(resume, 60 + Math.random() * 120))
    }
    return { seconds: seconds / commits, count: 1 }
  }
})

const bare = (peer: Running): Side =>
  timed("node:http + node:sqlite, a durable write, then a read", async (name) => {
    await fetch(`${peer.url}/products/1`, { method: "PUT", body: JSON.stringify({ name }) }).then((answer) =>
      answer.text()
    )
    await fetch(`${peer.url}/products/1`).then((answer) => answer.text())
  })
const barePeer = (): Promise<Running> => {
  const path = join(temporaryFolder(), "bare.sqlite")
  const db = new DatabaseSync(path)
  db.exec(
    "pragma journal_mode = wal; create table products (id integer primary key, name text not null); insert into products values (1, 'One'); create table journal (id integer primary key, product_id integer, name text)"
  )
  db.close()
  return startPeer({
    engine: "sqlite",
    path,
    select: "select * from products where id = ?",
    writes: ["update products set name = ?1 where id = ?2", "insert into journal (product_id, name) values (?1, ?2)"]
  })
}

const warmed = async (running: Running, path: string, tokens: ReadonlyArray<string>): Promise<void> => {
  const load = startLoad()
  const changes = { method: "PUT", paths: [path], body: `{"name":"Warm #"}`, connections: 1, count: warming } as const
  try {
    await load.drive({ host: "127.0.0.1", port: running.port, tokens, ...changes })
  } finally {
    await load.stop()
  }
}

const over = <E extends Engine>(open: () => Promise<E>): Promise<void> =>
  served(open, async (engine, server, ask: Client) => {
    const id = (await furnish(ask, 50))[0]!
    const [ada, ben, peer] = [await watched("Ada", server), await watched("Ben", server), await barePeer()]
    const there = looking(ben.profile)
    const here: Device = await openDevice(ada.profile)
    try {
      const put = async (name: string): Promise<void> => {
        await ask("PUT", `/api/v1/products/${id}`, { name })
      }
      const tokens = await tokensFor(ask, warming)
      await warmed(server, `/api/v1/products/${id}`, tokens)
      await warmed(peer, "/products/1", tokens)
      await put("Warmed")
      await there.until(id, "Warmed")
      const title = `commit to visible, ${engine.name}; the other device runs sync --watch`
      print(
        `${title}: a change made at the server`,
        await inTurns(
          [
            timed("sent, committed, in the other replica", async (name) => {
              await put(name)
              await there.until(id, name)
            }),
            timed("sent and committed alone", put),
            bare(peer)
          ],
          rounds
        ),
        { unit: "commits", as: "duration" }
      )
      print(
        `${title}: a change recorded on a device that runs it, too`,
        await inTurns(
          [
            timed("recorded here, sent, decided, in the other replica", async (name) => {
              const { status } = await here.ask({
                method: "PUT",
                path: `/api/v1/products/${id}`,
                query: [],
                body: { name }
              })
              if (status !== 200) throw new Error(`the device answered ${status}`)
              await there.until(id, name)
            }),
            bare(peer)
          ],
          rounds
        ),
        { unit: "commits", as: "duration" }
      )
    } finally {
      there.close()
      await here.close()
      for (const one of [ada, ben, peer]) await one.stop()
    }
  })

export const visible = async (): Promise<void> => {
  await over(onPostgres)
  await over(onSqlite)
}

/** Durable jobs, each queued in its own transaction, and executed, against a bare insert and delete of the same row. */
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import pg from "pg"
import { Store } from "../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp, type ServerOptions } from "../../server/host/app.ts"
import { jobKind, jobOffer, ServerContext } from "../../server/ports/server-context.ts"
import { inTurns, print, type Side, timed } from "./measure.ts"
import { temporaryFolder } from "./processes.ts"
import { onPostgres, onSqlite } from "./stage.ts"

const jobs_a_round = 250
const rounds = 7
const at_a_time = 4
const element = JSON.stringify({ data: { word: "w" } })

/** Handwritten statements on the engine, each durable by itself. */
interface Bare {
  readonly insert: (id: string) => Promise<void>
  readonly remove: (id: string) => Promise<void>
}

const compare = async (title: string, database: ServerOptions["database"], bare: Bare): Promise<void> => {
  let [first_millis, done] = [0, 0]
  const kind = jobKind({
    kind: "bench.word",
    meaning: "does nothing",
    data: Schema.Struct({ word: Schema.String }),
    attempts_max: 3,
    waits_seconds: [1],
    at_a_time,
    run: () =>
      Effect.sync(() => {
        if (done++ === 0) first_millis = performance.now()
      })
  })
  const app = await openServerApp({
    database,
    key: "a key of more than twenty characters",
    slices: [{ name: "bench", jobs: [kind] }]
  })
  const run = (text: string) => app.run(Effect.flatMap(Store, (store) => store.run<{ n: number }>(text)))
  let [offered, inserted] = [0, 0]
  const offer = () => {
    const subject = String(offered++)
    return Effect.flatMap(Store, (store) =>
      store.transaction(
        Effect.flatMap(ServerContext, ({ jobs }) =>
          jobs.offer(jobOffer(kind, { word: "w" }, { subject, delay_seconds: 86_400 }))
        )
      )
    )
  }
  const offering: Side = {
    name: "offered, one a transaction",
    round: async () => {
      const started = performance.now()
      await app.run(Effect.forEach(Array.from({ length: jobs_a_round }), offer, { discard: true }))
      return { seconds: (performance.now() - started) / 1_000, count: jobs_a_round }
    }
  }
  const inserting = timed("inserted by hand", jobs_a_round, () => bare.insert(`bench.word:${inserted++}`))
  let removed = 0
  const taking: Side = {
    name: `taken and done, ${at_a_time} at a time`,
    round: async () => {
      done = 0
      await run(
        `update effect_queue set visible_at = created_at where sequence in (select sequence from effect_queue ` +
          `where queue_name = 'bench.word' and state = 'pending' order by sequence limit ${jobs_a_round})`
      )
      for (;;) {
        const [left] = await run(
          "select count(*) as n from effect_queue where queue_name = 'bench.word' and state = 'pending' and visible_at = created_at"
        )
        if (Number(left?.n) === 0) break
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      return { seconds: (performance.now() - first_millis) / 1_000, count: done }
    }
  }
  const removing = timed("deleted by hand", jobs_a_round, () => bare.remove(`bench.word:${removed++}`))
  try {
    print(`jobs, ${title}: ${jobs_a_round} a round`, await inTurns([offering, inserting], rounds), {
      unit: "jobs",
      as: "rate"
    })
    print(`jobs, ${title}: ${jobs_a_round} a round`, await inTurns([taking, removing], rounds - 1), {
      unit: "jobs",
      as: "rate"
    })
    await idle(app)
  } finally {
    await app.close()
  }
}

/** Prints Postgres' count of transactions per second of an idle server whose one kind of job was used. */
const idle = async (app: ServerApp): Promise<void> => {
  const seconds = 20
  const count = () =>
    app.run(
      Effect.flatMap(Store, (store) =>
        store.dialect === "sqlite"
          ? Effect.succeed(undefined)
          : Effect.map(
              store.run<{ n: number }>(
                "select xact_commit as n from pg_stat_database where datname = current_database()"
              ),
              ([row]) => Number(row?.n)
            )
      )
    )
  if ((await count()) === undefined) return
  // A connection reports its statistics after at most ten idle seconds.
  await new Promise((resolve) => setTimeout(resolve, 12_000))
  const before = (await count()) ?? 0
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  console.log(`  idle: ${(((await count()) ?? 0) - before) / seconds} transactions a second`)
}

const row = "(id, queue_name, element, state, attempts, visible_at, created_at, updated_at)"
const columns = (time: string, big: string): string =>
  `sequence ${big}, id varchar(255) not null, queue_name varchar(255) not null, element text not null, ` +
  `state varchar(10) not null, attempts integer not null, visible_at ${time} not null, created_at ${time} not null, ` +
  `updated_at ${time} not null`

const onFile = async (): Promise<void> => {
  const engine = await onSqlite()
  const db = new DatabaseSync(join(temporaryFolder(), "bare.sqlite"))
  db.exec("pragma journal_mode = wal; pragma synchronous = full")
  db.exec(`create table bare (${columns("text", "integer primary key autoincrement")})`)
  db.exec("create unique index bare_id on bare (id, queue_name)")
  const insert = db.prepare(
    `insert into bare ${row} values (?, 'bench.word', ?, 'pending', 0, current_timestamp, current_timestamp, current_timestamp)`
  )
  const remove = db.prepare("delete from bare where id = ? and queue_name = 'bench.word'")
  try {
    await compare(
      "SQLite",
      { kind: "sqlite", path: engine.path },
      { insert: async (id) => void insert.run(id, element), remove: async (id) => void remove.run(id) }
    )
  } finally {
    db.close()
    await engine.stop()
  }
}

const onPg = async (): Promise<void> => {
  const engine = await onPostgres()
  const client = new pg.Client(engine.url)
  await client.connect()
  await client.query(`create table bare (${columns("timestamp", "bigserial primary key")})`)
  await client.query("create unique index bare_id on bare (id, queue_name)")
  const insert = `insert into bare ${row} values ($1, 'bench.word', $2, 'pending', 0, now(), now(), now())`
  try {
    await compare(
      "Postgres (fsync on)",
      { kind: "pg", url: engine.url, connections_max: 10 },
      {
        insert: async (id) => void (await client.query({ name: "insert", text: insert, values: [id, element] })),
        remove: async (id) =>
          void (await client.query({
            name: "remove",
            text: "delete from bare where id = $1 and queue_name = 'bench.word'",
            values: [id]
          }))
      }
    )
  } finally {
    await client.end()
    await engine.stop()
  }
}

export const jobs = async (): Promise<void> => {
  await onFile()
  await onPg()
}

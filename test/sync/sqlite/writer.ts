// A process that writes: node writer.ts <file> <name> <transactions>. Every transaction reads the counter, writes an
// entry with it, and increments it.
import * as Effect from "effect/Effect"
import * as Sqlite from "../../../sync/sqlite/client.ts"

const [path = "", writer = "", transactions = ""] = process.argv.slice(2)

const program = Effect.gen(function* () {
  const sql = yield* Sqlite.make({ path })
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`create table if not exists tally (id integer primary key, n integer not null)`
      yield* sql`create table if not exists entry (tally integer primary key, writer text not null)`
      yield* sql`insert into tally ${sql.insert({ id: 1, n: 0 })} on conflict do nothing`
    })
  )
  const write = sql.withTransaction(
    Effect.gen(function* () {
      const [row] = yield* sql<{ n: number }>`select n from tally`
      const seen = row?.n ?? NaN
      yield* sql`insert into entry ${sql.insert({ tally: seen, writer })}`
      yield* sql`update tally set n = ${seen + 1}`
    })
  )
  for (let i = 0; i < Number(transactions); i++) yield* write
})

await Effect.runPromise(Effect.scoped(program))

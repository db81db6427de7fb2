/** Transactions that share a commit: each is its own savepoint, and none ends before the commit is on disk. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync, StatementSync } from "node:sqlite"
import { Data, Effect, Exit, ManagedRuntime } from "effect"
import { SqlClient } from "effect/sql"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { layer } from "../../../sync/sqlite/client.ts"
import { endSharedCommit, SharedCommit, sharedCommits } from "../../../sync/sqlite/shared-commits.ts"

class Refused extends Data.TaggedError("Refused") {}
let folder: string, other: DatabaseSync
let runtime: ManagedRuntime.ManagedRuntime<SqlClient.SqlClient, unknown>
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "flightcase-shared-"))
  runtime = ManagedRuntime.make(layer({ path: join(folder, "a.sqlite"), busy_timeout_ms: 50, share: sharedCommits }))
  await run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`create table notes (id integer primary key, note text)`))
  other = new DatabaseSync(join(folder, "a.sqlite"))
})
afterEach(async () => {
  vi.restoreAllMocks()
  other.close()
  await runtime.dispose()
  rmSync(folder, { recursive: true, force: true })
})
const run = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => runtime.runPromise(effect)
/** Rows another connection sees, which are only committed ones. */
const committed = () =>
  other
    .prepare("select id from notes order by id")
    .all()
    .map(({ id }) => id)
type Work = Effect.Effect<unknown, unknown, SqlClient.SqlClient>
const noted = (id: number, then: Work = Effect.void, is_shared = true) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.withTransaction(Effect.andThen(sql`insert into notes values (${id}, 'x')`, then))
  ).pipe(Effect.provideService(SharedCommit, is_shared), Effect.exit)
/** Number of commits sent during the work. */
const commitsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const all = vi.spyOn(StatementSync.prototype, "all")
  await work()
  return all.mock.contexts.filter((statement) => (statement as StatementSync).sourceSQL === "COMMIT").length
}

describe("transactions that share a commit", () => {
  it("share one commit if they arrive together", async () => {
    expect(await commitsOf(() => Promise.all([1, 2, 3, 4].map((id) => run(noted(id)))))).toBe(1)
    expect(committed()).toEqual([1, 2, 3, 4])
  })
  it("are only those opened as shared: others have a commit each", async () => {
    expect(await commitsOf(() => Promise.all([1, 2, 3].map((id) => run(noted(id, Effect.void, false)))))).toBe(3)
  })
  it("answer only once their commit is on disk", async () => {
    const ended = [1, 2, 3].map((id) => run(noted(id)).then(() => committed().length))
    expect(await Promise.all(ended)).toEqual([3, 3, 3])
  })
  it("are rolled back individually when refused", async () => {
    const all = [noted(1), noted(2, Effect.fail(new Refused())), noted(3), noted(4, Effect.die("broken")), noted(5)]
    const exits = await Promise.all(all.map((one) => run(one)))
    expect(exits.map(Exit.isSuccess)).toEqual([true, false, true, false, true])
    expect(committed()).toEqual([1, 3, 5])
  })
  it("run one at a time, and their commit waits for a slow one", async () => {
    const running: Array<string> = []
    const slow = (name: string) =>
      Effect.gen(function* () {
        running.push(`${name} begins`)
        yield* Effect.sleep(10)
        running.push(`${name} ends`)
      })
    await Promise.all([run(noted(1, slow("a"))), run(noted(2, slow("b"))), run(noted(3))])
    expect(running).toEqual(["a begins", "a ends", "b begins", "b ends"])
    expect(committed()).toEqual([1, 2, 3])
  })
  it("are invisible to readers until the commit", async () => {
    const seen: Array<number> = []
    const read = Effect.flatMap(SqlClient.SqlClient, (sql) => sql<{ n: number }>`select count(*) as n from notes`)
    await Promise.all([
      run(noted(1, Effect.sleep(5))),
      run(Effect.map(read, ([row]) => seen.push(row!.n))),
      run(noted(2, Effect.fail(new Refused())))
    ])
    expect(seen).toEqual([1])
  })
  it("all fail if the commit fails, refused ones as well, and later ones succeed", async () => {
    const failing = noted(
      2,
      Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.andThen(sql`insert into parts values (1, 99)`, Effect.void))
    )
    await run(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.andThen(
          sql`create table parts (id integer primary key, note_id integer references notes deferrable initially deferred)`,
          Effect.void
        )
      )
    )
    const exits = await Promise.all([noted(1), failing, noted(3, Effect.fail(new Refused()))].map((one) => run(one)))
    expect(exits.map(Exit.isFailure)).toEqual([true, true, true])
    expect(exits.map((exit) => JSON.stringify(exit).includes("Refused"))).toEqual([false, false, false])
    expect(committed()).toEqual([])
    await run(noted(4))
    expect(committed()).toEqual([4])
  })
  it("all fail if SQLite rolls everything back, and none commits alone", async () => {
    const full = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`insert or rollback into notes values (1, 'again')`)
    const exits = await Promise.all([noted(1), noted(2, full), noted(3)].map((one) => run(one)))
    expect(exits.map(Exit.isFailure)).toEqual([true, true, true])
    expect(committed()).toEqual([])
    await run(noted(4))
    expect(committed()).toEqual([4])
  })
  it("fail together while another process holds the file", async () => {
    other.exec("begin immediate")
    const exits = await Promise.all([noted(1), noted(2)].map((one) => run(one)))
    other.exec("rollback")
    expect(exits.map((exit) => JSON.stringify(exit).includes("LockTimeoutError"))).toEqual([true, true])
    await run(noted(3))
    expect(committed()).toEqual([3])
  })
  it("make later transactions wait for a shared commit that one of them has closed", async () => {
    const first = run(noted(1, Effect.andThen(Effect.sleep(5), endSharedCommit)))
    const second = run(noted(2))
    const seen = Effect.sync(() => expect(committed()).toEqual([1]))
    const third = run(noted(3, seen))
    await Promise.all([first, second])
    expect(Exit.isSuccess(await third)).toBe(true)
    expect(committed()).toEqual([1, 2, 3])
  })
  it("accept no further transaction once one of them closes the shared commit", async () => {
    const first = run(noted(1, endSharedCommit))
    const seen = run(
      noted(
        2,
        Effect.sync(() => expect(committed()).toEqual([1]))
      )
    )
    expect(Exit.isSuccess(await first) && Exit.isSuccess(await seen)).toBe(true)
  })
  it("run their after-commit callback once for each that was not refused", async () => {
    const after: Array<number> = []
    const following = (id: number) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql.afterCommit(Effect.sync(() => after.push(committed().length * 10 + id)))
      )
    await Promise.all([
      run(noted(1, following(1))),
      run(noted(2, Effect.andThen(following(2), Effect.fail(new Refused())))),
      run(noted(3, following(3)))
    ])
    expect(after).toEqual([21, 23])
  })
})

/** Staged rows replace the current ones: copied if few, by renaming their table if many. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { catalogue } from "../../../../core/catalogue.ts"
import { ensureSchema } from "../../../../core/kernel/runtime/schema.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { beginFill, currentFill, stagePage, swapTables } from "../../../../sync/device/replica/fill.ts"
import { ensureLocalTables } from "../../../../sync/device/outbox/replica-tables.ts"
import { layer } from "../../../../sync/sqlite/client.ts"

const emails = catalogue.table("emails")

describe("the rows of a fill", () => {
  let folder: string, runtime: ManagedRuntime.ManagedRuntime<Store, unknown>
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-swap-"))
    runtime = ManagedRuntime.make(Layer.provide(Store.layer, layer({ path: join(folder, "replica.sqlite") })))
    await runtime.runPromise(Effect.andThen(ensureLocalTables, ensureSchema(catalogue, "replica")))
  })
  afterEach(async () => {
    await runtime.dispose()
    rmSync(folder, { recursive: true, force: true })
  })
  const run = <A>(text: string): Promise<ReadonlyArray<A>> =>
    runtime.runPromise(Effect.flatMap(Store, (store) => store.run<A & object>(text)))
  const at = "2026-06-18T12:00:00.000Z"
  const row = { member_id: 1, type_id: null, is_primary: true, created_at: at, updated_at: at, deleted_at: null }
  const fill = (...names: ReadonlyArray<string>): Promise<void> =>
    runtime.runPromise(
      Effect.gen(function* () {
        const store = yield* Store
        const plan = { handle: "h", position: 1, offset: "0", rows: names.length, last_n: 0, decided: [], leases: [] }
        yield* beginFill(plan)
        const requested = (yield* currentFill(store))!
        const rows = names.map((address, index) => Object.values({ id: index + 1, address, ...row }))
        const page = {
          ...{ position: 1, offset: "0", events: [], next: null },
          sections: [{ table: emails.name, columns: ["id", "address", ...Object.keys(row)], rows, done: true }]
        }
        yield* store.transaction(
          Effect.gen(function* () {
            const staged = yield* stagePage(catalogue, { replica_id: 1, pending: [], requested, page })
            yield* swapTables(catalogue, staged!)
          })
        )
        yield* store.run("pragma wal_checkpoint(truncate)")
      })
    )
  const addresses = async (): Promise<ReadonlyArray<string>> =>
    (await run<{ address: string }>("select address from emails order by id")).map(({ address }) => address)
  const found = async (part: string): Promise<number> =>
    (await run(`select 1 from emails_search where emails_search match '${part}'`)).length
  /** Indexes keep their names. */
  const schema = async (): Promise<ReadonlyArray<string>> =>
    (await run<{ sql: string | null }>("select sql from sqlite_master"))
      .map(({ sql }) => String(sql).replaceAll(/fill\d+_/g, ""))
      .sort()
  const filesHold = (text: string): boolean =>
    readdirSync(folder).some((file) => readFileSync(join(folder, file)).includes(text))
  const many = Array.from({ length: 2_001 }, (_, index) => `group${index}@example.com`)

  it.each([
    ["few", ["lamps@example.com", "cables@example.com"], ["sound@example.com"]],
    ["many after few", ["lamps@example.com"], many],
    ["few after many", many, ["lamps@example.com"]]
  ])("replace those in use, and keep tables, indexes and triggers as declared: %s", async (_, before, after) => {
    const declared = await schema()
    await fill(...before)
    await fill(...after)
    expect(await addresses()).toEqual(after)
    expect(await found("example")).toBe(after.length)
    expect(await found(before[0]!.slice(0, 5))).toBe(
      after.filter((address) => address.includes(before[0]!.slice(0, 5))).length
    )
    expect(await schema()).toEqual(declared)
  })
  it("leave no byte of the rows they replace in any file", async () => {
    await fill("quuxington@example.com")
    expect(filesHold("quuxington")).toBe(true)
    await fill("somebody@example.com")
    expect(filesHold("quuxington")).toBe(false)
  })
  it("replace a table with other columns", async () => {
    const declared = await schema()
    await run("drop table emails")
    await run("create table emails (id integer primary key, mailbox text)")
    await run("insert into emails values (7, 'old')")
    await fill("lamps@example.com")
    expect(await addresses()).toEqual(["lamps@example.com"])
    expect(await schema()).toEqual(declared)
  })
})

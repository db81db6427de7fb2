/** Final checks of an evening: every command has one outcome, equal for everybody. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { isDeepStrictEqual } from "node:util"
import { Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { demands } from "../../core/orders/demands/schema.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { layer as postgresLayer } from "../../server/pg/client.ts"
import { replica_verdicts } from "../../sync/server/tables.ts"
import { layer as sqliteLayer } from "../../sync/sqlite/client.ts"

interface Kept {
  readonly n: number
  readonly id: string
  readonly state: string
  readonly merged: boolean
}
/**
 * All commands a device acknowledged, read from its file; writable, as a killed process may leave it to be recovered.
 */
export const outboxOf = (profile: string): ReadonlyArray<Kept> => {
  const db = new DatabaseSync(join(profile, "outbox.sqlite"), { timeout: 10_000 })
  try {
    return db
      .prepare("select n, id, state, account from commands order by n")
      .all()
      .map((row) => ({
        n: Number(row["n"]),
        id: String(row["id"]),
        state: String(row["state"]),
        merged: String(row["account"] ?? "").includes('"merged"')
      }))
  } finally {
    db.close()
  }
}
/** Number of commands recorded so far. */
export const recordedIn = (profile: string): number => {
  const db = new DatabaseSync(join(profile, "outbox.sqlite"), { timeout: 10_000 })
  try {
    return Number(db.prepare("select coalesce(max(n), 0) as n from commands").get()!["n"])
  } finally {
    db.close()
  }
}

type Tables = { readonly [table: string]: ReadonlyArray<unknown> }
interface Stand {
  readonly tables: Tables
  /** Journal parts shared by all replicas: everything but verdicts. */
  readonly events: ReadonlyArray<unknown>
}
const standOf = Effect.gen(function* () {
  const store = yield* Store
  const tables: { [table: string]: ReadonlyArray<unknown> } = {}
  for (const table of catalogue.tables) tables[table.name] = yield* store.find(table, {})
  const events = (yield* store.find(journal, {}, { order: ["position"] })).filter(
    ({ stream }) => !stream.startsWith("replica:")
  )
  return { tables, events }
})
const within = async <A>(sql: ReturnType<typeof sqliteLayer>, effect: Effect.Effect<A, unknown, Store>): Promise<A> => {
  const runtime = ManagedRuntime.make(Layer.provide(Store.layer, sql))
  try {
    return await runtime.runPromise(effect)
  } finally {
    await runtime.dispose()
  }
}
const differing = (theirs: Stand, ours: Stand): ReadonlyArray<string> => [
  ...Object.keys(theirs.tables).filter((name) => !isDeepStrictEqual(theirs.tables[name], ours.tables[name])),
  ...(isDeepStrictEqual(theirs.events, ours.events) ? [] : ["journal"])
]
interface Claim {
  readonly asset_id: number | null
  readonly is_active: boolean
  readonly buffered_starts_at: string
  readonly buffered_ends_at: string
}
const claimedTwice = (held: ReadonlyArray<Claim>): ReadonlyArray<number> => {
  const ends = new Map<number, string>()
  const twice = new Set<number>()
  for (const { asset_id, buffered_starts_at, buffered_ends_at } of held
    .filter((one) => one.is_active && one.asset_id !== null)
    .sort((a, b) => (a.buffered_starts_at < b.buffered_starts_at ? -1 : 1))) {
    const end = ends.get(asset_id!)
    if (end !== undefined && buffered_starts_at < end) twice.add(asset_id!)
    if (end === undefined || end < buffered_ends_at) ends.set(asset_id!, buffered_ends_at)
  }
  return [...twice]
}

interface Reckoned {
  readonly name: string
  /** Commands recorded by the end, with those that resolved conflicts. */
  readonly submitted: number
  readonly by_state: { readonly [state: string]: number }
  /** Accepted commands that replaced somebody else's value. */
  readonly merged: number
}
export interface Reckoning {
  readonly devices: ReadonlyArray<Reckoned>
  readonly claimed_units: number
  /** Faults, as text. */
  readonly faults: ReadonlyArray<string>
}
interface Evening {
  readonly database: string
  readonly devices: ReadonlyArray<{
    readonly name: string
    readonly profile: string
    readonly replica_id: number
    readonly acknowledged: ReadonlySet<number>
  }>
}

export const reckon = async ({ database, devices }: Evening): Promise<Reckoning> => {
  const faults: Array<string> = []
  const server = await within(
    postgresLayer({ url: database }),
    Effect.gen(function* () {
      const store = yield* Store
      return {
        ...(yield* standOf),
        verdicts: yield* store.find(replica_verdicts, {}),
        claims: yield* store.find(demands, { is_active: true })
      }
    })
  )
  const reckoned: Array<Reckoned> = []
  for (const { name, profile, replica_id, acknowledged } of devices) {
    const kept = outboxOf(profile)
    const by_state = Object.fromEntries(
      [...Map.groupBy(kept, ({ state }) => state)].map(([state, all]) => [state, all.length])
    )
    reckoned.push({
      name,
      submitted: kept.length,
      by_state,
      merged: kept.filter(({ merged, state }) => merged && state === "accepted").length
    })
    if (kept.some(({ n }, at) => n !== at + 1)) faults.push(`${name}: numbers are missing from its outbox`)
    for (const n of acknowledged) if (n > kept.length) faults.push(`${name}: command ${n} was acknowledged and is gone`)
    if (by_state["pending"] !== undefined) faults.push(`${name}: ${by_state["pending"]} commands are still pending`)
    const verdicts = new Map(server.verdicts.filter((one) => one.replica_id === replica_id).map((one) => [one.id, one]))
    if (verdicts.size !== kept.length)
      faults.push(`${name}: ${kept.length} commands were recorded, and the server decided ${verdicts.size}`)
    for (const { n, id, state } of kept) {
      const verdict = verdicts.get(id)
      if (verdict?.n !== n || verdict.accepted !== (state === "accepted"))
        faults.push(
          `${name}: command ${n} is ${state} here and ${verdict === undefined ? "unknown" : verdict.accepted ? "accepted" : "refused"} at the server`
        )
    }
    const here = await within(sqliteLayer({ path: join(profile, "replica.sqlite") }), standOf)
    for (const table of differing(server, here)) faults.push(`${name}: ${table} is not as on the server`)
  }
  const twice = claimedTwice(server.claims)
  if (twice.length > 0) faults.push(`units claimed twice: ${twice.join(", ")}`)
  return {
    devices: reckoned,
    claimed_units: new Set(server.claims.filter(({ asset_id }) => asset_id !== null).map(({ asset_id }) => asset_id))
      .size,
    faults
  }
}

/** An app in memory for tests: the whole catalogue on SQLite (or the run's Postgres), called without HTTP. */
import { randomUUID } from "node:crypto"
import { Clock, Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../core/catalogue.ts"
import { serverRuntime } from "../core/kernel/runtime/server-runtime.ts"
import { answer } from "../core/kernel/runtime/engine.ts"
import type { Answer, CommandRuntime } from "../core/kernel/endpoints/endpoint.ts"
import type { Json } from "../core/kernel/fields/field.ts"
import { danglingReferences } from "./dangling-references.ts"
import { bodyOf, Rejection, statusOf, type Viewer } from "../core/kernel/fields/rejection.ts"
import { rebuild, seed, ensureSchema } from "../core/kernel/runtime/schema.ts"
import { Store } from "../core/kernel/store/store.ts"
import { demands } from "../core/orders/demands/schema.ts"
import { systemRoles } from "../core/people/users/decide.ts"
import { laterGrants } from "../core/people/users/permissions.ts"
import * as Sqlite from "../sync/sqlite/client.ts"
import * as Postgres from "../server/pg/client.ts"
import { secretBox } from "../server/ports/secret-box.ts"
import { answerProblem } from "./api/description.ts"
import { freshDatabase } from "./postgres.ts"
import { copyOfImage } from "./sqlite-image.ts"
import { bodyRead, type Body } from "./answers.ts"

export const owner: Viewer = {
  user_id: 1,
  name: "Owner",
  person_id: null,
  is_owner: true,
  is_active: true,
  role_ids: [],
  permissions: new Set(),
  abilities: new Set(["*"]),
  token_id: 1
}
/** Permissions of a default role in this release, without those that slices add for their own areas. */
export const permissionsOfRole = (name: string): ReadonlyArray<string> => [
  ...new Set([...(systemRoles.find((role) => role.name === name)?.permissions ?? []), ...(laterGrants[name] ?? [])])
]
/** A user with only these permissions and abilities. */
export const viewerWith = (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>): Viewer => ({
  ...owner,
  user_id: 2,
  name: "Somebody",
  is_owner: false,
  permissions: new Set(permissions),
  abilities: new Set(abilities)
})

export interface Reply {
  readonly status: number
  readonly body: Body
  readonly headers: { readonly [name: string]: string }
}
export interface App {
  /** `q` may be part of the path: `/api/v1/products?q[name_cont]=x`. */
  readonly call: (method: string, path: string, body?: unknown, viewer?: Viewer) => Promise<Reply>
  readonly run: <A, E>(effect: Effect.Effect<A, E, Store | CommandRuntime>) => Promise<A>
  /** All rows of tables projected from the journal, to compare states. */
  readonly dump: () => Promise<{ readonly [table: string]: ReadonlyArray<unknown> }>
  /** Sets the time of all calls; without an instant, the clock runs again. */
  readonly setClock: (instant?: string) => void
  /** Drops the tables and rebuilds them from the journal. */
  readonly rebuild: () => Promise<void>
  /** Tables in which tests insert rows that refer to missing ones. */
  readonly invented: Set<string>
  readonly close: () => Promise<void>
}
export type Engine = "sqlite" | "pg"
/** For tests that depend on the database itself: locks, races, constraints, statements, writes of other processes. */
export const both_engines: ReadonlyArray<Engine> = ["sqlite", "pg"]
/** For all other tests: SQLite, unless FLIGHTCASE_TEST_ENGINES is "pg" or "both", as in `npm run test:all`. */
export const engines: ReadonlyArray<Engine> = both_engines.filter((engine) =>
  ["both", engine].includes(process.env["FLIGHTCASE_TEST_ENGINES"] ?? "sqlite")
)
/** Whether this run repeats tests in full: every terminal, seed and pair of engines. */
export const plays_everything = engines.length > 1

const secrets = secretBox("key-of-the-tests-which-is-long", "settings")
export const openApp = async (engine: Engine = "sqlite", now = "2026-06-18T12:00:00.000Z"): Promise<App> => {
  const { drop, sql } = await seededDatabase(engine, now)
  const layer = Layer.merge(
    Layer.provide(Store.layer, sql),
    serverRuntime({ catalogue, commandId: randomUUID, secrets })
  )
  const runtime = ManagedRuntime.make(layer)
  let stopped: number | undefined
  const invented = new Set<string>()
  return {
    invented,
    call: (method, path, body, viewer = owner) =>
      runtime.runPromise(clockedAt(stopped, ask(method, path, body, viewer))),
    setClock: (instant) => {
      stopped = instant === undefined ? undefined : Date.parse(instant)
    },
    run: (effect) => runtime.runPromise(effect),
    dump: () => runtime.runPromise(dumpTables),
    rebuild: () => runtime.runPromise(rebuild(catalogue)),
    close: async () => {
      // After each suite, no reference names a missing row.
      const references = new Map(
        [...catalogue.references].map(([target, of]) => [target, of.filter(({ holder }) => !invented.has(holder.name))])
      )
      const dangling = await runtime.runPromise(danglingReferences(references, catalogue.table))
      await runtime.dispose()
      await drop()
      if (dangling.length > 0)
        throw new Error(`references to rows that have gone: ${JSON.stringify(dangling.slice(0, 20))}`)
    }
  }
}

/** All tables, with the initial rows at that instant; created once, as the schema takes the most time. */
const seededDatabase = async (engine: Engine, now: string) => {
  const name = `app_${now.replaceAll(/\W/g, "")}`.toLowerCase()
  if (engine === "pg") {
    const { drop, url } = await freshDatabase({ name, prepare: (url) => prepare(Postgres.layer({ url }), now) })
    return { sql: Postgres.layer({ url }), drop }
  }
  const { path, remove } = await copyOfImage({ name, prepare: (path) => prepare(Sqlite.layer({ path }), now) })
  return { sql: Sqlite.layer({ path }), drop: async () => remove() }
}
const prepare = async (sql: SqlLayer, now: string): Promise<void> => {
  const runtime = ManagedRuntime.make(
    Layer.merge(Layer.provide(Store.layer, sql), serverRuntime({ catalogue, commandId: randomUUID }))
  )
  try {
    await runtime.runPromise(prepared(now))
  } finally {
    await runtime.dispose()
  }
}
type SqlLayer = ReturnType<typeof Sqlite.layer>
const prepared = (now: string) =>
  Effect.gen(function* () {
    yield* ensureSchema(catalogue, "server")
    yield* seed(catalogue, now)
  })

/** Runs with a fixed clock; sleeping still takes real time. */
const clockedAt = <A, E, R>(millis: number | undefined, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  millis === undefined
    ? effect
    : Effect.flatMap(Clock.Clock, (live) =>
        Effect.provideService(effect, Clock.Clock, {
          currentTimeMillisUnsafe: () => millis,
          currentTimeMillis: Effect.succeed(millis),
          currentTimeNanosUnsafe: () => live.currentTimeNanosUnsafe(),
          currentTimeNanos: live.currentTimeNanos,
          monotonicTimeNanosUnsafe: () => live.monotonicTimeNanosUnsafe(),
          monotonicTimeNanos: live.monotonicTimeNanos,
          sleep: (duration) => live.sleep(duration)
        })
      )

const ask = (method: string, path: string, body: unknown, viewer: Viewer) =>
  Effect.gen(function* () {
    const at = path.indexOf("?")
    const query = at < 0 ? [] : [...new URLSearchParams(path.slice(at + 1))]
    const request = { method, path: at < 0 ? path : path.slice(0, at), query, body: body as Json | undefined }
    return reply(yield* answer(catalogue, request, viewer))
  }).pipe(
    Effect.catch((failure) =>
      failure instanceof Rejection
        ? Effect.succeed<Reply>({
            status: statusOf[failure.kind],
            body: bodyRead(bodyOf(failure)),
            headers: failure.headers ?? {}
          })
        : Effect.die(failure)
    ),
    Effect.tap((got) =>
      Effect.sync(() => {
        // As sent over the network: undefined keys are absent.
        const text = got.body === undefined ? "" : typeof got.body === "string" ? got.body : JSON.stringify(got.body)
        const type = got.headers["content-type"] ?? "application/json"
        const sent = {
          status: got.status,
          headers: { "content-type": type },
          text,
          body: typeof got.body === "string" || text === "" ? undefined : (JSON.parse(text) as unknown)
        }
        const wrong = answerProblem(catalogue, method, path, sent, { headers: false })
        if (wrong !== undefined) throw new Error(`Not as described: ${wrong}`)
      })
    )
  )

const reply = (answer: Answer): Reply => ({
  status: answer.status,
  body: bodyRead(answer.body ?? answer.content?.text),
  headers: { ...(answer.content === undefined ? {} : { "content-type": answer.content.type }), ...answer.headers }
})

/** Pieces that active demands of an order reserve. */
export const piecesHeld = (opportunity_id: number) =>
  Effect.map(Store.find(demands, { opportunity_id, is_active: true }), (rows) =>
    rows.reduce((sum, { quantity }) => sum + quantity, 0)
  )
export const dumpTables = Effect.gen(function* () {
  const store = yield* Store
  const dump: { [table: string]: ReadonlyArray<unknown> } = {}
  for (const table of catalogue.tables) dump[table.name] = yield* store.find(table, {})
  return dump
})

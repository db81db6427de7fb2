/** A server without a socket: the whole catalogue on either engine, called as over HTTP. */
import { setTimeout as pause } from "node:timers/promises"
import { Clock, Context, Duration, Effect, Scope, Stream } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { danglingReferences } from "../dangling-references.ts"
import type { CommandRuntime } from "../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp, type ServerOptions } from "../../server/host/app.ts"
import type { Database } from "../../server/host/config.ts"
import { listenOn } from "../../server/host/http.ts"
import { silentLog } from "../../server/ports/log.ts"
import { ServerContext } from "../../server/ports/server-context.ts"
import type { HttpRequest, HttpResponse } from "../../server/http/http-message.ts"
import { makeRenderer, type Renderer } from "../../server/print/renderer.ts"
import { answerProblem } from "../api/description.ts"
import type { Engine } from "../app.ts"
import { type FreshDatabase, freshDatabase, type Template } from "../postgres.ts"
import { copyOfImage, type SqliteImage } from "../sqlite-image.ts"
import type { Body } from "../answers.ts"

/** Part of the API's description; missing keys fail the test. */
export type Described = { readonly [key: string]: any }
export const owner_token = "owner-token-of-the-tests"

export interface Sent {
  readonly method?: string
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent unchanged. */
  readonly bytes?: string | Uint8Array
  /** null: no Authorization header. */
  readonly token?: string | null
  readonly headers?: { readonly [name: string]: string }
  readonly from?: string
}
export interface Got {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly text: string
  /** Bytes of a streamed file. */
  readonly bytes: Uint8Array
  readonly body: Body
}
export interface Serving {
  readonly app: ServerApp
  readonly ask: (target: string, sent?: Sent) => Promise<Got>
  readonly run: <A, E>(effect: Effect.Effect<A, E, Store | CommandRuntime | ServerContext>) => Promise<A>
  /** Sets the time. */
  readonly setClock: (millis: number) => void
  readonly close: () => Promise<void>
}

export interface ServeOptions extends Partial<ServerOptions> {
  /** Accepts parameters that the server ignores; they are refused by default. */
  readonly lenient?: boolean
  /** Called for responses that differ from the description; by default they fail the test. */
  readonly undescribed?: (problem: string) => void
}

let drawing: Renderer | undefined
/** Renders for all servers of a worker, as loading its libraries takes a thread over a second of CPU. */
export const sharedRenderer = (): Renderer =>
  (drawing ??= Effect.runSync(Scope.provide(makeRenderer({ idle_millis: 600_000 }), Scope.makeUnsafe())))

export const tests_key = "key-of-the-tests-which-is-long"
const plain_options = { key: tests_key, owner_token, rate_limit: 1_000_000 }

/** Fills an empty database like a server's first start. */
export const openOnce = async (
  database: Database,
  options: Pick<ServerOptions, "key" | "owner_token"> = plain_options
): Promise<void> => {
  const app = await openServerApp({ database, ...options })
  // Copies may be used up to an hour later, and must not catch up on scheduled work.
  await app.run(Effect.flatMap(Store, (store) => store.run("delete from timed_work")))
  await app.close()
}
/** A database as after a server's first start, with the tests' owner token; created once per run. */
export const startedServer: Template = {
  name: "started_server",
  prepare: (url) => openOnce({ kind: "pg", url, connections_max: 2 })
}
/** The same on SQLite, created once per worker. */
const startedServerFile: SqliteImage = { name: "started_server", prepare: (path) => openOnce({ kind: "sqlite", path }) }
/** Whether options equal those of the template: no other clock, owner or slice. */
const isStartedAlike = ({ owner_token, slices, services, onOwnerToken }: ServeOptions): boolean =>
  [owner_token, slices, services, onOwnerToken].every((option) => option === undefined) && isTheMachinesTime()

const isTheMachinesTime = (): boolean => Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 60_000

export interface OwnDatabase {
  readonly database: Database
  readonly drop: () => Promise<void>
}
/** A new database with the content of {@link startedServer}. */
export const startedDatabase = async (engine: Engine): Promise<OwnDatabase> => {
  if (engine === "pg") return onPostgres(await freshDatabase(startedServer))
  const { path, remove } = await copyOfImage(startedServerFile)
  return { database: { kind: "sqlite", path }, drop: async () => remove() }
}
const emptyDatabase = async (engine: Engine): Promise<OwnDatabase> =>
  engine === "pg"
    ? onPostgres(await freshDatabase())
    : { database: { kind: "sqlite", path: ":memory:" }, drop: async () => {} }
const onPostgres = ({ drop, url }: FreshDatabase): OwnDatabase => ({
  database: { kind: "pg", url, connections_max: 5 },
  drop
})

export const serve = async (
  engine: Engine = "sqlite",
  { lenient = false, undescribed, ...options }: ServeOptions = {}
): Promise<Serving> => {
  const { database, drop } =
    options.database === undefined
      ? await (isStartedAlike(options) ? startedDatabase : emptyDatabase)(engine)
      : { database: options.database, drop: async () => {} }
  let stopped: number | undefined
  const app = described(
    await openServerApp({
      ...plain_options,
      renderer: sharedRenderer(),
      services: clockAt(() => stopped ?? Date.now()),
      ...options,
      database
    }),
    undescribed
  )
  return {
    app,
    run: app.run,
    setClock: (millis) => {
      stopped = millis
    },
    ask: (target, sent = {}) => askOf(app, target, lenient ? sent : { ...sent, headers: strictly(sent.headers) }),
    close: async () => {
      // No suite may leave references to missing rows, except in its own database, which may be damaged on purpose.
      const dangling =
        options.database === undefined ? await app.run(danglingReferences(catalogue.references, catalogue.table)) : []
      await app.close()
      await drop()
      if (dangling.length > 0)
        throw new Error(`references to rows that have gone: ${JSON.stringify(dangling.slice(0, 20))}`)
    }
  }
}

/** Resolves once a server on Postgres hears of commits: it reports when it begins to listen, and each notice. */
export const untilListening = async (app: ServerApp): Promise<void> => {
  let heard = 0
  const stop = await app.run(Effect.map(ServerContext, ({ onCommit }) => onCommit(() => void heard++)))
  const statement = (text: string) => app.run(Effect.flatMap(Store, (store) => store.run(text)))
  const listening =
    "select 1 from pg_stat_activity where datname = current_database() and query ^@ 'LISTEN' and state = 'idle'"
  for (let waits = 0; (await statement(listening)).length === 0; waits++) {
    if (waits > 500) throw new Error("the server does not listen")
    await pause(20)
  }
  for (let notices = 0; notices < 2; notices++) {
    const before = heard
    await statement("select pg_notify('flightcase_journal', '')")
    for (let waits = 0; heard === before && waits < 500; waits++) await pause(20)
  }
  stop()
}

const strictly = (headers: Sent["headers"]) => ({ prefer: "handling=strict", ...headers })

export type { Listening } from "../../server/host/http.ts"
/** Listens on 127.0.0.1, at a free port by default, without a log. */
export const openListener = (answer: ServerApp["answer"], more: Partial<Parameters<typeof listenOn>[0]> = {}) =>
  listenOn({ host: "127.0.0.1", port: 0, log: silentLog, answer, ...more })
export const askOf = async (
  app: Pick<ServerApp, "ask">,
  target: string,
  { method, json, bytes, token = owner_token, headers = {}, from = "192.0.2.1" }: Sent
): Promise<Got> => {
  const body = bytes === undefined ? (json === undefined ? "" : JSON.stringify(json)) : bytes
  const raw = typeof body === "string" ? Buffer.from(body) : body
  return gotWhole(
    await app.ask({
      method: method ?? (raw.length > 0 ? "POST" : "GET"),
      target,
      remote_address: from,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(raw.length > 0 ? { "content-type": "application/json" } : {}),
        ...headers
      },
      body: async (max) => (raw.length > max ? "too long" : raw)
    })
  )
}
const gotWhole = async (reply: HttpResponse): Promise<Got> =>
  gotOf(
    // Endless responses are left to the test.
    typeof reply.body === "object" && "stream" in reply.body && reply.body.size_bytes !== undefined
      ? { ...reply, body: Buffer.concat(await Effect.runPromise(Stream.runCollect(reply.body.stream))) }
      : reply
  )
/** Streams are left unread. */
const gotOf = (reply: HttpResponse): Got => {
  const { body } = reply
  const bytes =
    body === undefined || (typeof body === "object" && "stream" in body) ? Buffer.alloc(0) : Buffer.from(body)
  const text = bytes.toString("utf8")
  return {
    status: reply.status,
    headers: reply.headers,
    text,
    bytes,
    body: reply.headers["content-type"]?.includes("json") ? JSON.parse(text) : undefined
  }
}

/** The same server, with every response checked against its description. */
export const described = <App extends Pick<ServerApp, "answer" | "ask" | "catalogue">>(
  app: App,
  undescribed: (problem: string) => void = fails
): App => {
  const held = (asked: HttpRequest, reply: HttpResponse): HttpResponse => {
    const wrong = answerProblem(app.catalogue, asked.method, asked.target, gotOf(reply))
    if (wrong !== undefined) undescribed(wrong)
    return reply
  }
  return {
    ...app,
    answer: (asked) => Effect.map(app.answer(asked), (reply) => held(asked, reply)),
    ask: async (asked, giveUp) => held(asked, await app.ask(asked, giveUp))
  }
}
/** Clients of a socket see only 500, so the cause is reported here. */
const fails = (problem: string): never => {
  console.error(`Not as described: ${problem}`)
  throw new Error(`Not as described: ${problem}`)
}

/**
 * Recurring waits of a server that tests shorten: polling for jobs, shutdown of running jobs, keep-alive of streams.
 */
const waits_shortened = new Map([
  [1_000, 100],
  [3_000, 300],
  [15_000, 500]
])
/** A clock at the given time; sleeps take real time, except the shortened waits. */
export const clockAt = (now: () => number): Context.Context<never> => {
  const live = Context.get(Context.empty(), Clock.Clock)
  return Context.make(Clock.Clock, {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: () => live.currentTimeNanosUnsafe(),
    currentTimeNanos: live.currentTimeNanos,
    monotonicTimeNanosUnsafe: () => live.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: live.monotonicTimeNanos,
    sleep: (duration) => {
      const millis = waits_shortened.get(Duration.toMillis(duration))
      return live.sleep(millis === undefined ? duration : Duration.millis(millis))
    }
  }) as Context.Context<never>
}

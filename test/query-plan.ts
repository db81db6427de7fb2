/** How the engine finds the rows of a statement: for tests that an index is used. */
import { Effect } from "effect"
import { type SqlError, Statement } from "effect/sql"
import { Store, type StoreShape } from "../core/kernel/store/store.ts"

interface Planned {
  readonly text: string
  /** Steps of the engine, one per line. */
  readonly lines: ReadonlyArray<string>
}

/** The plan chosen for the tables as they are filled. */
export const chosenPlan = (
  text: string,
  values: ReadonlyArray<unknown> = []
): Effect.Effect<ReadonlyArray<string>, SqlError.SqlError, Store> =>
  Effect.gen(function* () {
    const store = yield* Store
    return store.dialect === "sqlite"
      ? (yield* store.run<{ detail: string }>(`explain query plan ${text}`, values)).map(({ detail }) => detail)
      : (yield* store.run<{ "QUERY PLAN": string }>(`explain ${text}`, values)).map((row) => row["QUERY PLAN"])
  })

/** The plan with every possible index: Postgres prefers scans of small tables, so scans are made expensive. */
const indexedPlan = (
  text: string,
  values: ReadonlyArray<unknown> = []
): Effect.Effect<ReadonlyArray<string>, SqlError.SqlError, Store> =>
  Effect.gen(function* () {
    const store = yield* Store
    const plan = chosenPlan(text, values)
    return store.dialect === "sqlite"
      ? yield* plan
      : yield* store.transaction(Effect.andThen(store.run("set local enable_seqscan = off"), plan))
  })

/** The store, with an action before each statement sent by `run`, `readAll` or a template. */
export const watchedStore = <E>(
  store: StoreShape,
  before: (text: string, values: ReadonlyArray<unknown>) => Effect.Effect<void, E>
): StoreShape => ({
  ...store,
  run: <Row extends object>(text: string, values: ReadonlyArray<unknown> = []) =>
    Effect.andThen(Effect.orDie(before(text, values)), store.run<Row>(text, values)),
  readAll: (statements) =>
    Effect.andThen(
      Effect.forEach(statements, ({ text, values }) => Effect.orDie(before(text, values))),
      store.readAll(statements)
    ),
  sql: new Proxy(store.sql, {
    apply: (sql, self, given) => {
      const made: unknown = Reflect.apply(sql, self, given)
      if (!Statement.isFragment(made) || !Effect.isEffect(made)) return made
      const statement = made as Statement.Statement<object>
      const watched = Effect.suspend(() => Effect.orDie(before(...statement.compile())))
      // Part of another template, it is not sent on its own.
      return Object.assign(Effect.andThen(watched, statement), Statement.fragment(statement.segments))
    }
  })
})

/**
 * Runs `reading`; returns the {@link indexedPlan} of each statement it sent by `run`, `readAll` or a template whose text
 * matches.
 */
export const plansOf = <A, E, R>(
  reading: Effect.Effect<A, E, R>,
  matching = /^/
): Effect.Effect<ReadonlyArray<Planned>, E | SqlError.SqlError, Store | R> =>
  Effect.gen(function* () {
    const store = yield* Store
    const asked: Array<readonly [text: string, values: ReadonlyArray<unknown>]> = []
    const noting = watchedStore(store, (text, values) =>
      Effect.sync(() => {
        if (matching.test(text)) asked.push([text, values])
      })
    )
    yield* Effect.provideService(reading, Store, noting)
    return yield* Effect.forEach(asked, ([text, values]) =>
      Effect.map(indexedPlan(text, values), (lines) => ({ text, lines }))
    )
  })

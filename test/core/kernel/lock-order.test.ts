import { setTimeout as pause } from "node:timers/promises"
import { Deferred, Effect, Fiber } from "effect"
import { SqlError } from "effect/sql"
import { expect, it } from "vitest"
import { retryOnConflict } from "../../../core/kernel/runtime/engine.ts"
import { lockFirst, lockIfFree, lockStreams } from "../../../core/kernel/runtime/locks.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { openShop, type Shop } from "./lamp-shop.ts"

/** Runs an effect in its own shop on Postgres. */
const inShop = async (work: Parameters<Shop["run"]>[0]): Promise<void> => {
  const shop = await openShop("pg")
  try {
    await shop.run(work)
  } finally {
    await shop.close()
  }
}
const inTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Store, (store) => store.transaction(effect))
/** Takes locks in a transaction and holds them until released; resolves once they are taken. */
const holding = <E, R>(taking: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function* () {
    const [held, done] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const holder = yield* Effect.forkChild(
      inTransaction(
        taking.pipe(Effect.andThen(Deferred.succeed(held, undefined)), Effect.andThen(Deferred.await(done)))
      )
    )
    yield* Deferred.await(held)
    return { letGo: Effect.andThen(Deferred.succeed(done, undefined), Fiber.join(holder)) }
  })
const rows = <Row extends object>(text: string, values: ReadonlyArray<unknown> = []) =>
  Effect.flatMap(Store, (store) => store.run<Row>(text, values))
/** Resolves once a connection of this database waits for a lock; other suites use the same server. */
const somebodyWaits = Effect.gen(function* () {
  const waiting = rows(
    "select 1 from pg_locks where locktype = 'advisory' and not granted " +
      "and database = (select oid from pg_database where datname = current_database())"
  )
  for (let looks = 0; looks < 1_000 && (yield* waiting).length === 0; looks++) yield* Effect.promise(() => pause(10))
})

it("a writer that waits for its first stream has not locked its other streams", () =>
  inShop(
    Effect.gen(function* () {
      const { letGo } = yield* holding(lockStreams(["lamp:1"]))
      const wanting = yield* Effect.forkChild(inTransaction(lockStreams(["lamp:3", "lamp:2", "lamp:1"])))
      yield* somebodyWaits
      for (const stream of ["lamp:2", "lamp:3"]) {
        const [found] = yield* inTransaction(
          rows<{ free: boolean }>("select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as free", [stream])
        )
        expect([stream, found?.free]).toEqual([stream, true])
      }
      yield* letGo
      yield* Fiber.join(wanting)
    })
  ))

it("two writers that need each other's locks do not deadlock: one restarts and waits for both", () =>
  inShop(
    Effect.gen(function* () {
      const begun = new Map<string, number>()
      const given_up: Array<string> = []
      let wrote = 0
      const both = yield* Deferred.make<void>()
      const writer = (own: string, late: string) =>
        inTransaction(
          Effect.gen(function* () {
            yield* lockFirst([own])
            begun.set(own, (begun.get(own) ?? 0) + 1)
            // The first attempts meet: each holds its own lock by then.
            if (begun.size === 2) yield* Deferred.succeed(both, undefined)
            yield* Deferred.await(both)
            yield* lockIfFree([late])
            wrote++
          })
        ).pipe(
          Effect.tapError((failure) =>
            Effect.sync(() => given_up.push(failure instanceof SqlError.SqlError ? failure.reason._tag : failure._tag))
          ),
          retryOnConflict
        )
      yield* Effect.all([writer("lamp:1", "lamp:2"), writer("lamp:2", "lamp:1")], { concurrency: 2 })
      expect(wrote).toBe(2)
      const attempts = [...begun.values()]
      expect(Math.max(...attempts)).toBe(2)
      expect(new Set(given_up)).toEqual(new Set(["SerializationError"]))
    })
  ))

it("writers wait for readers of the same rows, but readers do not wait for other readers", () =>
  inShop(
    Effect.gen(function* () {
      const { letGo } = yield* holding(lockIfFree(["lamp:1"], { shared: true }))
      const tries = { reads: 0, writes: 0 }
      yield* inTransaction(
        Effect.andThen(
          Effect.sync(() => tries.reads++),
          lockIfFree(["lamp:1"], { shared: true })
        )
      ).pipe(retryOnConflict)
      const writer = yield* Effect.forkChild(
        inTransaction(
          lockFirst([]).pipe(Effect.andThen(Effect.sync(() => tries.writes++)), Effect.andThen(lockIfFree(["lamp:1"])))
        ).pipe(retryOnConflict)
      )
      yield* somebodyWaits
      expect(tries).toEqual({ reads: 1, writes: 1 })
      yield* letGo
      yield* Fiber.join(writer)
      expect(tries).toEqual({ reads: 1, writes: 2 })
    })
  ))

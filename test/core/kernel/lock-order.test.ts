import { setTimeout as pause } from "node:timers/promises"
import { Deferred, Effect, Fiber } from "effect"
import { expect, it } from "vitest"
import { lockStreams } from "../../../core/kernel/engine.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { openShopAt, placeOn } from "./lamp-shop.ts"

const inTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Store, (store) => store.transaction(effect))
const rows = <Row extends object>(text: string, values: ReadonlyArray<unknown> = []) =>
  Effect.flatMap(Store, (store) => store.run<Row>(text, values))

it("a writer takes the locks of its streams in one order: while it waits for the first it holds up nobody at the others", async () => {
  const place = await placeOn("pg")
  const shop = await openShopAt(place)
  try {
    await shop.run(
      Effect.gen(function* () {
        const [held, done] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const holder = yield* Effect.forkChild(
          inTransaction(
            lockStreams(["lamp:1"]).pipe(
              Effect.andThen(Deferred.succeed(held, undefined)),
              Effect.andThen(Deferred.await(done))
            )
          )
        )
        yield* Deferred.await(held)
        const wanting = yield* Effect.forkChild(inTransaction(lockStreams(["lamp:3", "lamp:2", "lamp:1"])))
        for (
          let tries = 0;
          tries < 1_000 &&
          (yield* rows("select 1 from pg_locks where locktype = 'advisory' and not granted")).length === 0;
          tries++
        ) {
          yield* Effect.promise(() => pause(10))
        }
        for (const stream of ["lamp:2", "lamp:3"]) {
          const [found] = yield* inTransaction(
            rows<{ free: boolean }>("select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as free", [stream])
          )
          expect([stream, found?.free]).toEqual([stream, true])
        }
        yield* Deferred.succeed(done, undefined)
        yield* Fiber.join(holder)
        yield* Fiber.join(wanting)
      })
    )
  } finally {
    await shop.close()
    await place.gone()
  }
})

/** The cost of jobs while there are none. */
import { Clock, Duration, Effect, Latch } from "effect"
import { Statement } from "effect/sql"
import { describe, expect, it, onTestFinished } from "vitest"
import { makeJobQueues } from "../../../../server/delivery/jobs/jobs.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { both_engines } from "../../../app.ts"
import { serve } from "../../serving.ts"
import { wordKind } from "./words.ts"

describe.each(both_engines)("a server without jobs on %s", (engine) => {
  it("sends one query a second for all kinds together", async () => {
    const server = await serve(engine)
    onTestFinished(() => server.close())
    const statements: Array<string> = []
    const waits: Array<number> = []
    const kinds = Array.from({ length: 10 }, (_, at) => wordKind(() => Effect.void, { kind: `test.kind_${at}` }))
    await server.run(
      Effect.gen(function* () {
        const store = yield* Store
        const live = yield* Clock.Clock
        const fourth = yield* Latch.make()
        const noted: Clock.Clock = {
          ...live,
          sleep: (duration) => {
            waits.push(Duration.toMillis(duration))
            return waits.length < 4 ? Effect.void : Effect.andThen(fourth.open, Effect.never)
          }
        }
        const { work } = yield* makeJobQueues(kinds, store)
        statements.length = 0
        const counted = Effect.provideService(work, Statement.CurrentTransformer, (statement) =>
          Effect.sync(() => {
            statements.push(statement.compile()[0])
            return statement
          })
        )
        yield* Effect.raceFirst(Effect.provideService(counted, Clock.Clock, noted), fourth.await)
      }).pipe(Effect.scoped)
    )
    expect(waits).toEqual([1_000, 1_000, 1_000, 1_000])
    expect(statements).toHaveLength(4)
    expect(new Set(statements).size).toBe(1)
  })
})

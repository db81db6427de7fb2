/** What jobs cost when there is nothing to do. */
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { makeJobQueues } from "../../../server/jobs/jobs.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { engines } from "../../app.ts"
import { serve } from "../serving.ts"
import { wordKind } from "./words.ts"

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

describe.each(engines)("a server without jobs on %s", (engine) => {
  it("asks once a second for all kinds together", async () => {
    const server = await serve(engine)
    open.push(() => server.close())
    const statements: Array<string> = []
    const kinds = Array.from({ length: 10 }, (_, at) => wordKind(() => Effect.void, { kind: `test.kind_${at}` }))
    await server.run(
      Effect.gen(function* () {
        const store = yield* Store
        const counted = {
          ...store,
          run: (text: string, values?: ReadonlyArray<unknown>) => {
            statements.push(text)
            return store.run(text, values)
          }
        }
        const { work } = yield* makeJobQueues(kinds, counted as typeof store)
        statements.length = 0
        yield* Effect.timeoutOption(work, 3_500)
      }).pipe(Effect.scoped)
    )
    // As many as there were seconds, be the machine slow or not.
    expect(statements.length).toBeGreaterThan(0)
    expect(statements.length).toBeLessThanOrEqual(4)
    expect(new Set(statements).size).toBe(1)
  })
})

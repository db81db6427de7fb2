import { Effect } from "effect"
import { expect, it } from "vitest"
import { makeJournalTail } from "../../../sync/server/shape.ts"

it("a wake-up between a reader's check of the journal and its wait is not missed", () => {
  const { tail, wake } = makeJournalTail()
  const looked = Effect.runSync(tail.mark)
  wake()
  // Returns at once: an effect that waits cannot run synchronously.
  expect(Effect.runSync(tail.grown(looked, 60_000))).toBeUndefined()
  const again = Effect.runSync(tail.mark)
  expect(() => Effect.runSync(tail.grown(again, 1))).toThrow()
})

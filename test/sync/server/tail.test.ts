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

it("a read is shared in one turn, but not with those woken after it", async () => {
  const { tail } = makeJournalTail()
  let reads = 0
  const page = { events: [], bodies: new Map() }
  const read = Effect.map(Effect.yieldNow, () => {
    reads++
    return page
  })
  const asked = (mark: number) => Effect.runPromise(tail.pages(mark, "5", read))
  await Promise.all([asked(1), asked(1), asked(2)])
  expect(reads).toBe(2)
  await asked(2)
  expect(reads).toBe(3)
})

import { setTimeout as pause } from "node:timers/promises"
import { Effect, Scheduler } from "effect"
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

it("a read is not kept for later turns where its reader yields before it begins", async () => {
  for (let before = 0; before < 60; before++) {
    const { tail } = makeJournalTail()
    let reads = 0
    const page = { events: [], bodies: new Map() }
    const read = Effect.sync(() => {
      reads++
      return page
    })
    const asking = Effect.gen(function* () {
      for (let at = 0; at < before; at++) yield* Effect.sync(() => at)
      return yield* tail.pages(1, "5", read)
    })
    const asked = () => Effect.runPromise(Effect.provideService(asking, Scheduler.MaxOpsBeforeYield, 50))
    await asked()
    await pause(1)
    await asked()
    expect([before, reads]).toEqual([before, 2])
  }
})

it("no request waits on once the server stops", () => {
  const { tail } = makeJournalTail({ isStopping: () => true })
  expect(Effect.runSync(tail.grown(Effect.runSync(tail.mark), 60_000))).toBeUndefined()
})

/**
 * Removes erased data from the bytes of the server's SQLite file: freed pages are overwritten, and the write-ahead log,
 * which still holds earlier content, is emptied once the erasure is committed. On Postgres that is the task of vacuum,
 * and of the operator who keeps its log.
 */
import { Effect, Schedule } from "effect"
import { CommandRuntime, scrubsOf, Store } from "../../core/kernel/index.ts"
import { erasing_version } from "../../sync/sqlite/client.ts"
import type { ServerSlice } from "../ports/server-slice.ts"

const tried_again_every_millis = 10_000

/**
 * Empties the log, and rewrites a file of earlier releases once; false if another process reads the file, as its log
 * cannot be emptied then.
 */
const writeOver = Effect.gen(function* () {
  const [file] = yield* Store.run<{ user_version: number }>("pragma user_version")
  if (file?.user_version !== erasing_version) {
    // Earlier releases did not overwrite freed pages, so the file is rewritten once.
    // In a temporary file, not in memory as what savepoints keep.
    yield* Store.run("pragma temp_store = file")
    yield* Store.run("vacuum").pipe(Effect.ensuring(Effect.ignore(Store.run("pragma temp_store = memory"))))
    yield* Store.run(`pragma user_version = ${erasing_version}`)
  }
  const [log] = yield* Store.run<{ busy: number }>("pragma wal_checkpoint(truncate)")
  return log?.busy === 0
})

export const erasedBytes = (every_millis = tried_again_every_millis): ServerSlice => {
  /** Whether the file may still contain erased bytes; an earlier process's unfinished work is not recorded. */
  let due = false
  const tidy = Effect.gen(function* () {
    if (yield* writeOver) due = false
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logWarning("bytes of what was erased may still be in the database's files", cause)
    )
  )
  return {
    name: "erased-bytes",
    concerns: "erasures",
    recorded: Effect.fnUntraced(function* (events) {
      const store = yield* Store
      if (store.dialect !== "sqlite" || scrubsOf((yield* CommandRuntime).catalogue.scrubs, events).length === 0) return
      due = true
      yield* store.sql.afterCommit(tidy)
    }),
    background: Effect.gen(function* () {
      const store = yield* Store
      if (store.dialect !== "sqlite") return
      // A server killed after the commit may have left erased data in the log.
      yield* Effect.ignore(store.run("pragma wal_checkpoint(truncate)"))
      yield* Effect.schedule(
        Effect.suspend(() => (due ? tidy : Effect.void)),
        Schedule.spaced(every_millis)
      )
    })
  }
}

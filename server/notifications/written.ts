/** What follows from rows of `notifications` in the transaction that writes them. */
import { Effect } from "effect"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { serverContext } from "../server-context.ts"
import { offerMails } from "./mail/offers.ts"
import type { NotificationRow } from "./schema.ts"

/** To be called once rows are written: what is to be mailed is offered, and whoever listens is woken by the commit. */
export const rowsTold = Effect.fnUntraced(function* (
  rows: ReadonlyArray<NotificationRow>
): Effect.fn.Return<void, Failure, Store | CommandRuntime> {
  if (rows.length === 0) return
  const { rowsWritten } = yield* serverContext
  yield* offerMails(rows)
  yield* (yield* Store).sql.afterCommit(Effect.sync(rowsWritten))
})

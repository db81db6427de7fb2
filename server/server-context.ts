/** What a slice on the server may know of the place it runs in. */
import { Context, type Effect } from "effect"
import type { Store } from "../core/kernel/store/store.ts"
import type { Condition } from "./health.ts"
import type { Log } from "./log.ts"

export interface ServerContextShape {
  /** Signs feeds, links and attachment addresses. */
  readonly key: string
  /** Without a slash at its end. */
  readonly public_url: () => string
  readonly data_folder: string | undefined
  readonly log: Log
  /** Whether the server can do its work; asked past whatever other requests wait for. */
  readonly health: Effect.Effect<Condition, never, Store>
  /** After a commit that changed the journal in another way than by appending to it: whatever is known of it is read again. */
  readonly journalReplaced: () => void
  /** Calls back after each commit that added to the journal, whichever server made it; answers how to stop. */
  readonly onCommit: (listener: () => void) => () => void
}
export class ServerContext extends Context.Service<ServerContext, ServerContextShape>()("flightcase/server/Hosting") {}

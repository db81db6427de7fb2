/** Services of the server for its slices. */
import { Context, Effect, Option } from "effect"
import type { Store } from "../../core/kernel/store/store.ts"
import type { BlobStore } from "./blob-store.ts"
import type { Condition } from "./health.ts"
import type { Jobs } from "./offers.ts"
import type { Log } from "./log.ts"
import type { Outside } from "./outside.ts"
import type { Renderer } from "../print/renderer.ts"

export interface ServerContextShape {
  /** Signs feeds, links and attachment addresses. */
  readonly key: string
  /** Without a slash at its end. */
  readonly public_url: () => string
  readonly data_folder: string | undefined
  readonly log: Log
  readonly outside: Outside
  /** Where files are kept; content goes in by `keepContent` (files/keep.ts). */
  readonly blobs: BlobStore
  /** Queues durable work. */
  readonly jobs: Jobs
  /** Draws documents and fills texts, in threads of their own. */
  readonly renderer: Renderer
  /** Whether the server can work; does not wait for locks that other requests wait for. */
  readonly health: Effect.Effect<Condition, never, Store>
  /** To be called after a commit that changed the journal other than by appending: clears all caches. */
  readonly journalReplaced: () => void
  /**
   * Calls the listener after each commit that added to the journal, on any server; returns the function that stops it.
   */
  readonly onCommit: (listener: () => void) => () => void
  /** To be called after a commit that others wait for and that added nothing to the journal: calls those listeners. */
  readonly rowsWritten: () => void
  /** Whether the server is about to stop, which ends endless work. Listeners are called then. */
  readonly isStopping: () => boolean
}
export class ServerContext extends Context.Service<ServerContext, ServerContextShape>()("flightcase/server/Hosting") {}

/**
 * For endpoints, whose effect types list only services that devices have as well: on a server it is always available.
 */
export const serverContext: Effect.Effect<ServerContextShape> = Effect.map(
  Effect.serviceOption(ServerContext),
  Option.getOrThrow
)

/** A runtime is where commands are decided: the server, whose verdict is final, or a replica, whose verdict is provisional. */
import { Context, Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Catalogue } from "./catalogue.ts"
import type { NewEvent, StoredEvent } from "./event.ts"
import type { EventMetadata } from "./journal.ts"
import type { Rejection } from "./rejection.ts"
import type { Settings } from "./settings.ts"
import type { Store } from "./store/store.ts"

export interface CommandRuntimeShape {
  readonly role: "server" | "replica"
  readonly catalogue: Catalogue
  /** A new command id (UUID v7). */
  readonly commandId: Effect.Effect<string>
  /** Fresh ids of a table, inside the transaction. A replica out of leased ids refuses. */
  readonly allocateIds: (
    table: string,
    count: number
  ) => Effect.Effect<ReadonlyArray<number>, Rejection | SqlError.SqlError, Store>
  /** Drawn and not used. */
  readonly releaseIds: (table: string, ids: ReadonlyArray<number>) => Effect.Effect<void, SqlError.SqlError, Store>
  /** The next number of a document sequence, gapless; null where numbers are not given (replicas). */
  readonly nextNumber: (sequence: string) => Effect.Effect<number | null, SqlError.SqlError, Store>
  /** Folds events into the tables. */
  readonly project: (
    events: ReadonlyArray<NewEvent>,
    metadata: EventMetadata
  ) => Effect.Effect<void, SqlError.SqlError, Store>
  /** Keeps folded events. On Postgres all other writers wait from here to the commit: what can be done before is. */
  readonly append: (
    events: ReadonlyArray<NewEvent>,
    metadata: EventMetadata
  ) => Effect.Effect<ReadonlyArray<StoredEvent>, Rejection | SqlError.SqlError, Store>
  readonly settings: Effect.Effect<Settings, SqlError.SqlError, Store>
  /** The public address of the server, on a replica as it was told when it enrolled. */
  readonly public_url?: () => string
}

export class CommandRuntime extends Context.Service<CommandRuntime, CommandRuntimeShape>()("flightcase/core/Site") {}

/** Folds events into the tables and keeps them. */
export const recordEvents = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>, metadata: EventMetadata) {
  const runtime = yield* CommandRuntime
  yield* runtime.project(events, metadata)
  return yield* runtime.append(events, metadata)
})

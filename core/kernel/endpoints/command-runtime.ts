/**
 * Where commands are decided: `CommandRuntime` is declared in `endpoint-types.ts`, as it has the catalogue of
 * endpoints.
 */
import { Effect } from "effect"
import { CommandRuntime } from "./endpoint-types.ts"
import type { NewEvent } from "../events/event-type.ts"
import type { EventMetadata } from "../events/journal.ts"

export { CommandRuntime, type SecretBox } from "./endpoint-types.ts"

/** Folds events into the tables and keeps them. */
export const recordEvents = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>, metadata: EventMetadata) {
  const runtime = yield* CommandRuntime
  yield* runtime.project(events, metadata)
  return yield* runtime.append(events, metadata)
})

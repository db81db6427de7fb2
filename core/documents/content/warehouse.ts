/** Papers of the warehouse: pick lists, delivery notes and return notes (rules/billing 3). */
import { Effect } from "effect"
import type { Failure } from "../../kernel/failure.ts"
import type { Settings } from "../../kernel/settings.ts"
import type { Store } from "../../kernel/store/store.ts"
import type { DocumentSource, PreparedDocument } from "./source.ts"

/** Undefined where the opportunity is gone. */
export const warehousePaper = (
  _source: DocumentSource,
  _settings: Settings
): Effect.Effect<PreparedDocument | undefined, Failure, Store> => Effect.succeed(undefined)

/**
 * The runtime of the server, where decisions are final: ids and numbers from its own sequences, events into the
 * journal.
 */
import { Effect, Layer } from "effect"
import { allocateIds, nextDocumentNumber, releaseIds } from "./ids.ts"
import { appendAndScrub, projectNew } from "../events/journal.ts"
import { settings_table, settingsFrom } from "../events/settings.ts"
import { type Catalogue, CommandRuntime, type SecretBox } from "../endpoints/endpoint.ts"
import { Store } from "../store/store.ts"

interface ServerRuntimeOptions {
  readonly catalogue: Catalogue
  /** Returns a new UUID v7; passed in because core is pure. */
  readonly commandId: () => string
  /** Without it, secrets cannot be set. */
  readonly secrets?: SecretBox
}

/** The settings of the loaded slices: stored values over the defaults. */
export const storedSettings = (catalogue: Catalogue) =>
  Effect.gen(function* () {
    return settingsFrom(catalogue.loaded.settings, yield* Store.find(settings_table, {}))
  })

export const serverRuntime = ({ catalogue, commandId, secrets }: ServerRuntimeOptions): Layer.Layer<CommandRuntime> =>
  Layer.succeed(
    CommandRuntime,
    CommandRuntime.of({
      role: "server",
      catalogue,
      commandId: Effect.sync(commandId),
      allocateIds: allocateIds,
      releaseIds: releaseIds,
      nextNumber: (sequence) => Effect.flatMap(Store, (store) => nextDocumentNumber(store, sequence)),
      project: (events, metadata) => projectNew(catalogue.projection, events, metadata),
      append: (events, metadata) => appendAndScrub(catalogue.scrubs, events, metadata),
      settings: storedSettings(catalogue),
      ...(secrets === undefined ? {} : { secrets })
    })
  )

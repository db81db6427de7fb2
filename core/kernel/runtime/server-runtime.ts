/**
 * The runtime of the server, where decisions are final: ids and numbers from its own sequences, events into the
 * journal.
 */
import { Effect, Layer } from "effect"
import { allocateIds, nextDocumentNumber, releaseIds } from "./ids.ts"
import { appendAndScrub } from "../events/journal.ts"
import { type Settings, settings_table, settingsFrom } from "../events/settings.ts"
import { type Catalogue, CommandRuntime, type SecretBox } from "../endpoints/endpoint.ts"
import { Store } from "../store/store.ts"

interface ServerRuntimeOptions {
  readonly catalogue: Catalogue
  /** Returns a new UUID v7; passed in because core is pure. */
  readonly commandId: () => string
  /** Without it, secrets cannot be set. */
  readonly secrets?: SecretBox
}

/** The settings: stored values over the defaults. A group of slices that are not loaded yet loads them when read. */
export const storedSettings = (catalogue: Catalogue) => {
  // The same rows, if a device kept them from its last command.
  const made = new WeakMap<object, Settings>()
  return Effect.map(Store.find(settings_table, {}), (rows) => {
    const before = made.get(rows)
    if (before !== undefined) return before
    const settings = settingsOf(catalogue, rows)
    made.set(rows, settings)
    return settings
  })
}
const settingsOf = (catalogue: Catalogue, rows: Parameters<typeof settingsFrom>[1]): Settings => {
  const { loaded } = catalogue
  const known = settingsFrom(loaded.settings, rows)
  if (loaded === catalogue) return known
  return new Proxy(known, {
    get: (groups, name) =>
      typeof name === "symbol" || name in groups
        ? Reflect.get(groups, name)
        : Reflect.get(settingsFrom(catalogue.settings, rows), name)
  })
}

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
      project: Store.apply,
      append: (events, metadata, is_last) => appendAndScrub(catalogue.scrubs, events, metadata, is_last),
      settings: storedSettings(catalogue),
      ...(secrets === undefined ? {} : { secrets })
    })
  )

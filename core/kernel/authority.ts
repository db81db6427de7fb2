/** The site whose verdict is final: ids and numbers from its own sequences, events into the journal for everyone. */
import { Effect, Layer } from "effect"
import type { Catalogue } from "./catalogue.ts"
import { drawIds, drawNumber, returnIds } from "./ids.ts"
import { appendScrubbing, foldNew } from "./journal.ts"
import { settings_table, settingsFrom } from "./settings.ts"
import { Site } from "./site.ts"
import { Store } from "./store/store.ts"

export interface AuthorityOptions {
  readonly catalogue: Catalogue
  /** Chance comes from outside: a new UUID v7. */
  readonly commandId: () => string
}

/** Reads the settings that were changed and lays them over the defaults. */
export const storedSettings = (catalogue: Catalogue) => Effect.gen(function*() {
  const store = yield* Store
  return settingsFrom(catalogue.settings, yield* store.find(settings_table, {}))
})

export const authority = ({ catalogue, commandId }: AuthorityOptions): Layer.Layer<Site> => Layer.succeed(Site, Site.of({
  role: "server",
  catalogue,
  commandId: Effect.sync(commandId),
  takeIds: drawIds,
  giveBackIds: returnIds,
  takeNumber: (sequence) => Effect.flatMap(Store, (store) => drawNumber(store, sequence)),
  fold: (events, recording) => foldNew(catalogue.projection, events, recording),
  append: (events, recording) => appendScrubbing(catalogue.scrubs, events, recording),
  settings: storedSettings(catalogue)
}))

/** Tells at the start which secrets of the settings the server's key does not open, before something needs them. */
import { Effect } from "effect"
import { lostSecrets, unreadableSecrets } from "../core/settings/secrets.ts"
import type { ServerSlice } from "./server-slice.ts"

export const secretSettingsSlice: ServerSlice = {
  name: "secret_settings",
  background: Effect.flatMap(lostSecrets, (lost) =>
    lost.length === 0 ? Effect.void : Effect.logWarning(unreadableSecrets(lost))
  )
}

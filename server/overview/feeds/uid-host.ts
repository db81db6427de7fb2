/** Host in the UIDs of calendar entries: that of the server's first URL, even if it changes. */
import { Clock, Effect } from "effect"
import { uid_host_setting, uidHost } from "../../../core/overview/calendar/api.ts"
import { settings_table, settingsUpdated } from "../../../core/kernel/events/settings.ts"
import { lockDatabase } from "../../../core/kernel/runtime/schema.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { instantOf } from "../../../core/values/time.ts"
import { recordByServer } from "../../ports/server-context.ts"

/** Stores the host unless one is stored. Concurrent starts wait for each other. */
export const keepUidHost = Effect.fnUntraced(function* (public_url: string) {
  if ((yield* Store.get(settings_table, uid_host_setting)) !== undefined) return
  yield* Store.transaction(
    Effect.gen(function* () {
      yield* lockDatabase
      if ((yield* Store.get(settings_table, uid_host_setting)) !== undefined) return
      const recorded_at = instantOf(yield* Clock.currentTimeMillis)
      const [group = "", key = ""] = uid_host_setting.split(".")
      yield* recordByServer([settingsUpdated.make({ group, values: { [key]: uidHost(public_url) } })], recorded_at)
    })
  )
})

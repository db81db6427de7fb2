/** How the house has set a type of notification. */
import { Effect } from "effect"
import type { Failure } from "../../core/kernel/failure.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { TypeSetting } from "../../core/notifications/effective.ts"
import { notification_settings } from "../../core/notifications/schema.ts"

/** Undefined where nobody has set it. */
export const typeSetting = (type: string): Effect.Effect<TypeSetting | undefined, Failure, Store> =>
  Effect.flatMap(Store, (store) => store.get(notification_settings, type))

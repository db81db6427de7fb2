/** Rows of `notifications` as their reader may see them, in the words they are shown by. */
import { Clock, Effect } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { render, viewContext } from "../../core/kernel/resource.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { notificationRules } from "../../core/notifications/rules.ts"
import { notificationType } from "../../core/notifications/types.ts"
import { instantOf } from "../../core/values/time.ts"
import type { User } from "../users.ts"
import { notificationResource } from "./api.ts"
import { maySee } from "./people.ts"
import type { NotificationRow } from "./schema.ts"
import { wordsFor } from "./words.ts"

/** A person as they read what they are told, by whatever token: in a mail by none. */
export const readerOf = (user: User): Viewer => ({ ...user, abilities: new Set(["*"]), token_id: null })

export interface NotificationText {
  readonly title: string
  readonly body: string | null
}
/** One for each row; undefined for what the viewer may not see any more. */
export const textsOf = Effect.fnUntraced(function* (
  rows: ReadonlyArray<NotificationRow>,
  viewer: Viewer
): Effect.fn.Return<ReadonlyArray<NotificationText | undefined>, Failure, Store | CommandRuntime> {
  const seen = rows.filter(({ seen_with }) => maySee(viewer, seen_with))
  const wordsOf = yield* wordsFor(seen, yield* (yield* CommandRuntime).settings)
  return rows.map((row) => (maySee(viewer, row.seen_with) ? wordsOf(row) : undefined))
})

/** As lists show them; what the viewer may not see any more is left out. */
export const shownRows = Effect.fnUntraced(function* (
  rows: ReadonlyArray<NotificationRow>,
  viewer: Viewer
): Effect.fn.Return<
  ReadonlyArray<{ readonly id: number; readonly shown: JsonObject }>,
  Failure,
  Store | CommandRuntime
> {
  const seen = rows.filter(({ seen_with }) => maySee(viewer, seen_with))
  const { catalogue, settings } = yield* CommandRuntime
  const now = instantOf(yield* Clock.currentTimeMillis)
  const context = viewContext({ viewer, settings: yield* settings, now, composed: catalogue.composed })
  const shown = yield* render(notificationResource, seen, [], context)
  return seen.map(({ id }, at) => ({ id, shown: shown[at] ?? {} }))
})

/** Which of these rows this person wants by e-mail now. */
export const isMailedTo = Effect.fnUntraced(function* (
  { person_id }: Pick<Viewer, "person_id">,
  rows: ReadonlyArray<NotificationRow>
): Effect.fn.Return<(row: NotificationRow) => boolean, Failure, Store> {
  const rules = yield* notificationRules(
    person_id === null ? [] : [person_id],
    rows.map(({ notification_type }) => notification_type)
  )
  return ({ notification_type }) => {
    const type = notificationType(notification_type)
    return type !== undefined && rules.channels(person_id ?? 0, type).has("email")
  }
})

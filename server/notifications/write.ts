/** Writes down what people are told, once each. */
import { Clock, Effect } from "effect"
import { itemAt } from "../../core/values/lists.ts"
import { instantOf } from "../../core/values/time.ts"
import { notificationRules } from "../../core/notifications/rules.ts"
import { notificationType } from "../../core/notifications/types.ts"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { allocateIds } from "../../core/kernel/ids.ts"
import { insert } from "../../core/kernel/row-change.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import type { Happening } from "./happening.ts"
import { gatherBursts } from "./bursts.ts"
import { peopleFor } from "./people.ts"
import { rowsOf } from "./rows.ts"
import { type NotificationRow, notifications } from "./schema.ts"
import { rowsTold } from "./written.ts"

/** Told of rows after they are committed. */
export type Wrote = (rows: ReadonlyArray<NotificationRow>) => void

/**
 * Whoever listens goes on from the last id they were told: rows are committed in the order of their ids, so that none
 * comes behind one that was told already. SQLite has one writer anyway.
 */
const in_order = "select pg_advisory_xact_lock(hashtextextended('ids of notifications', 0))"

const nobody: ReadonlySet<never> = new Set()
const channelsOf = Effect.fnUntraced(function* (viewers: ReadonlyArray<Viewer>, types: ReadonlyArray<string>) {
  const member_ids = viewers.flatMap(({ person_id }) => person_id ?? [])
  const rules = yield* notificationRules(member_ids, types)
  return ({ person_id }: Viewer, key: string) => {
    const type = notificationType(key)
    return type === undefined ? nobody : rules.channels(person_id ?? 0, type)
  }
})

/** Answers how many rows there are now that were not there. Does nothing again that was done. */
export const writeDown = Effect.fnUntraced(function* (
  happenings: ReadonlyArray<Happening>,
  wrote: Wrote
): Effect.fn.Return<number, Failure, Store | CommandRuntime> {
  if (happenings.length === 0) return 0
  const store = yield* Store
  const people = yield* peopleFor()
  const reached = [...new Set(happenings.flatMap((one) => people.of(one)))]
  const types = [...new Set(happenings.map((one) => one.notification_type))]
  const effective = yield* channelsOf(reached, types)
  const now = yield* Clock.currentTimeMillis
  const fresh = rowsOf(happenings, people, effective, instantOf(now))
  if (fresh.length === 0) return 0
  return yield* store.transaction(
    Effect.gen(function* () {
      if (store.dialect === "pg") yield* store.run(in_order)
      const keys = fresh.map(({ dedupe_key }) => dedupe_key)
      const known = new Set((yield* store.find(notifications, { dedupe_key: keys })).map((row) => row.dedupe_key))
      const unknown = fresh.filter(({ dedupe_key }) => !known.has(dedupe_key))
      if (unknown.length === 0) return 0
      const written = yield* gatherBursts(happenings, unknown, now)
      const ids = yield* allocateIds(notifications.name, written.rows.length)
      const rows = written.rows.map((row, at): NotificationRow => ({ id: itemAt(ids, at), ...row }))
      yield* store.apply([...written.changes, ...rows.map((row) => insert(notifications, row))])
      yield* rowsTold(rows)
      yield* store.sql.afterCommit(Effect.sync(() => wrote(rows)))
      return rows.length
    })
  )
})

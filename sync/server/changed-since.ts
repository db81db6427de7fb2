/**
 * A device takes a command back by what it knew then. What others have done since to the same rows is not taken back
 * with it (rules/undo 4): the command is refused, and names who did it where its sender may see that.
 */
import { Effect } from "effect"
import { CommandRuntime, type Failure } from "../../core/kernel/endpoints/endpoint.ts"
import { streamsOfCommand } from "../../core/kernel/runtime/engine.ts"
import type { StoredEvent } from "../../core/kernel/events/event-type.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import { later } from "../../core/kernel/fields/later.ts"
import { lockFirst } from "../../core/kernel/runtime/locks.ts"
import { statusOf, type Viewer } from "../../core/kernel/fields/rejection.ts"
import { chunked } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { users } from "../../core/people/users/permissions.ts"
import type { RowTouch, WatchedChange } from "../protocol/events.ts"
import { columnOf, commandDecided, rowKey, touchesOf, watching } from "../protocol/events.ts"
import { type Redaction, redactionFor } from "../protocol/redaction.ts"
import type { UnlessChanged, WireCommand, WireError } from "../protocol/wire.ts"

const naming = later(() => import("../../core/offline/undo/called.ts"))

export const changedSince = Effect.fnUntraced(function* (
  replica_id: number,
  { name, payload, unless_changed }: WireCommand,
  viewer: Viewer
): Effect.fn.Return<WireError | undefined, Failure, Store | CommandRuntime> {
  if (unless_changed === undefined || unless_changed.streams.length === 0) return undefined
  const { catalogue } = yield* CommandRuntime
  const endpoint = catalogue.endpoint(name)
  const own = endpoint?.kind === "command" ? streamsOfCommand(endpoint, payload.params, payload.body) : []
  // Lock first: concurrent writers commit either before this check or after this command.
  yield* lockFirst([...own, ...unless_changed.streams])
  const look = watching(catalogue, unless_changed.rows)
  for (const event of yield* eventsOfOthers(replica_id, unless_changed)) {
    const change = look(event, event.recorded_at)
    if (change === undefined || event.position <= unless_changed.since || event.replica_id === replica_id) continue
    const redaction = redactionFor(catalogue, viewer, replica_id)
    const told = redaction.see(event)
    const seen =
      told === undefined ? [] : touchesOf({ catalogue }, { stream: event.stream, ...told }, event.recorded_at)
    const is_seen = seen.some((touch) => isTouchOf(touch, change))
    return refusal(
      (is_seen ? yield* described(redaction, event, change) : undefined) ?? "what it changed was changed since"
    )
  }
  return undefined
})
/** Whether the change is visible in a reader's version of the event. */
const isTouchOf = (touch: RowTouch, { by, watched }: WatchedChange): boolean =>
  rowKey(touch) === rowKey(by) && (watched === undefined || columnOf(watched) in touch.columns)

/** Later events; all events where single values of documents are watched, which depend on earlier ones. */
const eventsOfOthers = Effect.fnUntraced(function* (replica_id: number, { rows, since, streams }: UnlessChanged) {
  const store = yield* Store
  const all = Object.values(rows).some((values) => values.some((one) => one !== columnOf(one)))
  const { sql } = store
  const later = all
    ? sql.literal("")
    : sql`and position > ${since} and (replica_id is null or replica_id <> ${replica_id})`
  const found: Array<number> = []
  for (const some of chunked([...new Set(streams)], 5_000)) {
    const rows = yield* sql<{ position: number }>`
      select position from journal where stream in ${sql.in(some)} and type <> ${commandDecided.type} ${later}`
    for (const { position } of rows) found.push(Number(position))
  }
  const events = yield* store.getMany(journal, found)
  return [...(events as ReadonlyArray<StoredEvent>)].sort((one, other) => one.position - other.position)
})

/** Description of the change, its author and time; undefined if the row is not visible to this reader. */
const described = Effect.fnUntraced(function* (
  redaction: Redaction,
  { actor_id, recorded_at }: StoredEvent,
  { key: id, table, watched }: WatchedChange
) {
  const key = table.key === "id" ? Number(id) : String(id)
  const row = yield* Store.get(table, key)
  const shown = row === undefined ? undefined : redaction.row(table, row)
  if (row !== undefined && shown === undefined) return undefined
  const actor = actor_id === null ? undefined : yield* Store.get(users, actor_id)
  const name = actor === undefined ? undefined : redaction.row(users, actor)?.["name"]
  const who = typeof name === "string" && name !== "" ? name : "somebody else"
  const { calledRow } = yield* naming
  const called = calledRow(table, key, shown === undefined ? undefined : { ...shown })
  const what = `${called}${watched === undefined ? "" : `: ${columnOf(watched).replaceAll("_", " ")}`}`
  return `${what} was changed since by ${who} (${recorded_at})`
})
const refusal = (what: string): WireError => {
  const message = `Not taken back: ${what}.`
  return { status: statusOf.conflict, message, errors: { unless_changed: [message] } }
}

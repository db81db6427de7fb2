/**
 * A device takes a command back by what it knew then. What others have done since to the same rows is not taken back
 * with it (rules/undo 4): the command is refused, and names who did it.
 */
import { Effect } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { lockStreams } from "../../core/kernel/engine.ts"
import type { Failure } from "../../core/kernel/endpoint.ts"
import type { StoredEvent } from "../../core/kernel/event.ts"
import { journal } from "../../core/kernel/journal.ts"
import { statusOf } from "../../core/kernel/rejection.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Table } from "../../core/kernel/table.ts"
import { calledRow } from "../../core/undo/called.ts"
import { users } from "../../core/users/schema.ts"
import { commandDecided } from "../protocol/events.ts"
import { rowKey, touchesOf } from "../protocol/touches.ts"
import type { UnlessChanged, WireCommand, WireError } from "../protocol/wire.ts"

export const changedSince = Effect.fnUntraced(function* (
  replica_id: number,
  { unless_changed }: WireCommand
): Effect.fn.Return<WireError | undefined, Failure, Store | CommandRuntime> {
  if (unless_changed === undefined || unless_changed.streams.length === 0) return undefined
  // Whoever is about to change the same rows comes before this look, or after this command.
  yield* lockStreams(unless_changed.streams)
  const { catalogue } = yield* CommandRuntime
  const columns = new Map(Object.entries(unless_changed.rows))
  for (const event of yield* eventsOfOthers(replica_id, unless_changed))
    for (const touch of touchesOf({ catalogue }, event, event.recorded_at)) {
      const wanted = columns.get(rowKey(touch))
      const column = wanted?.find((one) => one in touch.columns)
      if (wanted === undefined || (wanted.length > 0 && column === undefined)) continue
      const key = touch.table.key === "id" ? Number(touch.key) : String(touch.key)
      return yield* refusal(event, touch.table, key, column)
    }
  return undefined
})

const eventsOfOthers = Effect.fnUntraced(function* (replica_id: number, { since, streams }: UnlessChanged) {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const found = yield* store.run<{ position: number }>(
    `select position from journal where stream in (${streams.map(bind).join(", ")}) and position > ${bind(since)} ` +
      `and (replica_id is null or replica_id <> ${bind(replica_id)}) and type <> ${bind(commandDecided.type)}`,
    values
  )
  const events = yield* store.getMany(
    journal,
    found.map(({ position }) => Number(position))
  )
  return [...(events as ReadonlyArray<StoredEvent>)].sort((one, other) => one.position - other.position)
})

const refusal = Effect.fnUntraced(function* (
  { actor_id, recorded_at }: StoredEvent,
  table: Table,
  key: string | number,
  column: string | undefined
) {
  const store = yield* Store
  const row = yield* store.get(table, key)
  const who = actor_id === null ? undefined : (yield* store.get(users, actor_id))?.name
  const called = calledRow(table, key, row === undefined ? undefined : { ...row })
  const what = `${called}${column === undefined ? "" : `: ${column.replaceAll("_", " ")}`}`
  const message = `Not taken back: ${what} was changed since by ${who ?? "somebody else"} (${recorded_at}).`
  return { status: statusOf.conflict, message, errors: { unless_changed: [message] } } satisfies WireError
})

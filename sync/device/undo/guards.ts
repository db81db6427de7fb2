/** What forbids an undo: values that somebody set since, rows that others have worked on. It names who and when. */
import { Effect } from "effect"
import { type JsonObject, sameJson } from "../../../core/kernel/json.ts"
import { journal } from "../../../core/kernel/journal.ts"
import type { StoredEvent } from "../../../core/kernel/event.ts"
import type { Failure } from "../../../core/kernel/endpoint.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Done, Expected, Undoing } from "../../../core/undo/compensation.ts"
import { commandDecided } from "../../protocol/events.ts"
import { columnOf, valueAt, watching } from "../../protocol/touches.ts"
import { actorOf, isByOtherDevice, isWorthShowing, rowKey, touchesOf } from "../outcomes/describe-event.ts"
import type { DoneEffects, OutboxCommand } from "../outbox/command.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { UnlessChanged } from "../../protocol/wire.ts"
import { eventsOf, type UndoContext } from "./facts.ts"

export type UndoGuard = Omit<UnlessChanged, "since">

/** Somebody's later change, and where it stands in the way. */
export interface Later {
  readonly what: string
  readonly field: string | null
  readonly who: string | null
  readonly when: string | null
  /** The command of this device that did it; null where it came from elsewhere. */
  readonly n: number | null
}

/**
 * The first later change that an undo would take back with its own. `with_it`: commands that are undone before it in
 * the same go.
 */
export const laterChange = Effect.fnUntraced(function* (
  context: UndoContext,
  outbox: Outbox,
  command: OutboxCommand,
  effects: DoneEffects,
  done: Done,
  undoing: Extract<Undoing, { kind: "requests" }>,
  with_it: ReadonlySet<string>
) {
  const changed = (undoing.expects ?? []).filter((one) => !holds(done, one))
  const untouched = undoing.untouched ?? []
  if (changed.length === 0 && untouched.length === 0) return undefined
  const later = yield* eventsAfter(context, command, effects)
  for (const { column, key, table } of changed) {
    const place = `${table}/${key}`
    const look = watching(context.catalogue, { [place]: [column] }, new Map([[place, leftBy(done, { key, table })]]))
    const event = later.filter((one) => look(one, one.recorded_at) !== undefined).at(-1)
    if (event === undefined || !with_it.has(event.command_id))
      return yield* described(outbox, event, done.called(table, key), columnOf(column))
  }
  for (const { key, table } of untouched) {
    const look = watching(context.catalogue, { [`${table}/${key}`]: [] })
    const event = later.find((one) => isByOtherDevice(context, one) && look(one, one.recorded_at) !== undefined)
    if (event !== undefined) return yield* described(outbox, event, done.called(table, key), null)
  }
  return undefined
})
/**
 * The latest change that somebody made since to what the command changed, itself or what is undone in the same go left
 * out: it is why the rules do not take the command back any more.
 */
export const latestChange = Effect.fnUntraced(function* (
  context: UndoContext,
  outbox: Outbox,
  command: OutboxCommand,
  effects: DoneEffects,
  done: Done,
  with_it: ReadonlySet<string>
) {
  const own = new Set(done.rows.map(({ key, table }) => `${table}/${key}`))
  for (const event of (yield* eventsAfter(context, command, effects)).toReversed()) {
    if (event.command_id === command.id || with_it.has(event.command_id)) continue
    const touch = touchesOf(context, event, event.recorded_at).find((one) => own.has(rowKey(one)))
    if (touch === undefined) continue
    const field = Object.keys(touch.columns).find((column) => isWorthShowing(touch.table, column))
    return yield* described(outbox, event, done.called(touch.table.name, touch.key as string | number), field ?? null)
  }
  return undefined
})
/** The same for whoever decides it later: what others must not have changed once the command arrives. */
export const guardOf = Effect.fnUntraced(function* (
  context: UndoContext,
  command: OutboxCommand,
  effects: DoneEffects,
  { expects = [], untouched = [] }: Extract<Undoing, { kind: "requests" }>
): Effect.fn.Return<UndoGuard | undefined, Failure, Store> {
  if (expects.length === 0 && untouched.length === 0) return undefined
  const rows: { [row: string]: ReadonlyArray<string> } = {}
  for (const { column, key, table } of expects) rows[`${table}/${key}`] = [...(rows[`${table}/${key}`] ?? []), column]
  // No column named: all that people work on.
  for (const { key, table } of untouched) rows[`${table}/${key}`] = []
  const streams = (yield* eventsOf(command, effects, context.replica_id)).map(({ stream }) => stream)
  return { streams: [...new Set(streams)], rows }
})
/** The columns of a row as the command left them: what it did not set is as it was before. */
const leftBy = ({ rows }: Done, { key, table }: Pick<Expected, "key" | "table">): JsonObject => {
  const row = rows.find((one) => one.table === table && one.key === key)
  return { ...row?.before, ...row?.set }
}
/** A row that is gone holds nothing any more: the rules say what that means. */
const holds = (done: Done, expected: Expected): boolean => {
  const { column, key, table } = expected
  const now = done.rows.find((one) => one.table === table && one.key === key)?.now
  const left = leftBy(done, expected)
  return now === undefined || !(columnOf(column) in left) || sameJson(valueAt(now, column), valueAt(left, column))
}
export const eventsAfter = Effect.fnUntraced(function* (
  context: UndoContext,
  command: OutboxCommand,
  effects: DoneEffects
) {
  const store = yield* Store
  const streams = [...new Set((yield* eventsOf(command, effects, context.replica_id)).map(({ stream }) => stream))]
  const events = (yield* store.find(journal, { stream: streams }, { order: ["position"] })).filter(
    ({ type }) => type !== commandDecided.type
  ) as ReadonlyArray<StoredEvent>
  const own = events.findLast(({ command_id }) => command_id === command.id)
  // Where its own events came as rows of a fill, all that is in the journal here is later.
  return events.filter(({ position }) => own === undefined || position > own.position)
})
export const described = Effect.fnUntraced(function* (
  outbox: Outbox,
  event: StoredEvent | undefined,
  what: string,
  field: string | null
) {
  if (event === undefined) return { what, field, who: null, when: null, n: null } satisfies Later
  const actor = yield* actorOf(event)
  return {
    what,
    field,
    who: actor?.name ?? null,
    when: event.recorded_at,
    n: outbox.find(event.command_id)?.n ?? null
  } satisfies Later
})

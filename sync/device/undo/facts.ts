/** Facts for compensating a command: its events, and the rows it changed, before and now. */
import { Effect } from "effect"
import { baseCurrency, CommandRuntime, isJsonObject, journal, Store } from "../../../core/kernel/index.ts"
import type { Catalogue, Endpoint, Json, JsonObject } from "../../../core/kernel/index.ts"
import type { Table, Viewer } from "../../../core/kernel/index.ts"
import { baseView, render, viewContext } from "../../../core/kernel/lists/render.ts"
import type { ChangedRow, Done } from "../../../core/offline/undo/compensation.ts"
import { calledRow, naming } from "../../../core/offline/undo/called.ts"
import { commandDecided } from "../../protocol/events.ts"
import { type DescriptionContext, rowKey, touchesOf } from "../outcomes/describe-event.ts"
import type { DoneEffects, EventSummary, OutboxCommand } from "../outbox/rows.ts"

export interface UndoContext extends DescriptionContext {
  readonly viewer: Viewer
  readonly now: string
}

const keyOf = (table: Table, key: string): string | number => {
  const id = Number(key)
  return table.key === "id" && Number.isInteger(id) ? id : key
}

/** Events of a command: those in the journal, where the server may have decided otherwise, else those recorded here. */
export const eventsOf = Effect.fnUntraced(function* (command: OutboxCommand, done: DoneEffects, replica_id: number) {
  const stored = yield* Store.find(journal, { command_id: command.id, replica_id }, { order: ["position"] })
  const events = stored.filter(({ type }) => type !== commandDecided.type)
  return events.length > 0
    ? events.map(({ data, stream, type }): EventSummary => ({ stream, type, data: isJsonObject(data) ? data : {} }))
    : done.events
})

export const doneOf = Effect.fnUntraced(function* (
  context: UndoContext,
  command: OutboxCommand,
  endpoint: Endpoint,
  done: DoneEffects
) {
  const { catalogue } = context
  const set = new Map<string, { [column: string]: Json }>()
  for (const event of yield* eventsOf(command, done, context.replica_id))
    for (const touch of touchesOf(context, event, command.issued_at)) {
      const place = rowKey(touch)
      set.set(place, { ...set.get(place), ...touch.columns })
    }
  const before_it = yield* changedBeforeIt(context, command, done)
  const rows: Array<ChangedRow> = []
  for (const place of new Set([...Object.keys(done.rows), ...done.made])) {
    const at = place.indexOf("/")
    const table = catalogue.table(place.slice(0, at))
    const key = keyOf(table, place.slice(at + 1))
    const recorded = done.rows[place]
    const before = recorded === undefined ? undefined : { ...recorded, ...before_it.get(place) }
    const now = yield* Store.get(table, key)
    rows.push({
      table: table.name,
      key,
      before,
      shown: before === undefined ? {} : yield* shownRow(context, table, before),
      set: set.get(place) ?? {},
      now: now === undefined ? undefined : { ...now }
    })
  }
  const called = yield* namesOf(catalogue, endpoint, command, rows)
  return { endpoint, params: command.payload.params, body: command.payload.body, rows, called } satisfies Done
})

/**
 * Values, by row, that other events set after the command was recorded here and before the server decided it: those
 * are the ones it replaced.
 */
const changedBeforeIt = Effect.fnUntraced(function* (
  context: UndoContext,
  { base, id, issued_at }: OutboxCommand,
  { events }: DoneEffects
) {
  const columns = new Map<string, JsonObject>()
  const own = (yield* Store.find(
    journal,
    { command_id: id, replica_id: context.replica_id },
    { order: ["position"] }
  )).filter(({ type }) => type !== commandDecided.type)
  const [first] = own
  if (base === null || first === undefined) return columns
  const streams = [...new Set([...own, ...events].map(({ stream }) => stream))]
  const known = yield* Store.find(journal, { stream: streams }, { order: ["position"] })
  for (const event of known) {
    if (event.position <= base || event.position >= first.position || event.type === commandDecided.type) continue
    for (const touch of touchesOf(context, event, issued_at))
      columns.set(rowKey(touch), { ...columns.get(rowKey(touch)), ...touch.columns })
  }
  return columns
})

const shownRow = Effect.fnUntraced(function* (context: UndoContext, table: Table, row: JsonObject) {
  const settings = yield* (yield* CommandRuntime).settings
  const { catalogue, now, viewer } = context
  const view = viewContext({ viewer, settings, now, composed: catalogue.composed })
  const resource = catalogue.resources.find((one) => one.table === table)
  if (resource === undefined) return baseView(table, row, view)
  const [shown] = yield* render(resource, [row], [], view)
  return { ...baseView(table, row, view), ...shown }
})

/** Names of the rows it changed, of those in its path, and of those they reference. */
const namesOf = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  endpoint: Endpoint,
  { payload }: OutboxCommand,
  rows: ReadonlyArray<ChangedRow>
) {
  const names = new Map<string, string>()
  const keep = (table: string, key: string | number, row: JsonObject | undefined): void => {
    names.set(`${table}/${key}`, calledRow(catalogue.table(table), key, row))
  }
  const wanted = new Map<string, readonly [table: Table, key: number]>()
  const want = (name: string, id: Json | undefined): void => {
    if (typeof id === "number") wanted.set(`${name}/${id}`, [catalogue.table(name), id])
  }
  for (const [name, { table }] of Object.entries(endpoint.params)) want(table.name, Number(payload.params[name]))
  for (const [column, table] of Object.entries(naming)) {
    want(table, payload.body[column])
    for (const { before, now, set } of rows) want(table, (now ?? before ?? set)[column])
  }
  for (const { before, key, now, set, table } of rows) keep(table, key, { ...set, ...before, ...now })
  for (const [table, key] of wanted.values()) {
    const row = yield* Store.get(table, key)
    if (row !== undefined || !names.has(`${table.name}/${key}`))
      keep(table.name, key, row === undefined ? undefined : { ...row })
  }
  return (table: string, key: Json | undefined): string =>
    names.get(`${table}/${String(key)}`) ?? calledRow(catalogue.table(table), String(key), undefined)
})

export const undoContext = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  replica_id: number,
  viewer: Viewer,
  now: string
) {
  const settings = yield* (yield* CommandRuntime).settings
  return {
    catalogue,
    replica_id,
    viewer,
    now,
    base_currency: baseCurrency(settings),
    timezone: null
  } satisfies UndoContext
})

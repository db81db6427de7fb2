/**
 * Decides how pulled events are applied, and finds what events change of rows: pure functions, whose callers carry it
 * out.
 *
 * Notation: e7 is the server's event at position 7; c3 this device's command number 3, e(c3)' its provisional effects.
 * State before:  … e5 e6 | e(c3)' e(c4)'      pulled: e7 e8=decided(c3) e9
 * Rebase:        take back e(c4)' e(c3)'; apply e7 e8 e9; c3 is settled; redo c4 through the same rules.
 */
import { isJsonObject, sameJson, streamOf } from "../../core/kernel/index.ts"
import type { AnyRow, Catalogue, Json, Key, StoredEvent, Table } from "../../core/kernel/index.ts"
import { commandDecided, decidedIn, isWorthShowing, rowKey, type RowTouch, touchesOf } from "./events.ts"
import { replicaStream, type WireError } from "./wire.ts"

interface MergeState {
  readonly replica_id: number
  /** Position of the last confirmed event applied here. */
  readonly position: number
  /** Unsettled commands, in ascending order. */
  readonly pending: ReadonlyArray<{ readonly n: number; readonly id: string }>
  /** Whether there are provisional changes on top of the confirmed ones. */
  readonly provisional: boolean
}
interface Batch {
  readonly events: ReadonlyArray<StoredEvent>
  readonly up_to_date: boolean
}
/** A command of this device with its verdict. */
export interface SettledCommand {
  readonly n: number
  readonly status: "accepted" | "rejected"
  readonly error?: WireError
}
type MergeResult =
  /** Nothing new: do nothing. */
  | { readonly kind: "stay" }
  /** Nothing provisional: apply the events. */
  | {
      readonly kind: "advance"
      readonly events: ReadonlyArray<StoredEvent>
      readonly settled: ReadonlyArray<SettledCommand>
      readonly redo: ReadonlyArray<number>
    }
  /** Revert provisional changes, apply the events, and decide pending commands again. */
  | {
      readonly kind: "rebase"
      readonly events: ReadonlyArray<StoredEvent>
      readonly settled: ReadonlyArray<SettledCommand>
      readonly redo: ReadonlyArray<number>
    }
  /** Positions are out of order: nothing may be applied. */
  | { readonly kind: "reject"; readonly reason: string }

export const merge = (state: MergeState, batch: Batch): MergeResult => {
  for (let at = 1; at < batch.events.length; at++) {
    if (batch.events[at]!.position <= batch.events[at - 1]!.position) {
      return {
        kind: "reject",
        reason: `event ${batch.events[at]!.position} came after event ${batch.events[at - 1]!.position}`
      }
    }
  }
  const events = batch.events.filter((event) => event.position > state.position)
  const settled = settledBy(events, state)
  const still = state.pending.map((command) => command.n).filter((n) => !settled.some((one) => one.n === n))
  // During a long pull, commands are decided again at its end; if it is interrupted, on the next opening.
  const redo = batch.up_to_date ? still : []
  if (events.length === 0)
    return state.provisional || still.length === 0 || !batch.up_to_date
      ? { kind: "stay" }
      : { kind: "advance", events, settled, redo }
  return state.provisional ? { kind: "rebase", events, settled, redo } : { kind: "advance", events, settled, redo }
}

/**
 * Commands settled by these events: by their verdict, or by the first of their own events, as a chunk may end in
 * between and effects must not be applied twice. Refused commands have only a verdict.
 */
const settledBy = (
  events: ReadonlyArray<StoredEvent>,
  { replica_id, pending }: MergeState
): ReadonlyArray<SettledCommand> => {
  const settled = new Map<number, SettledCommand>()
  const stream = replicaStream(replica_id)
  for (const event of events) {
    if (event.replica_id !== replica_id) continue
    const command = pending.find((one) => one.id === event.command_id)
    if (command === undefined || settled.has(command.n)) continue
    const decided = event.type === commandDecided.type && event.stream === stream ? decidedIn(event.data) : undefined
    settled.set(
      command.n,
      decided === undefined
        ? { n: command.n, status: "accepted" }
        : { n: command.n, status: decided.status, ...(decided.error === undefined ? {} : { error: decided.error }) }
    )
  }
  return [...settled.values()]
}

// Changes of watched rows, found alike on device and server.

/** Whether a user made the change, rather than a rule. */
const isWork = ({ columns, op, table }: RowTouch): boolean =>
  op !== "update" ||
  Object.keys(columns).some((column) => isWorthShowing(table, column) && !table.follows.includes(column))

/** Column of a watched path: `custom_fields` for `custom_fields.12`, one value of the document. */
export const columnOf = (watched: string): string => watched.split(".", 1)[0] ?? watched
/** Value at a watched path in these columns; null if absent. */
export const valueAt = (columns: AnyRow, watched: string): Json => {
  const column = columnOf(watched)
  const value = columns[column] ?? null
  if (column === watched) return value
  return isJsonObject(value) ? (value[watched.slice(column.length + 1)] ?? null) : null
}

/** A change of a watched row. */
export interface WatchedChange {
  readonly table: Table
  readonly key: Key
  /** The changed path; undefined if the complete row is watched. */
  readonly watched: string | undefined
  /** The causing change, of the row itself or of one that belongs to it. */
  readonly by: RowTouch
}
/**
 * Returns a function that finds the watched change in each event of a sequence. Rows are watched by `table/key`, with
 * their paths (none: all columns that people edit, and dependent rows). `known`: earlier values, as events contain
 * complete documents.
 */
export const watching = (
  catalogue: Catalogue,
  rows: { readonly [row: string]: ReadonlyArray<string> },
  known: ReadonlyMap<string, AnyRow> = new Map()
): ((event: Parameters<typeof touchesOf>[1], recorded_at: string) => WatchedChange | undefined) => {
  const watched = new Map(Object.entries(rows))
  const before = new Map(known)
  const whole = new Map<string, { readonly table: Table; readonly key: Key }>()
  for (const [row, values] of watched) {
    const at = row.indexOf("/")
    const table = catalogue.tables.find(({ name }) => name === row.slice(0, at))
    const key = row.slice(at + 1)
    if (table !== undefined && values.length === 0) whole.set(streamOf(table.entity, key), { table, key })
  }
  const changeBy = (stream: string, by: RowTouch): WatchedChange | undefined => {
    const place = rowKey(by)
    const values = watched.get(place)
    if (values === undefined || values.length === 0) {
      const row = values === undefined ? whole.get(stream) : by
      return row !== undefined && isWork(by) ? { table: row.table, key: row.key, watched: undefined, by } : undefined
    }
    const had = before.get(place)
    const changed = values.find(
      (one) =>
        columnOf(one) in by.columns &&
        (one in by.columns || had === undefined || !sameJson(valueAt(had, one), valueAt(by.columns, one)))
    )
    before.set(place, { ...had, ...by.columns })
    return changed === undefined ? undefined : { table: by.table, key: by.key, watched: changed, by }
  }
  return (event, recorded_at) => {
    const changes = touchesOf({ catalogue }, event, recorded_at).map((touch) => changeBy(event.stream, touch))
    return changes.find((change) => change !== undefined)
  }
}

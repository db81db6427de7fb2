/** Obstacles to an undo: values set since, and rows changed by others, with author and time. */
import { Clock, Effect } from "effect"
import { journal, sameJson, Store } from "../../../core/kernel/index.ts"
import type { Catalogue, CommandRuntime, Failure, JsonObject, StoredEvent, Viewer } from "../../../core/kernel/index.ts"
import type { Done, Expected, Undoing, UndoRequest } from "../../../core/offline/undo/compensation.ts"
import { sentence } from "../../../core/offline/undo/compensation.ts"
import { commandDecided } from "../../protocol/events.ts"
import { columnOf, valueAt, watching } from "../../protocol/merge.ts"
import { actorOf, isByOtherDevice, isWorthShowing, rowKey, touchesOf } from "../outcomes/describe-event.ts"
import type { DoneEffects, OutboxCommand } from "../outbox/rows.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { UnlessChanged } from "../../protocol/wire.ts"
import { eventsOf, type UndoContext } from "./facts.ts"
import { instantOf } from "../../../core/values/time.ts"
import { deedOf } from "../../../core/offline/conflicts/intent.ts"
import type { LocalEffect, QueryResult, Replica } from "../replica/replica.ts"
import { refusedOf } from "../resolutions/ways-out.ts"

export type UndoGuard = Omit<UnlessChanged, "since">

/** A later change by somebody, and the row and field it conflicts in. */
export interface Later {
  readonly what: string
  readonly field: string | null
  readonly who: string | null
  readonly when: string | null
  /** Number of the device's command that made the change; null if it came from elsewhere. */
  readonly n: number | null
}

/** A command that left the device, and its effects. */
interface DoneCommand {
  readonly context: UndoContext
  readonly command: OutboxCommand
  readonly effects: DoneEffects
  readonly done: Done
}
/**
 * The first later change that an undo would revert as well; undefined if none. `with_it`: ids of commands undone
 * together with it.
 */
export const laterChange = Effect.fnUntraced(function* (
  { command, context, done, effects }: DoneCommand,
  outbox: Outbox,
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
 * The latest change by another command to rows that the command changed, which explains why the rules refuse the undo;
 * undefined if none. Commands in `with_it` do not count.
 */
export const latestChange = Effect.fnUntraced(function* (
  { command, context, done, effects }: DoneCommand,
  outbox: Outbox,
  with_it: ReadonlySet<string>
) {
  const own = new Set(done.rows.map(({ key, table }) => `${table}/${key}`))
  for (const event of (yield* eventsAfter(context, command, effects)).toReversed()) {
    if (event.command_id === command.id || with_it.has(event.command_id)) continue
    const touch = touchesOf(context, event, event.recorded_at).find((one) => own.has(rowKey(one)))
    if (touch === undefined) continue
    const field = Object.keys(touch.columns).find((column) => isWorthShowing(touch.table, column))
    return yield* described(outbox, event, done.called(touch.table.name, touch.key), field ?? null)
  }
  return undefined
})
/** State that others must not have changed when the undo reaches the server; undefined if nothing is guarded. */
export const guardOf = Effect.fnUntraced(function* (
  context: UndoContext,
  command: OutboxCommand,
  effects: DoneEffects,
  { expects = [], untouched = [] }: Extract<Undoing, { kind: "requests" }>
): Store.Reads<UndoGuard | undefined> {
  if (expects.length === 0 && untouched.length === 0) return undefined
  const rows: { [row: string]: ReadonlyArray<string> } = {}
  for (const { column, key, table } of expects) rows[`${table}/${key}`] = [...(rows[`${table}/${key}`] ?? []), column]
  // An empty list guards all columns that people edit.
  for (const { key, table } of untouched) rows[`${table}/${key}`] = []
  const streams = (yield* eventsOf(command, effects, context.replica_id)).map(({ stream }) => stream)
  return { streams: [...new Set(streams)], rows }
})
/** Columns of a row as the command left them; those it did not set have their earlier values. */
const leftBy = ({ rows }: Done, { key, table }: Pick<Expected, "key" | "table">): JsonObject => {
  const row = rows.find((one) => one.table === table && one.key === key)
  return { ...row?.before, ...row?.set }
}
/** Whether a value is as the command left it. True for a deleted row, about which the rules decide. */
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
  const streams = [...new Set((yield* eventsOf(command, effects, context.replica_id)).map(({ stream }) => stream))]
  const events = (yield* Store.find(journal, { stream: streams }, { order: ["position"] })).filter(
    ({ type }) => type !== commandDecided.type
  )
  const own = events.findLast(({ command_id }) => command_id === command.id)
  // If its own events came as rows of a fill, all events in the local journal are later.
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

// Dependencies of undo, its results, and types shared by its parts.

interface Named {
  readonly id: string
  readonly n: number
  /** Name of the endpoint. */
  readonly name: string
  readonly summary: string
  readonly issued_at: string
}
/** Effect of undoing one command. */
export interface UndoStep extends Named {
  /**
   * `withdraw`: not sent yet; `compensate`: by further commands; `nothing`: without remaining effects; `refused`:
   * changed since, refused before by the server, or by the rules here; `cannot`: no way to undo it is known.
   */
  readonly way: "withdraw" | "compensate" | "nothing" | "refused" | "cannot"
  readonly says: string
  readonly instead: string | null
  readonly requests: ReadonlyArray<UndoRequest>
  readonly later: Later | null
  /** The rules' refusal of the compensating commands; null if they were not refused. */
  readonly refusal: { readonly status: number; readonly message: string; readonly errors: JsonObject } | null
  /** State that must be unchanged when the requests reach the server; null if none. */
  readonly guard: UndoGuard | null
}
export interface UndoPlan {
  readonly steps: ReadonlyArray<UndoStep>
  /** Unsent commands that the rules would refuse without the withdrawn ones. */
  readonly dependants: ReadonlyArray<Named>
}
export type UndoFailure =
  | { readonly kind: "nothing" }
  | { readonly kind: "unknown" }
  | { readonly kind: "undone" | "conflict" | "settled"; readonly command: Named }
  | { readonly kind: "cannot" | "refused" | "dependants" | "changed"; readonly plan: UndoPlan }
  | { readonly kind: "answer"; readonly answer: QueryResult; readonly step: Named }
export type UndoResult =
  | { readonly ok: true; readonly plan: UndoPlan; readonly recorded: ReadonlyArray<number> }
  | { readonly ok: false; readonly failure: UndoFailure }
export interface UndoListed extends UndoStep {
  readonly run: string | null
}
/** Undo of recorded commands. `given`: a number or id; by default what the last program run recorded, or undid. */
export interface DeviceUndo {
  readonly list: (limit: number) => Promise<ReadonlyArray<UndoListed>>
  readonly plan: (given: string | undefined) => Promise<UndoResult>
  /** Undoes commands. `agreed`: the plan the user confirmed; nothing is done if the current plan differs. */
  readonly undo: (given: string | undefined, with_dependants: boolean, agreed?: UndoPlan) => Promise<UndoResult>
  /** Redoes undone commands. */
  readonly redo: (given: string | undefined) => Promise<UndoResult>
}

export interface UndoParts {
  readonly catalogue: Catalogue
  readonly replica_id: number
  readonly outbox: Outbox
  readonly replica: Replica
  readonly viewer: Effect.Effect<Viewer, Failure, Store>
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  /** Identifies this run of the program. */
  readonly run_id?: string
}

export const named = async ({ outbox, run }: UndoParts, command: OutboxCommand): Promise<Named> => {
  const { id, ids, issued_at, n, name } = command
  const refused = refusedOf(outbox, command)
  // Includes the rows it created.
  const made = Object.entries(ids).flatMap(([table, of]) => of.map((one) => ({ table, id: one })))
  const about = { ...refused, named: [...refused.named, ...made] }
  const summary = await run(Effect.flatMap(Clock.currentTimeMillis, (now) => deedOf(about, instantOf(now))))
  return { id, n, name, summary, issued_at }
}
export const failed = (failure: UndoFailure): UndoResult => ({ ok: false, failure })
/** Default values of a step. */
export const plain = { instead: null, requests: [], later: null, refusal: null, guard: null } as const

export const insteadOf = ({ n }: Later): string =>
  n === null ? "agree on it, and set it by hand" : `undo that first: flightcase undo ${n}`
export const laterText = ({ field, n, what, when, who }: Later): string => {
  const by = n !== null ? `command ${n} of this device` : (who ?? "somebody else")
  const at = when === null ? "" : ` (${when})`
  return sentence(`${what}${field === null ? "" : `: ${field.replaceAll("_", " ")}`} was changed since by ${by}${at}`)
}

/** Runs an undo in one transaction, which is rolled back if it fails. */
export const allOrNone = async ({ replica, run }: UndoParts, work: LocalEffect<UndoResult>): Promise<UndoResult> => {
  const result = await run(replica.together(work))
  await run(replica.rebase)
  return result
}

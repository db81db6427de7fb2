/** Obstacles to an undo: values set since, and rows changed by others. Names who and when. */
import { Clock, Effect } from "effect"
import { type JsonObject, sameJson } from "../../../core/kernel/fields/field.ts"
import { journal } from "../../../core/kernel/events/journal.ts"
import type { StoredEvent } from "../../../core/kernel/events/event-type.ts"
import type { Catalogue, CommandRuntime, Failure } from "../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Done, Expected, Undoing, UndoRequest } from "../../../core/offline/undo/compensation.ts"
import { sentence } from "../../../core/offline/undo/compensation.ts"
import { columnOf, commandDecided, valueAt, watching } from "../../protocol/events.ts"
import { actorOf, isByOtherDevice, isWorthShowing, rowKey, touchesOf } from "../outcomes/describe-event.ts"
import type { DoneEffects, OutboxCommand } from "../outbox/rows.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { UnlessChanged } from "../../protocol/wire.ts"
import { eventsOf, type UndoContext } from "./facts.ts"
import type { Viewer } from "../../../core/kernel/fields/rejection.ts"
import { instantOf } from "../../../core/values/time.ts"
import { deedOf } from "../../../core/offline/conflicts/intent.ts"
import type { LocalEffect, QueryResult, Replica } from "../replica/replica.ts"
import { refusedOf } from "../resolutions/ways-out.ts"

export type UndoGuard = Omit<UnlessChanged, "since">

/** Somebody's later change, and where it conflicts. */
export interface Later {
  readonly what: string
  readonly field: string | null
  readonly who: string | null
  readonly when: string | null
  /** The command of this device that did it; null where it came from elsewhere. */
  readonly n: number | null
}

/** A command that left the device, and what it did. */
interface DoneCommand {
  readonly context: UndoContext
  readonly command: OutboxCommand
  readonly effects: DoneEffects
  readonly done: Done
}
/**
 * The first later change that an undo would take back with its own. `with_it`: commands that are undone before it in
 * the same go.
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
 * The latest change that somebody made since to what the command changed, itself or what is undone in the same go left
 * out: it is why the rules do not take the command back any more.
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
    return yield* described(outbox, event, done.called(touch.table.name, touch.key as string | number), field ?? null)
  }
  return undefined
})
/** The same for the server: state that others must not have changed when the command arrives. */
export const guardOf = Effect.fnUntraced(function* (
  context: UndoContext,
  command: OutboxCommand,
  effects: DoneEffects,
  { expects = [], untouched = [] }: Extract<Undoing, { kind: "requests" }>
): Store.Reads<UndoGuard | undefined> {
  if (expects.length === 0 && untouched.length === 0) return undefined
  const rows: { [row: string]: ReadonlyArray<string> } = {}
  for (const { column, key, table } of expects) rows[`${table}/${key}`] = [...(rows[`${table}/${key}`] ?? []), column]
  // No column named: all that people work on.
  for (const { key, table } of untouched) rows[`${table}/${key}`] = []
  const streams = (yield* eventsOf(command, effects, context.replica_id)).map(({ stream }) => stream)
  return { streams: [...new Set(streams)], rows }
})
/** Columns of a row as the command left them: unset columns are as before. */
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
  const streams = [...new Set((yield* eventsOf(command, effects, context.replica_id)).map(({ stream }) => stream))]
  const events = (yield* Store.find(journal, { stream: streams }, { order: ["position"] })).filter(
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

// Undo's dependencies, its results, and types its parts share.

interface Named {
  readonly id: string
  readonly n: number
  /** The endpoint's name. */
  readonly name: string
  readonly summary: string
  readonly issued_at: string
}
/** Effect of undoing one command. */
export interface UndoStep extends Named {
  /**
   * `withdraw`: it was not sent; `compensate`: commands follow it; `nothing`: its effects are gone already; `refused`:
   * somebody changed it since, or the rules refuse what would follow; `cannot`: nothing takes such a command back.
   */
  readonly way: "withdraw" | "compensate" | "nothing" | "refused" | "cannot"
  readonly says: string
  readonly instead: string | null
  readonly requests: ReadonlyArray<UndoRequest>
  readonly later: Later | null
  /** The rules' refusal of the compensating commands; null if they were not refused. */
  readonly refusal: { readonly status: number; readonly message: string; readonly errors: JsonObject } | null
  /** State that must be unchanged when the requests arrive at the server. */
  readonly guard: UndoGuard | null
}
export interface UndoPlan {
  readonly steps: ReadonlyArray<UndoStep>
  /** Unsent commands that do not hold without those to be withdrawn. */
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
/** `given`: a command's number or id; undefined for what the last run of the program recorded. */
export interface DeviceUndo {
  readonly list: (limit: number) => Promise<ReadonlyArray<UndoListed>>
  readonly plan: (given: string | undefined) => Promise<UndoResult>
  /** `agreed`: the plan a person has seen; nothing is done where undoing would do anything else by now. */
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
  /** Names this run of the program. */
  readonly run_id?: string
}

export const named = async ({ outbox, run }: UndoParts, command: OutboxCommand): Promise<Named> => {
  const { id, ids, issued_at, n, name } = command
  const refused = refusedOf(outbox, command)
  // Rows it created are part of its subject.
  const made = Object.entries(ids).flatMap(([table, of]) => of.map((one) => ({ table, id: one })))
  const about = { ...refused, named: [...refused.named, ...made] }
  const summary = await run(Effect.flatMap(Clock.currentTimeMillis, (now) => deedOf(about, instantOf(now))))
  return { id, n, name, summary, issued_at }
}
export const failed = (failure: UndoFailure): UndoResult => ({ ok: false, failure })
/** Defaults of a step. */
export const plain = { instead: null, requests: [], later: null, refusal: null, guard: null } as const

export const insteadOf = ({ n }: Later): string =>
  n === null ? "agree on it, and set it by hand" : `undo that first: flightcase undo ${n}`
export const laterText = ({ field, n, what, when, who }: Later): string => {
  const by = n !== null ? `command ${n} of this device` : (who ?? "somebody else")
  const at = when === null ? "" : ` (${when})`
  return sentence(`${what}${field === null ? "" : `: ${field.replaceAll("_", " ")}`} was changed since by ${by}${at}`)
}

/** Does all of it, or none where it fails. */
export const allOrNone = async ({ replica, run }: UndoParts, work: LocalEffect<UndoResult>): Promise<UndoResult> => {
  const result = await run(replica.together(work))
  await run(replica.rebase)
  return result
}

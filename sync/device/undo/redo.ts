/** Redo: records undone commands again (rules/undo 6). */
import type { Outbox } from "../outbox/outbox.ts"
import type { CommandState, OutboxCommand } from "../outbox/rows.ts"
import { Clock, Effect } from "effect"
import { type CommandRuntime, type Json, sameJson, type StoredEvent } from "../../../core/kernel/index.ts"
import { itemAt } from "../../../core/values/text.ts"
import { instantOf } from "../../../core/values/time.ts"
import { type ChangedRow, type Done, watchedOf } from "../../../core/offline/undo/compensation.ts"
import { columnOf, valueAt } from "../../protocol/merge.ts"
import { rowKey, touchesOf } from "../outcomes/describe-event.ts"
import { commandRequest, isRefusal, remapBody, remapParams } from "../replica/lost-rows.ts"
import { asAnswer, type QueryResult, type Rerecording } from "../replica/replica.ts"
import { doneOf, eventsOf, type UndoContext, undoContext } from "./facts.ts"
import type { Later, UndoGuard, UndoParts, UndoResult, UndoStep } from "./guards.ts"
import { allOrNone, described, eventsAfter, failed, insteadOf, laterText, named, plain } from "./guards.ts"

// Finds recorded commands that can be undone, were undone, or belong together.

/** States of commands that took effect, or are about to. */
const in_effect: ReadonlySet<CommandState> = new Set(["pending", "accepted"])
export const isInEffect = ({ state }: OutboxCommand): boolean => in_effect.has(state)

/** Whether it undoes another command; false for a redo, which undoes an undo or repeats a withdrawn command. */
const isCompensation = (outbox: Outbox, { undoes }: OutboxCommand): boolean => {
  const first = undoes[0] === undefined ? undefined : outbox.find(undoes[0])
  return first !== undefined && first.state !== "withdrawn" && !isCompensation(outbox, first)
}
/** Commands that undo it and are in effect. */
const undoersOf = (outbox: Outbox, { id }: OutboxCommand): ReadonlyArray<OutboxCommand> =>
  outbox.undoersOf(id).filter(isInEffect)
/** The refused command that was to undo it, which is a conflict for the user (`sync resolve`); undefined if none. */
export const refusedUndoerOf = (outbox: Outbox, { id }: OutboxCommand): OutboxCommand | undefined =>
  outbox.undoersOf(id).find(({ state }) => state === "rejected" || state === "held")
export const isUndone = (outbox: Outbox, command: OutboxCommand): boolean =>
  command.state === "withdrawn" || undoersOf(outbox, command).length > 0
/** The command's latest redo, even if undone since, to which the next redo applies; undefined if none. */
const redoOf = (outbox: Outbox, command: OutboxCommand): OutboxCommand | undefined => {
  if (command.state === "withdrawn") return latestRedo(outbox.undoersOf(command.id))
  const redos = undoersOf(outbox, command).map(({ id }) => latestRedo(outbox.undoersOf(id)))
  return redos.every((one) => one !== undefined) ? redos[0] : undefined
}
const latestRedo = (all: ReadonlyArray<OutboxCommand>): OutboxCommand | undefined =>
  all.findLast((one) => isInEffect(one) || one.state === "withdrawn")
/** The command's latest redo, else the command itself. */
const redoneAs = (outbox: Outbox, command: OutboxCommand): OutboxCommand => {
  const redo = redoOf(outbox, command)
  return redo === undefined ? command : redoneAs(outbox, redo)
}
/** Whether it was undone and then redone. */
const isRedone = (outbox: Outbox, command: OutboxCommand): boolean => redoOf(outbox, command) !== undefined
/** Commands that were undone and then redone, each with its current replacement. */
const redone = (outbox: Outbox): ReadonlyArray<readonly [first: OutboxCommand, today: OutboxCommand]> =>
  outbox
    .latest(searched_max)
    .filter((one) => !isCompensation(outbox, one) && isUndone(outbox, one) && isRedone(outbox, one))
    .map((one) => [one, redoneAs(outbox, one)] as const)

/** The refused command that was to redo it; undefined if none. */
const refusedRedoOf = (outbox: Outbox, command: OutboxCommand): OutboxCommand | undefined =>
  (command.state === "withdrawn" ? [command] : undoersOf(outbox, command)).flatMap(
    (one) => refusedUndoerOf(outbox, one) ?? []
  )[0]

/** Maximum number of commands to search. */
const searched_max = 2_000
/**
 * Commands that can be undone next, newest first: those in effect that are neither undone nor undo others. Commands
 * without remaining effects are undone by number only.
 */
export const undoable = (outbox: Outbox, limit = searched_max): ReadonlyArray<OutboxCommand> =>
  outbox
    .latest(searched_max)
    .filter((one) => isInEffect(one) && !one.nothing_left)
    .filter((one) => !isUndone(outbox, one) && !isCompensation(outbox, one))
    .slice(0, limit)
/** Program run that undid it; "" if unknown. Names of runs sort by time. */
const undoneBy = (outbox: Outbox, command: OutboxCommand): string =>
  (command.state === "withdrawn" ? command.withdrawn_by : undoersOf(outbox, command).at(-1)?.run) ?? ""
/** Commands undone and not redone, last undone first. */
const redoable = (outbox: Outbox): ReadonlyArray<OutboxCommand> =>
  outbox
    .latest(searched_max)
    .filter((one) => !isCompensation(outbox, one) && isUndone(outbox, one) && !isRedone(outbox, one))
    .map((one) => ({ one, by: undoneBy(outbox, one) }))
    .sort((a, b) => (a.by === b.by ? b.one.n - a.one.n : a.by < b.by ? 1 : -1))
    .map(({ one }) => one)
/** The commands undone by the last run that undid any. */
const lastUndone = (outbox: Outbox): ReadonlyArray<OutboxCommand> => {
  const all = redoable(outbox)
  const [last] = all
  const by = last === undefined ? "" : undoneBy(outbox, last)
  return by === "" ? lastRun(all) : all.filter((one) => undoneBy(outbox, one) === by)
}

/** The newest of these commands, with the others recorded by the same program run. */
export const lastRun = (commands: ReadonlyArray<OutboxCommand>): ReadonlyArray<OutboxCommand> => {
  const [newest] = commands
  return newest === undefined ? [] : newest.run === null ? [newest] : commands.filter(({ run }) => run === newest.run)
}
export const isUnsent = (outbox: Outbox, { n, state }: OutboxCommand): boolean =>
  state === "pending" && n > outbox.offered()

export const redo = async (parts: UndoParts, given: string | undefined): Promise<UndoResult> => {
  const { outbox } = parts
  const command = given === undefined ? undefined : outbox.byIdOrNumber(given)
  if (given !== undefined && command === undefined) return failed({ kind: "unknown" })
  const today = command === undefined ? undefined : redoneAs(outbox, command).id
  const wanted = command === undefined ? lastUndone(outbox) : redoable(outbox).filter(({ id }) => id === today)
  if (wanted.length === 0)
    return failed(
      command === undefined ? { kind: "nothing" } : { kind: "settled", command: await named(parts, command) }
    )
  const refused = wanted.flatMap((one) => refusedRedoOf(outbox, one) ?? [])[0]
  if (refused !== undefined) return failed({ kind: "conflict", command: await named(parts, refused) })
  const steps: Array<UndoStep> = []
  for (const one of wanted)
    steps.push({ ...(await named(parts, one)), ...plain, way: "nothing", says: "Recorded again." })
  return allOrNone(parts, recordedAgain(parts, wanted, steps))
}
const recordedAgain = Effect.fnUntraced(function* (
  parts: UndoParts,
  wanted: ReadonlyArray<OutboxCommand>,
  steps: ReadonlyArray<UndoStep>
): CommandRuntime.Reads<UndoResult> {
  const { outbox, replica } = parts
  const ids = idsOfToday(parts)
  const recorded: Array<number> = []
  for (const [at, one] of [...wanted.entries()].reverse()) {
    const step = itemAt(steps, at)
    const { guard, later } = yield* overwritten(parts, one, new Set(wanted.map(({ id }) => id)))
    if (later !== undefined) {
      const told = { way: "refused", says: laterText(later), instead: insteadOf(later), later } as const
      return failed({ kind: "refused", plan: { steps: [{ ...step, ...told }], dependants: [] } })
    }
    const command = withIds(parts, one, ids)
    const request = commandRequest(outbox, command, command.payload.body)
    const answer: QueryResult = isRefusal(request)
      ? request
      : one.payload.files !== undefined
        ? { status: 422, body: { message: "Its file is not on this device any more: attach it again." } }
        : yield* asAnswer(replica.ask(request, false, recordedFor(outbox, one, guard)))
    if (answer.status >= 400) return failed({ kind: "answer", answer, step })
    const again = answer.command === undefined ? undefined : outbox.find(answer.command.id)
    if (again === undefined) continue
    keepPairs(ids, one, again)
    recorded.push(again.n)
  }
  return { ok: true, plan: { steps, dependants: [] }, recorded }
})
/** How to redo a command. A withdrawn command that was itself an undo or redo undoes the same commands again. */
const recordedFor = (outbox: Outbox, one: OutboxCommand, guard: UndoGuard | undefined): Rerecording => {
  const withdrawn = one.state === "withdrawn"
  return {
    ids: withdrawn ? outbox.leasedAmong(one, one.ids) : {},
    undoes: withdrawn ? [one.id, ...one.undoes] : undoersOf(outbox, one).map(({ id }) => id),
    ...(guard === undefined ? {} : { unless_changed: guard })
  }
}

type Ids = Map<string, Map<number, number>>
const keepId = (ids: Ids, table: string, from: number, to: number | undefined): void => {
  if (to !== undefined && to !== from) ids.set(table, (ids.get(table) ?? new Map<number, number>()).set(from, to))
}
const keepPairs = (ids: Ids, first: OutboxCommand, today: OutboxCommand): void => {
  for (const [table, made] of Object.entries(first.ids)) {
    const again = today.ids[table] ?? []
    if (again.length === made.length) for (const [at, id] of made.entries()) keepId(ids, table, id, again[at])
  }
}
/** Current ids of recreated rows by their original ids: redoing a command and undoing a deletion recreate rows. */
const idsOfToday = ({ catalogue, outbox }: UndoParts): Ids => {
  const ids: Ids = new Map()
  for (const [first, today] of redone(outbox)) keepPairs(ids, first, today)
  for (const one of redoable(outbox)) {
    const endpoint = catalogue.endpoint(one.name)
    const name = endpoint?.method === "DELETE" ? Object.keys(endpoint.params).at(-1) : undefined
    if (endpoint === undefined || name === undefined) continue
    const table = endpoint.params[name]?.table.name ?? ""
    const [made] = undoersOf(outbox, one).flatMap((undoer) => undoer.ids[table] ?? [])
    keepId(ids, table, Number(one.payload.params[name]), made)
  }
  return ids
}
/** Follows ids to the latest one. Terminates, as a recreated row always gets a new id. */
const lastOf = (ids: ReadonlyMap<number, number>, id: number): number => {
  const next = ids.get(id)
  return next === undefined ? id : lastOf(ids, next)
}
const withIds = ({ catalogue }: UndoParts, command: OutboxCommand, ids: Ids): OutboxCommand => {
  const endpoint = catalogue.endpoint(command.name)
  if (endpoint === undefined) return command
  const today = new Map(
    [...ids].map(([table, of]) => [table, new Map([...of.keys()].map((id) => [id, lastOf(of, id)] as const))] as const)
  )
  const { body } = command.payload
  const params = remapParams(endpoint, command, today)
  return { ...command, payload: { ...command.payload, params, body: remapBody(endpoint.fields, body, today) } }
}

/** A value that a redo would overwrite, and the value it must have. */
interface Overwritten {
  readonly row: ChangedRow
  readonly column: string
  readonly left: Json
}
/**
 * Later change of a value that a redo would overwrite, and the state that must be unchanged when the redo reaches the
 * server. `with_it`: ids of commands redone together.
 */
const overwritten = Effect.fnUntraced(function* (
  parts: UndoParts,
  command: OutboxCommand,
  with_it: ReadonlySet<string>
): CommandRuntime.Reads<{ readonly later?: Later; readonly guard?: UndoGuard }> {
  const { catalogue, outbox, replica_id, viewer } = parts
  const now = instantOf(yield* Clock.currentTimeMillis)
  const context = yield* undoContext(catalogue, replica_id, yield* viewer, now)
  const written = new Set(Object.keys(command.payload.body))
  const withdrawn = command.state === "withdrawn"
  const rows: { [row: string]: ReadonlyArray<string> } = {}
  const streams = new Set<string>()
  for (const one of withdrawn ? [command] : undoersOf(outbox, command)) {
    const [endpoint, effects] = [catalogue.endpoint(one.name), outbox.doneOf(one.n)]
    if (endpoint === undefined || effects === undefined) continue
    const done = yield* doneOf(context, one, endpoint, effects)
    // Withdrawn commands leave the rows' previous values; compensated ones leave the compensation's values.
    const left = done.rows.flatMap((row) =>
      Object.keys(row.set).flatMap((name): ReadonlyArray<Overwritten> => {
        const stood = withdrawn ? row.before : row.set
        return !written.has(name) || stood === undefined
          ? []
          : watchedOf(row, name).map((column) => ({ row, column, left: valueAt(stood, column) ?? null }))
      })
    )
    if (left.length === 0) continue
    const later = yield* eventsAfter(context, one, effects)
    const since = later.filter(({ position }) => !withdrawn || position > (one.base ?? 0))
    for (const expected of left) {
      const found = setSince(context, outbox, since, expected, with_it)
      if (found !== undefined)
        return { later: yield* described(outbox, found, calledIn(done, expected), columnOf(expected.column)) }
      const place = `${expected.row.table}/${expected.row.key}`
      rows[place] = [...(rows[place] ?? []), expected.column]
    }
    for (const { stream } of yield* eventsOf(one, effects, replica_id)) streams.add(stream)
  }
  return streams.size === 0 ? {} : { guard: { streams: [...streams], rows } }
})
const calledIn = ({ called }: Done, { row }: Overwritten): string => called(row.table, row.key)
/** The last event that changed a value since. Commands in `with_it`, undos and undone commands do not count. */
const setSince = (
  context: UndoContext,
  outbox: Outbox,
  since: ReadonlyArray<StoredEvent>,
  { column, left, row }: Overwritten,
  with_it: ReadonlySet<string>
): StoredEvent | undefined => {
  if (row.now === undefined || sameJson(valueAt(row.now, column) ?? null, left)) return undefined
  return since.findLast((event) => {
    const own = outbox.find(event.command_id)
    const counts = own === undefined || !(with_it.has(own.id) || isCompensation(outbox, own) || isUndone(outbox, own))
    return (
      counts &&
      touchesOf(context, event, event.recorded_at).some(
        (touch) => rowKey(touch) === `${row.table}/${row.key}` && columnOf(column) in touch.columns
      )
    )
  })
}

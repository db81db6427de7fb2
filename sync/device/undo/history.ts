/** Which recorded commands can be taken back, which were, and what belongs together. */
import type { Outbox } from "../outbox/outbox.ts"
import type { CommandState, OutboxCommand } from "../outbox/command.ts"

/** States of commands that took effect, or are about to. */
const in_effect: ReadonlySet<CommandState> = new Set(["pending", "accepted"])
export const isInEffect = ({ state }: OutboxCommand): boolean => in_effect.has(state)

/** It takes another one back; a command that was recorded once more after that does not. */
export const isCompensation = (outbox: Outbox, { undoes }: OutboxCommand): boolean => {
  const first = undoes[0] === undefined ? undefined : outbox.find(undoes[0])
  return first !== undefined && first.state !== "withdrawn" && !isCompensation(outbox, first)
}
/** The commands that take it back and are in effect. */
export const undoersOf = (outbox: Outbox, { id }: OutboxCommand): ReadonlyArray<OutboxCommand> =>
  outbox.undoersOf(id).filter(isInEffect)
/** What was to take it back, and was refused: it waits for a person (`sync resolve`). */
export const refusedUndoerOf = (outbox: Outbox, { id }: OutboxCommand): OutboxCommand | undefined =>
  outbox.undoersOf(id).find(({ state }) => state === "rejected" || state === "held")
export const isUndone = (outbox: Outbox, command: OutboxCommand): boolean =>
  command.state === "withdrawn" || undoersOf(outbox, command).length > 0
/** What a command became when it was recorded once more, if only for a while: that is what is redone next. */
const redoOf = (outbox: Outbox, command: OutboxCommand): OutboxCommand | undefined => {
  if (command.state === "withdrawn") return latestRedo(outbox.undoersOf(command.id))
  const redos = undoersOf(outbox, command).map(({ id }) => latestRedo(outbox.undoersOf(id)))
  return redos.every((one) => one !== undefined) ? redos[0] : undefined
}
const latestRedo = (all: ReadonlyArray<OutboxCommand>): OutboxCommand | undefined =>
  all.findLast((one) => isInEffect(one) || one.state === "withdrawn")
/** The command itself, or what stands for it since it was undone and recorded once more. */
export const redoneAs = (outbox: Outbox, command: OutboxCommand): OutboxCommand => {
  const redo = redoOf(outbox, command)
  return redo === undefined ? command : redoneAs(outbox, redo)
}
/** It was undone, and recorded once more after that. */
export const isRedone = (outbox: Outbox, command: OutboxCommand): boolean => redoOf(outbox, command) !== undefined
/** Commands from long ago on that were undone and recorded once more, each with what stands for it now. */
export const redone = (outbox: Outbox): ReadonlyArray<readonly [first: OutboxCommand, today: OutboxCommand]> =>
  outbox
    .latest(searched_max)
    .filter((one) => !isCompensation(outbox, one) && isUndone(outbox, one) && isRedone(outbox, one))
    .map((one) => [one, redoneAs(outbox, one)] as const)

/** What was to record it once more, and was refused. */
export const refusedRedoOf = (outbox: Outbox, command: OutboxCommand): OutboxCommand | undefined =>
  (command.state === "withdrawn" ? [command] : undoersOf(outbox, command)).flatMap(
    (one) => refusedUndoerOf(outbox, one) ?? []
  )[0]

/** How far back a search goes. */
const searched_max = 2_000
/**
 * What can be undone next, newest first: commands in effect that are neither undone nor undo others. Of which nothing
 * was left is undone by its number alone.
 */
export const undoable = (outbox: Outbox, limit = searched_max): ReadonlyArray<OutboxCommand> =>
  outbox
    .latest(searched_max)
    .filter((one) => isInEffect(one) && !one.nothing_left)
    .filter((one) => !isUndone(outbox, one) && !isCompensation(outbox, one))
    .slice(0, limit)
/** The run of the program that undid it; runs are named in the order of time. Empty where nobody remembers. */
const undoneBy = (outbox: Outbox, command: OutboxCommand): string =>
  (command.state === "withdrawn" ? command.withdrawn_by : undoersOf(outbox, command).at(-1)?.run) ?? ""
/** What was undone and not recorded again, what was undone last first. */
export const redoable = (outbox: Outbox): ReadonlyArray<OutboxCommand> =>
  outbox
    .latest(searched_max)
    .filter((one) => !isCompensation(outbox, one) && isUndone(outbox, one) && !isRedone(outbox, one))
    .map((one) => ({ one, by: undoneBy(outbox, one) }))
    .sort((a, b) => (a.by === b.by ? b.one.n - a.one.n : a.by < b.by ? 1 : -1))
    .map(({ one }) => one)
/** What the last run that undid anything undid. */
export const lastUndone = (outbox: Outbox): ReadonlyArray<OutboxCommand> => {
  const all = redoable(outbox)
  const [last] = all
  const by = last === undefined ? "" : undoneBy(outbox, last)
  return by === "" ? lastRun(all) : all.filter((one) => undoneBy(outbox, one) === by)
}

/** The newest of these with the others that the same run of the program recorded. */
export const lastRun = (commands: ReadonlyArray<OutboxCommand>): ReadonlyArray<OutboxCommand> => {
  const [newest] = commands
  return newest === undefined ? [] : newest.run === null ? [newest] : commands.filter(({ run }) => run === newest.run)
}
export const isUnsent = (outbox: Outbox, { n, state }: OutboxCommand): boolean =>
  state === "pending" && n > outbox.offered()

/**
 * Decides how pulled events are applied, as a pure function; its callers carry it out.
 *
 * Notation: e7 is the server's event at position 7; c3 this device's command number 3, e(c3)' its provisional effects.
 * State before:  … e5 e6 | e(c3)' e(c4)'      pulled: e7 e8=decided(c3) e9
 * Rebase:        take back e(c4)' e(c3)'; apply e7 e8 e9; c3 is settled; redo c4 through the same rules.
 */
import type { StoredEvent } from "../../core/kernel/index.ts"
import { commandDecided, decidedIn } from "./events.ts"
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

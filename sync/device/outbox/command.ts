/** A command in the outbox: its state, and what is stored about it beside what is sent. */
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { UnlessChanged, WireCommand, WireError } from "../../protocol/wire.ts"

/**
 * Pending, then accepted, rejected (a conflict) or held (not decided, as a command it depends on was refused). A person
 * drops a conflict, or has it recorded anew in one of the other ways; held commands are then recorded anew, too
 * (released). A person takes a command back that was not sent yet (withdrawn).
 */
export type ResolutionRecorded = "retried" | "amended" | "substituted" | "split" | "released"
export type CommandState = "pending" | "accepted" | "rejected" | "held" | "dropped" | "withdrawn" | ResolutionRecorded
export const command_states: ReadonlyArray<CommandState> = [
  "pending",
  "accepted",
  "rejected",
  "held",
  "dropped",
  "retried",
  "amended",
  "substituted",
  "split",
  "released",
  "withdrawn"
]

export interface OutboxCommand extends WireCommand {
  readonly state: CommandState
  readonly error: WireError | null
  readonly needs: ReadonlyArray<string>
  /** The position of the last confirmed event in the replica when it was recorded. */
  readonly base: number | null
  /** The conflict it was recorded to resolve. */
  readonly replaces: string | null
  /** The refused command it waits for, while it is held. */
  readonly cause: string | null
  /** The run of the command line that recorded it; null for one of an earlier release. */
  readonly run: string | null
  /** The commands it takes back. */
  readonly undoes: ReadonlyArray<string>
  /** The run of the command line that withdrew it, where one did. */
  readonly withdrawn_by: string | null
  /** Somebody undid it when nothing of it was left to take back. */
  readonly nothing_left: boolean
  /** Its outcome and what others changed meanwhile, worked out when its verdict was pulled. */
  readonly account: JsonObject | null
}
/** The parts of an event that say what happened. */
export interface EventSummary {
  readonly stream: string
  readonly type: string
  readonly data: JsonObject
}
/**
 * The events a command made here when it was recorded, and the rows its path names as they were then, by `table/id`.
 */
export interface RecordedEffects {
  readonly events: ReadonlyArray<EventSummary>
  readonly rows: { readonly [row: string]: JsonObject }
}
/** What undoing a command needs: the rows it changed as they were before, by `table/key`, and those it made. */
export interface DoneEffects extends RecordedEffects {
  readonly made: ReadonlyArray<string>
}
/** What is stored about a command beside what is sent. */
export interface CommandContext {
  readonly base?: number
  readonly recorded?: RecordedEffects
  /** Rows it names, as `table/id`: where an earlier pending command made one, it depends on that command. */
  readonly named?: ReadonlyArray<string>
  /** When rows it names were made, by `table/id`. */
  readonly rows_seen?: { readonly [row: string]: string }
  readonly run?: string
  readonly done?: DoneEffects
  readonly undoes?: ReadonlyArray<string>
  readonly unless_changed?: UnlessChanged
  /** Earlier commands without which it is not decided, beside those that make the rows it names. */
  readonly needs?: ReadonlyArray<string>
  /** The conflict it resolves, and how: stored in the same transaction. */
  readonly replaces?: { readonly id: string; readonly how: ResolutionRecorded }
}

/** A command as the outbox keeps it: its states, and what is known about it beside what is sent. */
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { WireCommand, WireError } from "../../protocol/wire.ts"

/**
 * Pending, then accepted, rejected (a conflict) or held (not decided, for what it builds on was refused). A person gives
 * up a conflict (dropped) or has it recorded anew in one of the other ways; held commands are recorded anew with it (released).
 */
export type ResolutionRecorded = "retried" | "amended" | "substituted" | "split" | "released"
export type CommandState = "pending" | "accepted" | "rejected" | "held" | "dropped" | ResolutionRecorded
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
  "released"
]

export interface OutboxCommand extends WireCommand {
  readonly state: CommandState
  readonly error: WireError | null
  readonly needs: ReadonlyArray<string>
  /** The last confirmed event its person could know of. */
  readonly base: number | null
  /** The conflict it was recorded to settle. */
  readonly replaces: string | null
  /** The refused command it waits for, while it is held. */
  readonly cause: string | null
  /** What became of it and what changed meanwhile, as worked out when its verdict was pulled. */
  readonly account: JsonObject | null
}
/** An event as far as it tells what happened. */
export interface EventSummary {
  readonly stream: string
  readonly type: string
  readonly data: JsonObject
}
/** What a command did here when it was recorded, and the rows of its path as its person saw them, by `table/id`. */
export interface RecordedEffects {
  readonly events: ReadonlyArray<EventSummary>
  readonly rows: { readonly [row: string]: JsonObject }
}
/** What is known about a command beside what is sent. */
export interface CommandContext {
  readonly base?: number
  readonly recorded?: RecordedEffects
  /** Rows it names, as `table/id`: where an earlier pending command made one, it builds on that command. */
  readonly named?: ReadonlyArray<string>
  /** When rows it names were made, by `table/id`. */
  readonly rows_seen?: { readonly [row: string]: string }
  /** The conflict it settles, and how: that is kept in the same step. */
  readonly replaces?: { readonly id: string; readonly how: ResolutionRecorded }
}

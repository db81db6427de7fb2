/**
 * Rows of the outbox as stored. Numbers and texts are SQLite's; documents are JSON, read through the Schemas of the
 * protocol. An invalid row throws DecodeFailure, and the outbox counts as damaged.
 */
import type { JsonObject } from "../../../core/kernel/fields/field.ts"
import type { UnlessChanged, WireCommand, WireError } from "../../protocol/wire.ts"
import {
  decoderOf,
  jsonText,
  optionalDecoderOf,
  rowsSeen,
  unlessChanged,
  wireError,
  wireIds,
  wirePayload
} from "../../protocol/wire.ts"
import { Schema } from "effect"
import { jsonObject, wholeNumber } from "../../../core/kernel/tables/field-schema.ts"

// A command in the outbox: its state, and what is stored about it beside what is sent.

/**
 * Pending, then accepted, rejected (a conflict) or held (undecided, because a command it depends on was refused). The
 * user drops a conflict or has it recorded again by one of the other resolutions; held commands are then recorded
 * again, too (released). The user withdraws a command before it is sent (withdrawn).
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
  /** Undone when nothing was left to undo. */
  readonly nothing_left: boolean
  /** Its outcome and others' concurrent changes, computed when its verdict was pulled. */
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
/** Undo data of a command: the rows it changed as they were before, by `table/key`, and those it created. */
export interface DoneEffects extends RecordedEffects {
  readonly made: ReadonlyArray<string>
}
/** Data stored with a command and not sent. */
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
  /** Earlier commands it depends on, besides those that created the rows it names. */
  readonly needs?: ReadonlyArray<string>
  /** The conflict it resolves, and how: stored in the same transaction. */
  readonly replaces?: { readonly id: string; readonly how: ResolutionRecorded }
}

const jsonTextOrNull = <T>(schema: Schema.Codec<T>) => Schema.NullOr(jsonText(schema))
const integerOrNull = Schema.NullOr(wholeNumber)
const textOrNull = Schema.NullOr(Schema.String)

/** Columns read of a command; `decodeCommandRow` decodes them. */
export const columns =
  "n, id, name, payload, ids, issued_at, state, error, needs, base, replaces, cause, account, rows_seen, run, undoes, " +
  "unless_changed, withdrawn_by, nothing_left, checksum"
const commandRow = () =>
  Schema.Struct({
    n: wholeNumber,
    id: Schema.String,
    name: Schema.String,
    payload: jsonText(wirePayload),
    ids: jsonText(wireIds),
    issued_at: Schema.String,
    state: Schema.Literals(command_states),
    error: jsonTextOrNull(wireError),
    needs: jsonText(Schema.Array(Schema.String)),
    base: integerOrNull,
    replaces: textOrNull,
    cause: textOrNull,
    account: jsonTextOrNull(jsonObject),
    rows_seen: jsonText(rowsSeen),
    run: textOrNull,
    undoes: jsonText(Schema.Array(Schema.String)),
    unless_changed: jsonTextOrNull(unlessChanged),
    withdrawn_by: textOrNull,
    nothing_left: wholeNumber
  })
const decodeRow = decoderOf("a command", commandRow)
/** Columns needed of a command in a damaged file: its sent content and its state. */
export const decodeSalvagedRow = optionalDecoderOf("a command", () => {
  const { n, id, name, payload, ids, issued_at, state } = commandRow().fields
  return Schema.Struct({ n, id, name, issued_at, state, payload, ids })
})
export const decodeErrorText = optionalDecoderOf("the error of a command", () => jsonText(wireError))
/** A command of a row with `columns`. */
export const decodeCommandRow = (row: { readonly [column: string]: unknown }): OutboxCommand => {
  const { nothing_left, rows_seen, unless_changed, ...command } = decodeRow(row)
  return {
    ...command,
    nothing_left: nothing_left === 1,
    ...(Object.keys(rows_seen).length === 0 ? {} : { rows_seen }),
    ...(unless_changed === null ? {} : { unless_changed })
  }
}

/** Effects of a command when it was recorded (column `outcome`): its events, and the rows of its path by `table/id`. */
export const decodeRecordedEffects: (text: unknown) => RecordedEffects = decoderOf(
  "the recorded effects of a command",
  () =>
    jsonText(
      Schema.Struct({
        events: Schema.Array(Schema.Struct({ stream: Schema.String, type: Schema.String, data: jsonObject })),
        rows: Schema.Record(Schema.String, jsonObject)
      })
    )
)
/** Undo data of a command (column `done`). */
export const decodeDoneEffects: (text: unknown) => DoneEffects = decoderOf("what a command changed", () =>
  jsonText(
    Schema.Struct({
      events: Schema.Array(Schema.Struct({ stream: Schema.String, type: Schema.String, data: jsonObject })),
      rows: Schema.Record(Schema.String, jsonObject),
      made: Schema.Array(Schema.String)
    })
  )
)
/** Outcome of a command (column `account`). */
export const decodeOutcome = decoderOf("the outcome of a command", () => jsonText(jsonObject))
export const decodeRowsSeen = decoderOf("the rows a command names", () => jsonText(rowsSeen))

/** A block of ids, its first and last, and the next one to give; `last + 1` once all are given. */
export const decodeLeaseRow = decoderOf("a lease of ids", () =>
  Schema.Struct({ entity: Schema.String, first: wholeNumber, last: wholeNumber, next: wholeNumber })
)
/** The number of the next block request of a table. */
export const decodeLeaseRequestRow = decoderOf("a request for ids", () =>
  Schema.Struct({ entity: Schema.String, request_no: wholeNumber })
)
/** The value of a key of `meta`. */
export const decodeMetaRow = decoderOf("a value of the outbox", () => Schema.Struct({ value: Schema.String }))
/** Numbers given up before a reopening (`withdrawn` of `meta`), to be sent emptied. */
export const decodeWithdrawn = decoderOf("the numbers given up", () => jsonText(Schema.Array(wholeNumber)))

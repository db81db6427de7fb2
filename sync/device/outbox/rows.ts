/**
 * Decodes rows of the outbox. Documents are JSON, decoded by the protocol's Schemas. An invalid row throws a
 * DecodeFailure, and the outbox counts as damaged.
 */
import { jsonObject, wholeNumber, type JsonObject } from "../../../core/kernel/index.ts"
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

// A command in the outbox: its state, and the data stored with it in addition to what is sent.

/**
 * How a command was resolved. Pending commands become accepted, rejected (a conflict) or held (undecided, as a command
 * it depends on was refused). Conflicts are dropped or recorded again by a resolution, which releases held commands
 * too. Unsent commands can be withdrawn.
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
  /** Position of the replica's last confirmed event when it was recorded. */
  readonly base: number | null
  /** Id of the conflict it was recorded to resolve. */
  readonly replaces: string | null
  /** Id of the refused command it waits for, while held. */
  readonly cause: string | null
  /** Program run that recorded it; null for commands of earlier releases. */
  readonly run: string | null
  /** Ids of the commands it undoes. */
  readonly undoes: ReadonlyArray<string>
  /** Program run that withdrew it; null if not withdrawn, or by an unnamed run. */
  readonly withdrawn_by: string | null
  /** Whether an undo found nothing left to undo. */
  readonly nothing_left: boolean
  /** Its outcome and concurrent changes by others, computed when its verdict was pulled. */
  readonly account: JsonObject | null
}
/** Stream, type and data of an event. */
export interface EventSummary {
  readonly stream: string
  readonly type: string
  readonly data: JsonObject
}
/** Events of a command here when it was recorded, and the rows of its path as of then, by `table/id`. */
export interface RecordedEffects {
  readonly events: ReadonlyArray<EventSummary>
  readonly rows: { readonly [row: string]: JsonObject }
}
/** Undo data of a command: the changed rows before it, by `table/key`, and the created ones. */
export interface DoneEffects extends RecordedEffects {
  readonly made: ReadonlyArray<string>
}
/** Data stored with a command and not sent. */
export interface CommandContext {
  readonly base?: number
  readonly recorded?: RecordedEffects
  /** Referenced rows, as `table/id`: the command depends on earlier pending commands that create them. */
  readonly named?: ReadonlyArray<string>
  /** Creation times of referenced rows, by `table/id`. */
  readonly rows_seen?: { readonly [row: string]: string }
  readonly run?: string
  readonly done?: DoneEffects
  readonly undoes?: ReadonlyArray<string>
  readonly unless_changed?: UnlessChanged
  /** Earlier commands it depends on, besides those that created the rows it names. */
  readonly needs?: ReadonlyArray<string>
  /** Conflict it resolves, and how; stored in the same transaction. */
  readonly replaces?: { readonly id: string; readonly how: ResolutionRecorded }
}

const jsonTextOrNull = <T>(schema: Schema.Codec<T>) => Schema.NullOr(jsonText(schema))
const integerOrNull = Schema.NullOr(wholeNumber)
const textOrNull = Schema.NullOr(Schema.String)

/** Columns read for a command; `decodeCommandRow` decodes them. */
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
/** Columns needed from a command in a damaged file: its sent content and its state. */
export const decodeSalvagedRow = optionalDecoderOf("a command", () => {
  const { n, id, name, payload, ids, issued_at, state } = commandRow().fields
  return Schema.Struct({ n, id, name, issued_at, state, payload, ids })
})
export const decodeErrorText = optionalDecoderOf("the error of a command", () => jsonText(wireError))
export const decodeCommandRow = (row: { readonly [column: string]: unknown }): OutboxCommand => {
  const { nothing_left, rows_seen, unless_changed, ...command } = decodeRow(row)
  return {
    ...command,
    nothing_left: nothing_left === 1,
    ...(Object.keys(rows_seen).length === 0 ? {} : { rows_seen }),
    ...(unless_changed === null ? {} : { unless_changed })
  }
}

/** Decodes a command's effects when it was recorded (column `outcome`). */
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
/** Decodes a command's undo data (column `done`). */
export const decodeDoneEffects: (text: unknown) => DoneEffects = decoderOf("what a command changed", () =>
  jsonText(
    Schema.Struct({
      events: Schema.Array(Schema.Struct({ stream: Schema.String, type: Schema.String, data: jsonObject })),
      rows: Schema.Record(Schema.String, jsonObject),
      made: Schema.Array(Schema.String)
    })
  )
)
/** Decodes a command's outcome (column `account`). */
export const decodeOutcome = decoderOf("the outcome of a command", () => jsonText(jsonObject))
/** Decodes a block of ids: first, last, and the next to use, `last + 1` once all are used. */
export const decodeLeaseRow = decoderOf("a lease of ids", () =>
  Schema.Struct({ entity: Schema.String, first: wholeNumber, last: wholeNumber, next: wholeNumber })
)
/** Decodes the number of a table's next block request. */
export const decodeLeaseRequestRow = decoderOf("a request for ids", () =>
  Schema.Struct({ entity: Schema.String, request_no: wholeNumber })
)
export const decodeMetaRow = decoderOf("a value of the outbox", () => Schema.Struct({ value: Schema.String }))
/** Decodes the numbers to be sent without content (`withdrawn` of `meta`). */
export const decodeWithdrawn = decoderOf("the numbers given up", () => jsonText(Schema.Array(wholeNumber)))

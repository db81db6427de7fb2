/**
 * What became of a command, as the outbox keeps it beside the command: rows by table and key, people by id, values as
 * answers give them. Sentences are made when it is shown (`wording.ts`), so that what its reader may no longer see can
 * be taken out by what it is.
 */
import { Option, Schema } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { Json, JsonObject } from "../../../core/kernel/json.ts"
import type { Key } from "../../../core/kernel/row-change.ts"
import { anyJson } from "../../../core/kernel/stored-schema.ts"
import { structuredOutcome } from "./outcome-0.1.ts"

/**
 * A row and what it was called when the outcome was worked out; null where it had no name, or its reader may not see
 * it.
 */
export interface RowLabel {
  readonly table: string
  readonly key: Key
  readonly name: string | null
  /** That of a numbered document, where it has one. */
  readonly number?: string | null
}
/**
 * `id` is null in outcomes of releases before 0.2, which kept the name alone; `name` where there was no such user here.
 */
export interface Actor {
  readonly id: number | null
  readonly name: string | null
}
/** For whom something is held, and from when to when; `quantity` is null for a single thing. */
export interface Holding {
  readonly quantity: number | null
  readonly by: RowLabel
  readonly from: string
  readonly to: string
}
/** Something another device or the server did between a command's recording and its refusal. */
export interface ConcurrentChange {
  /** Null: the server itself. */
  readonly actor: Actor | null
  readonly when: string
  readonly row: RowLabel
  readonly event: string
  /** Null: the event as a whole is what matters, or `holding` is. */
  readonly field: string | null
  readonly from: Json
  readonly to: Json
  /** The row was taken for somebody. */
  readonly holding?: Holding
}
/** A field that somebody else set as well before the command was decided: the later writer's value stands. */
export interface OverwrittenValue {
  readonly row: RowLabel
  readonly field: string
  readonly was: Json
  readonly theirs: Json
  readonly mine: Json
  readonly actor: Actor | null
  readonly when: string
}
/** Where the confirmed outcome is not what was shown on this device. */
export interface ValueDifference {
  readonly row: RowLabel
  /** Null: the row was created or deleted on one side alone; `here` and `there` then name the operation. */
  readonly field: string | null
  readonly here: Json
  readonly there: Json
}
export interface CommandOutcome {
  readonly changes?: ReadonlyArray<ConcurrentChange>
  readonly merged?: ReadonlyArray<OverwrittenValue>
  readonly differences?: ReadonlyArray<ValueDifference>
}

/** Built when the first outcome is read: most commands of the command line read none. */
const outcomeSchema = (): Schema.Codec<CommandOutcome, unknown> => {
  const row = Schema.Struct({
    table: Schema.String,
    key: Schema.Union([Schema.Finite, Schema.String]),
    name: Schema.NullOr(Schema.String),
    number: Schema.optionalKey(Schema.NullOr(Schema.String))
  })
  const actor = Schema.NullOr(Schema.Struct({ id: Schema.NullOr(Schema.Finite), name: Schema.NullOr(Schema.String) }))
  const holding = Schema.Struct({
    quantity: Schema.NullOr(Schema.Finite),
    by: row,
    from: Schema.String,
    to: Schema.String
  })
  const field = Schema.NullOr(Schema.String)
  return Schema.Struct({
    changes: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          actor,
          when: Schema.String,
          row,
          event: Schema.String,
          field,
          from: anyJson,
          to: anyJson,
          holding: Schema.optionalKey(holding)
        })
      )
    ),
    merged: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          row,
          field: Schema.String,
          was: anyJson,
          theirs: anyJson,
          mine: anyJson,
          actor,
          when: Schema.String
        })
      )
    ),
    differences: Schema.optionalKey(Schema.Array(Schema.Struct({ row, field, here: anyJson, there: anyJson })))
  })
}
let decode: ((outcome: unknown) => Option.Option<CommandOutcome>) | undefined

/**
 * An outcome as the outbox holds it, of this release or an earlier one. What cannot be read explains nothing: it is
 * left out.
 */
export const readOutcome = (catalogue: Catalogue, outcome: JsonObject | null): CommandOutcome => {
  if (outcome === null) return {}
  decode ??= Schema.decodeUnknownOption(outcomeSchema())
  return Option.getOrElse(decode(structuredOutcome(catalogue, outcome)), () => ({}))
}

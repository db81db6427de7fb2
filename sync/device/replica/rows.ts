/**
 * Documents that the replica's own tables (`local-tables.ts`) keep as texts of JSON, read through Schemas. Keys that
 * another release wrote beside these are left out. A text that no release wrote throws ReplicaTextFailure: the replica
 * counts as damaged, and is filled anew. What only explains something is left out instead.
 */
import { Schema } from "effect"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { Key } from "../../../core/kernel/table.ts"
import { wholeNumber } from "../../../core/kernel/field-schema.ts"
import { jsonObject } from "../../../core/kernel/stored-schema.ts"
import { DecodeFailure, decoderOf, jsonText, optionalDecoderOf } from "../../protocol/decode.ts"
import { storedEvent } from "../../protocol/shape.ts"
import { scrub, settledCommand } from "../../protocol/snapshot.ts"
import { wireError } from "../../protocol/wire.ts"
import { ReplicaTextFailure } from "../device-failure.ts"

const textDecoderOf = <T>(subject: string, schema: () => Schema.Codec<T>): ((text: string) => T) => {
  const decode = decoderOf(subject, () => jsonText(schema()))
  return (text) => {
    try {
      return decode(text)
    } catch (error) {
      throw error instanceof DecodeFailure ? new ReplicaTextFailure(error) : error
    }
  }
}

const fillState = Schema.suspend(() =>
  Schema.Struct({
    generation: wholeNumber,
    handle: Schema.String,
    /** The position in the journal that the staged rows are at. */
    position: wholeNumber,
    offset: Schema.String,
    after: Schema.String,
    /** Tables that have all their rows. */
    done: Schema.Array(Schema.String),
    /** The position the fill began at: events up to it are in the rows, the journal here begins after it. */
    from: wholeNumber,
    rows: wholeNumber,
    rows_total: wholeNumber,
    settled: Schema.Array(settledCommand),
    erased: Schema.optionalKey(Schema.Array(scrub))
  })
)
/** How far a fill has come; kept with the rows (`filling` of `replica_meta`). */
export type FillState = typeof fillState.Type
export const decodeFillState = textDecoderOf("how far a fill has come", () => fillState)
/** Personal data that was erased before the rows of a fill (`erased` of `replica_meta`). */
export const decodeErased = textDecoderOf("what was erased before a fill", () => Schema.Array(scrub))
/** An event that waits for the rest of its history (`incoming`). */
export const decodeIncoming = textDecoderOf("an event that was fetched", () => storedEvent)
/** The error of a verdict, or of a command that no longer holds here (`verdicts`, `stalled`). */
export const decodeError = textDecoderOf("the error of a command", () => wireError)
/** Images of rows before provisional changes (`undo`). */
export const decodeKey: (text: string) => Key = textDecoderOf("the key of a changed row", () =>
  Schema.Union([Schema.Finite, Schema.String])
)
export const decodeImage: (text: string) => JsonObject = textDecoderOf("a row before its change", () => jsonObject)

const outcome = optionalDecoderOf("the outcome of a command", () => jsonText(jsonObject))
/** What became of a command (`accounts`): it explains only, so that one which cannot be read is empty. */
export const decodeOutcome = (text: string): JsonObject => outcome(text) ?? {}

/** Events as they travel: as JSON in pages of rows, and as rows of texts by Electric's shape protocol. */
import { Schema } from "effect"
import { parseJson, TooDeep, wire_body_depth_max } from "../../core/kernel/body-limits.ts"
import type { StoredEvent } from "../../core/kernel/event.ts"
import { anyObject, wholeNumber } from "../../core/kernel/field-schema.ts"
import { isJsonObject, type JsonObject } from "../../core/kernel/json.ts"
import { DecodeFailure, decoderOf } from "./decode.ts"

/** An event of the journal. */
export const storedEvent = Schema.suspend(() =>
  Schema.Struct({
    position: wholeNumber,
    stream: Schema.String,
    version: wholeNumber,
    type: Schema.String,
    data: anyObject,
    command_id: Schema.String,
    actor_id: Schema.NullOr(wholeNumber),
    replica_id: Schema.NullOr(wholeNumber),
    recorded_at: Schema.String.annotate({ format: "date-time" })
  })
)

const integerText = Schema.String.check(Schema.isPattern(/^-?\d{1,16}$/, { expected: "a text of an integer" }))
/** A row of the journal as the shape protocol sends it: every value is text, or null. */
const shapeRow = Schema.suspend(() =>
  Schema.Struct({
    position: integerText,
    stream: Schema.String,
    version: integerText,
    type: Schema.String,
    /** JSON. */
    data: Schema.String,
    command_id: Schema.String,
    actor_id: Schema.NullOr(integerText),
    replica_id: Schema.NullOr(integerText),
    recorded_at: Schema.String
  })
)
const subject = "an event of the journal"
const decodeRow = decoderOf(subject, () => shapeRow)

const documentIn = (text: string): JsonObject => {
  try {
    const data = parseJson(text, wire_body_depth_max)
    if (isJsonObject(data)) return data
  } catch (cause) {
    if (cause instanceof TooDeep) throw cause
    throw new DecodeFailure(subject, "data", "Expected a text of JSON", cause)
  }
  throw new DecodeFailure(subject, "data", "Expected a text of a JSON object")
}
const integerOrNull = (text: string | null): number | null => (text === null ? null : Number(text))

/**
 * The event a row of the shape protocol holds. Throws DecodeFailure, and TooDeep where its data nests beyond the limit.
 */
export const eventOfShapeRow = (row: unknown): StoredEvent => {
  const { position, version, data, actor_id, replica_id, ...texts } = decodeRow(row)
  return {
    ...texts,
    position: Number(position),
    version: Number(version),
    data: documentIn(data),
    actor_id: integerOrNull(actor_id),
    replica_id: integerOrNull(replica_id)
  }
}

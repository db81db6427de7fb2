/**
 * Decoding of what comes from outside: answers of servers, files people give, notes this program left itself.
 *
 * Answers are decoded by what a command needs of them and not by the endpoint's own declaration: a server of another
 * release may give more keys or a new status, and the command still works.
 */
import { Schema } from "effect"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/fields/json.ts"
import { anyJson } from "../../core/kernel/tables/stored-schema.ts"
import { CliError, exit_codes } from "./exit-codes.ts"

/** Gives the value as its type; throws an Error that says what is wrong where. Keys that are not declared are left out. */
type Decoder<T> = (value: unknown) => T

/** A decoder by Schema. The Schema is built when the first value is decoded, so declaring it costs a start nothing. */
export const decoderOf = <T>(schema: () => Schema.Codec<T, unknown>): Decoder<T> => {
  let decode: Decoder<T> | undefined
  return (value) => (decode ??= Schema.decodeUnknownSync(schema()))(value)
}
/** An object whose keys are not looked at: a row that is printed as it is. Built as a check, which keeps every key. */
export const anyRow: Schema.Codec<JsonObject> = Schema.declare<JsonObject>(isJsonObject, { identifier: "an object" })

const asJson = decoderOf(() => anyJson)
/** A value as JSON holds it: without keys that are undefined. */
export const plainJson = (value: unknown): Json => asJson(JSON.parse(JSON.stringify(value)))

const unreadable = (what: string, cause?: unknown): CliError =>
  new CliError(exit_codes.failed, `The answer cannot be read: ${what}.`, {
    way_out: "Update Flightcase here, or on the server, until both are of one release.",
    cause
  })

/** What a command needs of an answer's body. Exit 1 when it is not there in this form. */
export const decodeAnswer = <T>(decode: Decoder<T>, body: Json | undefined): T => {
  try {
    return decode(body)
  } catch (error) {
    throw unreadable(error instanceof Error ? error.message.replaceAll(/\s+/g, " ") : String(error), error)
  }
}
/** The body of an answer that holds an object. */
export const objectBody = (body: Json | undefined): JsonObject => {
  if (!isJsonObject(body)) throw unreadable("it holds no object")
  return body
}
/** The row an answer gives under its name, such as `product`. */
export const rowIn = (body: Json | undefined, key: string): JsonObject => {
  const row = objectBody(body)[key]
  if (!isJsonObject(row)) throw unreadable(`it has no ${key}`)
  return row
}
/** The rows an answer gives under their name, such as `products`. */
export const rowsIn = (body: Json | undefined, key: string): ReadonlyArray<JsonObject> => {
  const rows = objectBody(body)[key]
  if (!isRows(rows)) throw unreadable(`it has no ${key}`)
  return rows
}
/** The rows of a list; none where it is absent. */
export const rowsOr = (value: Json | undefined): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isJsonObject) : []
/** A list of nothing but objects. */
export const isRows = (value: Json | undefined): value is ReadonlyArray<JsonObject> =>
  Array.isArray(value) && value.every(isJsonObject)
/** A text that says something; null for an empty or absent one. */
export const textOrNull = (value: Json | undefined): string | null =>
  typeof value === "string" && value !== "" ? value : null
/** An id or a number that may be absent. */
export const numberOrNull = (value: Json | undefined): number | null => (typeof value === "number" ? value : null)

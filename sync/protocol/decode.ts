/**
 * Decoding at the borders: what came over the network, from a file or from a database is read through a Schema before
 * anything is done with it. Keys a Schema does not name are left out: a newer release may send or keep more.
 */
import { Schema, SchemaIssue } from "effect"

/** A message, or a stored text, is not what its declaration says. Nothing of it was used. */
export class DecodeFailure extends Error {
  override readonly name = "DecodeFailure"
  /** The decoded data, e.g. `verdicts on pushed commands`. */
  readonly subject: string
  /** Where in it, e.g. `verdicts.0.status`; empty where all of it is wrong. */
  readonly field: string
  constructor(subject: string, field: string, expected: string, cause?: unknown) {
    super(`${subject}${field === "" ? "" : `, ${field}`}: ${expected}`, { cause })
    this.subject = subject
    this.field = field
  }
}

const failureOf = (subject: string, error: unknown): unknown => {
  if (!Schema.isSchemaError(error)) return error
  const [first] = SchemaIssue.makeFormatterStandardSchemaV1()(error.issue).issues
  const field = (first?.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".")
  return new DecodeFailure(subject, field, first?.message ?? "not as declared", error)
}

/** A text of JSON that holds what the Schema says. */
export const jsonText = <T>(schema: Schema.Codec<T>) => Schema.fromJsonString(schema)

/** Reads values as a Schema declares them; throws DecodeFailure. The Schema is built when the first value is read. */
export const decoderOf = <T>(subject: string, schema: () => Schema.Codec<T, unknown>): ((value: unknown) => T) => {
  let decode: ((value: unknown) => T) | undefined
  return (value) => {
    decode ??= Schema.decodeUnknownSync(schema())
    try {
      return decode(value)
    } catch (error) {
      throw failureOf(subject, error)
    }
  }
}
/** The same for values that may be wrong: undefined where one is not as declared. */
export const optionalDecoderOf = <T>(
  subject: string,
  schema: () => Schema.Codec<T, unknown>
): ((value: unknown) => T | undefined) => {
  const decode = decoderOf(subject, schema)
  return (value) => {
    try {
      return decode(value)
    } catch (error) {
      if (error instanceof DecodeFailure) return undefined
      throw error
    }
  }
}

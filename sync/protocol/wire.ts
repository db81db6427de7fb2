/** Messages between device and server: commands, verdicts, blocks of ids. Each is declared once, as a Schema. */
import { Schema, SchemaIssue } from "effect"
import { jsonObject, wholeNumber } from "../../core/kernel/tables/field-schema.ts"
import type { Catalogue } from "../../core/kernel/endpoints/endpoint.ts"
import { hasOwnIds } from "../../core/kernel/runtime/ids.ts"

/** A file that is sent with a command: its content travels apart, and is known by its SHA-256. */
const wireFile = Schema.suspend(() =>
  Schema.Struct({ name: Schema.String, mime_type: Schema.String, size_bytes: wholeNumber, sha256: Schema.String })
)
export type WireFile = typeof wireFile.Type
/** Content of a command: the parameters of its path, the body of its request, and its files by field. */
export const wirePayload = Schema.suspend(() =>
  Schema.Struct({
    params: Schema.Record(Schema.String, Schema.String),
    body: jsonObject,
    files: Schema.optionalKey(Schema.Record(Schema.String, wireFile))
  })
)
/** The files of a payload as requests carry them. */
export const filesOfPayload = ({ files }: WireCommand["payload"]): Pick<WireCommand["payload"], "files"> =>
  files === undefined ? {} : { files }
/** The contents that commands name, each once. */
export const contentsNamed = (commands: ReadonlyArray<Pick<WireCommand, "payload">>): ReadonlyArray<string> => [
  ...new Set(commands.flatMap(({ payload }) => Object.values(payload.files ?? {}).map(({ sha256 }) => sha256)))
]
/** Ids a command took from the device's leases, by table, in order. */
export const wireIds = Schema.suspend(() => Schema.Record(Schema.String, Schema.Array(wholeNumber)))
export const rowsSeen = Schema.suspend(() => Schema.Record(Schema.String, Schema.String))
/** Far more than a command changes: a guard is no way to look through everything, or to lock it. */
const guarded_max = 10_000
const guarded_columns_max = 1_000
const guarded_name_max = 255
/**
 * State that must be unchanged for a command to be decided: rows by `table/key` with the columns that count (none: the
 * full row), and the streams with their events. Events of the same device never conflict.
 */
export const unlessChanged = Schema.suspend(() =>
  Schema.Struct({
    /** The position up to which the device knew what had happened. */
    since: wholeNumber,
    streams: Schema.Array(Schema.String.check(Schema.isMaxLength(guarded_name_max))).check(
      Schema.isMaxLength(guarded_max)
    ),
    rows: Schema.Record(
      Schema.String,
      Schema.Array(Schema.String).check(Schema.isMaxLength(guarded_columns_max))
    ).check(Schema.isMaxProperties(guarded_max))
  })
)
export type UnlessChanged = typeof unlessChanged.Type
const wireCommand = Schema.suspend(() =>
  Schema.Struct({
    /** Gap-free number in this device's sequence: 1, 2, 3 … */
    n: wholeNumber,
    /** UUID v7. */
    id: Schema.String,
    /** The endpoint's name, e.g. `opportunities.create`. */
    name: Schema.String,
    payload: wirePayload,
    ids: wireIds,
    /** When it was acknowledged, by the device's clock: data, never order. */
    issued_at: Schema.String,
    /**
     * Ids of earlier commands of this device that made what it names: when one of them is refused, it is not decided.
     */
    needs: Schema.optionalKey(Schema.Array(Schema.String)),
    /**
     * When others' rows that it names were made and, where known, by which command (`instant command`), by `table/id`:
     * a server restored from a backup may have given their ids to other rows since.
     */
    rows_seen: Schema.optionalKey(rowsSeen),
    /** It takes another command back: not over what others did since. */
    unless_changed: Schema.optionalKey(unlessChanged)
  })
)
/** A command as a device keeps and sends it: an endpoint's name with what its caller gave. */
export type WireCommand = typeof wireCommand.Type
/** A command without the outbox's own columns. */
export const toWireCommand = ({
  n,
  id,
  name,
  payload,
  ids,
  issued_at,
  needs = [],
  rows_seen = {},
  unless_changed
}: WireCommand): WireCommand => ({
  n,
  id,
  name,
  payload,
  ids,
  issued_at,
  ...(needs.length === 0 ? {} : { needs }),
  ...(Object.keys(rows_seen).length === 0 ? {} : { rows_seen }),
  ...(unless_changed === undefined ? {} : { unless_changed })
})
export const wireError = Schema.suspend(() =>
  Schema.Struct({
    status: wholeNumber,
    message: Schema.String,
    errors: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String))),
    /** The refused command this one builds on, which is why it was not decided (status 424). */
    cause: Schema.optionalKey(Schema.String)
  })
)
export type WireError = typeof wireError.Type

/** Verdict on a sent command. */
export const verdictStatus = Schema.Literals(["accepted", "rejected"]).annotate({
  description: "accepted: Accepted, rejected: Rejected"
})
export const verdict = Schema.suspend(() =>
  Schema.Struct({
    id: Schema.String,
    status: verdictStatus,
    position: Schema.optionalKey(wholeNumber),
    error: Schema.optionalKey(wireError)
  })
)
export type Verdict = typeof verdict.Type

/** A block of ids of one table, both ends included. */
export const leaseRange = Schema.suspend(() =>
  Schema.Struct({ entity: Schema.String, from: wholeNumber, to: wholeNumber })
)
export type LeaseRange = typeof leaseRange.Type

export const replicaStream = (replica_id: number): string => `replica:${replica_id}`

/**
 * The verdict on a command whose id this device used for another command before. The earlier verdict stands; this
 * command is not decided, and is recorded again under a new id.
 */
export const idReusedError = (before: { readonly n: number; readonly accepted: boolean }): WireError => {
  const message = `Another command was sent before under this one's id (number ${before.n}, ${before.accepted ? "accepted" : "refused"}); this one was not decided. Record it again: it gets an id of its own.`
  return { status: 409, message, errors: { command_id: [message] } }
}
/** Whether a verdict is that one. It comes with the answer to the push alone: the journal holds the other command's. */
export const isIdReusedError = (error: WireError | undefined): error is WireError =>
  error?.status === 409 && error.errors?.["command_id"] !== undefined

export const commands_per_push_max = 500
export const dependencies_max = 500
/** The status of a command that was not decided because what it builds on was refused (RFC 4918, 11.4). */
export const blocked_status = 424

// Decoding at the borders: what came over the network, from a file or from a database is read through a Schema before
// anything is done with it. Keys a Schema does not name are left out: a newer release may send or keep more.

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

// Which tables' ids are leased to devices: server and device ask for the same.

/** Tables that commands which can be sent later make rows in. */
export const leasedTables = (catalogue: Catalogue): ReadonlyArray<string> =>
  catalogue.tables.filter(hasOwnIds).map((table) => table.name)

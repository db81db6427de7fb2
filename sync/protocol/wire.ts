/** Messages between device and server (commands, verdicts, id blocks), each declared once as a Schema. */
import { Schema, SchemaIssue } from "effect"
import { jsonObject, wholeNumber, type Catalogue } from "../../core/kernel/index.ts"
import { hasOwnIds } from "../../core/kernel/runtime/ids.ts"

/** A file of a command: its content is sent separately and identified by SHA-256. */
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
/** Files of a payload, as requests have them. */
export const filesOfPayload = ({ files }: WireCommand["payload"]): Pick<WireCommand["payload"], "files"> =>
  files === undefined ? {} : { files }
/** Hashes of the files that commands reference, each once. */
export const contentsNamed = (commands: ReadonlyArray<Pick<WireCommand, "payload">>): ReadonlyArray<string> => [
  ...new Set(commands.flatMap(({ payload }) => Object.values(payload.files ?? {}).map(({ sha256 }) => sha256)))
]
/** Ids that a command took from the device's leases, in order, by table. */
export const wireIds = Schema.suspend(() => Schema.Record(Schema.String, Schema.Array(wholeNumber)))
export const rowsSeen = Schema.suspend(() => Schema.Record(Schema.String, Schema.String))
/**
 * Maximum number of streams and of rows in a guard, far above a command's, so that none can read or lock everything.
 */
const guarded_max = 10_000
const guarded_columns_max = 1_000
const guarded_name_max = 255
/**
 * State that must be unchanged for a command to be decided: rows by `table/key` with the columns that count (none: all
 * that people edit), and the streams with their events. Events of the same device never conflict.
 */
export const unlessChanged = Schema.suspend(() =>
  Schema.Struct({
    /** Journal position up to which the device knew the events. */
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
    /** Number in the device's sequence, without gaps: 1, 2, 3 … */
    n: wholeNumber,
    /** UUID v7. */
    id: Schema.String,
    /** Name of the endpoint, such as `opportunities.create`. */
    name: Schema.String,
    payload: wirePayload,
    ids: wireIds,
    /** Time of its acknowledgement by the device's clock. Never used for ordering. */
    issued_at: Schema.String,
    /** Ids of earlier commands of this device that it depends on: if one is refused, this command is not decided. */
    needs: Schema.optionalKey(Schema.Array(Schema.String)),
    /**
     * Creation time of others' rows it references and, if known, the creating command (`instant command`), by
     * `table/id`: a server restored from a backup may have given the ids to other rows.
     */
    rows_seen: Schema.optionalKey(rowsSeen),
    /** Guard of an undo: state that others must not have changed. */
    unless_changed: Schema.optionalKey(unlessChanged)
  })
)
/** A command as stored and sent by a device: an endpoint's name with the caller's input. */
export type WireCommand = typeof wireCommand.Type
/** A command without the outbox's additional columns. */
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
    /** Id of the refused command that this one depends on, so that it was not decided (status 424). */
    cause: Schema.optionalKey(Schema.String)
  })
)
export type WireError = typeof wireError.Type

/** Verdict on a sent command. */
export const verdictStatus = Schema.Literals(["accepted", "rejected"]).annotate({
  description: "Whether the server accepted or rejected the command"
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

/** A block of a table's ids; both ends are included. */
export const leaseRange = Schema.suspend(() =>
  Schema.Struct({ entity: Schema.String, from: wholeNumber, to: wholeNumber })
)
export type LeaseRange = typeof leaseRange.Type

export const replicaStream = (replica_id: number): string => `replica:${replica_id}`

/**
 * Error of a command whose id this device already used for another one. The earlier verdict stands; the command is not
 * decided, and must be recorded again under a new id.
 */
export const idReusedError = (before: { readonly n: number; readonly accepted: boolean }): WireError => {
  const message = `Another command was sent before under this one's id (number ${before.n}, ${before.accepted ? "accepted" : "refused"}); this one was not decided. Record it again: it gets an id of its own.`
  return { status: 409, message, errors: { command_id: [message] } }
}
/** Whether an error is `idReusedError`. Devices take it from the push: the journal has the other command's verdict. */
export const isIdReusedError = (error: WireError | undefined): error is WireError =>
  error?.status === 409 && error.errors?.["command_id"] !== undefined

export const commands_per_push_max = 500
export const dependencies_max = 500
/** Status of a command that was not decided because one it depends on was refused (RFC 4918, 11.4). */
export const blocked_status = 424

// Decoding of input from the network, files and databases by Schemas, before it is used. Unknown keys are dropped, as
// newer releases may send or store more.

/** A message or stored text does not match its declaration. Nothing of it was used. */
export class DecodeFailure extends Error {
  override readonly name = "DecodeFailure"
  /** Description of the decoded data, such as `verdicts on pushed commands`. */
  readonly subject: string
  /** Path of the fault, such as `verdicts.0.status`; empty if all of it is invalid. */
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

/** Schema of a JSON text that contains a value of the given Schema. */
export const jsonText = <T>(schema: Schema.Codec<T>) => Schema.fromJsonString(schema)

/** A decoder by a Schema, which throws a DecodeFailure. The Schema is built when the first value is read. */
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
/** A decoder by a Schema that returns undefined for invalid values. */
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

// Tables whose ids are leased to devices, equal on server and device.

/** Names of tables whose rows have ids from a sequence (`hasOwnIds`), in catalogue order. */
export const leasedTables = (catalogue: Catalogue): ReadonlyArray<string> =>
  catalogue.tables.filter(hasOwnIds).map((table) => table.name)

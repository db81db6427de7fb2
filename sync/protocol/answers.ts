/** Schemas of the sync endpoints' answers, by which the server publishes and devices decode them. */
import { Schema } from "effect"
import { wholeNumber, type Catalogue } from "../../core/kernel/index.ts"
import { checkSection, checksumPage, type SnapshotPage, snapshotPage, snapshotPlan } from "./snapshot.ts"
import { decoderOf, leaseRange, verdict } from "./wire.ts"

/** Server information for devices. */
export const serverInfo = Schema.suspend(() =>
  Schema.Struct({
    schema_version: wholeNumber,
    /** Minimum schema of a device whose commands are accepted. */
    client_schema_min: wholeNumber,
    /** Ed25519 public key, base64url; null if the server signs no bundles. */
    public_key: Schema.NullOr(Schema.String)
  })
)
export const lease = Schema.suspend(() => Schema.Array(leaseRange))
export const verdicts = Schema.suspend(() => Schema.Array(verdict))
/** The answer to a device's first request of each sync (`replicas.hello`). */
export const greeting = Schema.suspend(() =>
  Schema.Struct({
    /** The device. `last_n`: its last command number that the server has decided. */
    replica: Schema.Struct({ id: wholeNumber, name: Schema.String, last_n: wholeNumber }),
    server: serverInfo,
    now: Schema.String.annotate({ format: "date-time" }),
    /** Whether another folder, or a later state of this one, has sent commands as this device. */
    copied: Schema.Boolean,
    /** Number of id blocks leased to this device. */
    leases: wholeNumber,
    /** Whether the server accepts commands from this device's release. */
    push: Schema.Boolean,
    signs: Schema.Boolean
  })
)
/** A received file; its type is detected from its content. */
export const receivedFile = Schema.suspend(() =>
  Schema.Struct({ sha256: Schema.String, size_bytes: wholeNumber, mime_type: Schema.String })
)
export const wantedFiles = Schema.suspend(() => Schema.Array(Schema.String))
/** Fields of the enrolment's answer that a device reads. */
const enrolment = Schema.suspend(() =>
  Schema.Struct({
    replica: Schema.Struct({
      id: wholeNumber,
      user_id: wholeNumber,
      abilities: Schema.Array(Schema.String),
      public_url: Schema.optionalKey(Schema.NullOr(Schema.String))
    }),
    lease,
    token: Schema.optionalKey(Schema.Struct({ secret: Schema.String })),
    server: Schema.optionalKey(serverInfo)
  })
)
const refusal = Schema.suspend(() =>
  Schema.Struct({
    message: Schema.String,
    errors: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String)))
  })
)

export const decodeEnrolment = decoderOf("the answer to an enrolment", () => enrolment)
export const decodeGreeting = decoderOf("the answer to the start of a sync", () => greeting)
export const decodeVerdicts = decoderOf("the verdicts on commands", () => Schema.Struct({ verdicts }))
export const decodeLease = decoderOf("a lease of ids", () => Schema.Struct({ lease }))
export const decodeWanted = decoderOf("the files wanted", () => Schema.Struct({ wanted: wantedFiles }))
export const decodePlan = decoderOf("the plan of a fill", () => Schema.Struct({ snapshot: snapshotPlan }))
const decodeRowsEnvelope = decoderOf("a page of rows", () => Schema.Struct({ page: snapshotPage }))
/** Decodes a page of rows and checks its values against this release's columns. */
export const decodeRows = ({ tables }: Pick<Catalogue, "tables">, body: unknown): { readonly page: SnapshotPage } => {
  const { page } = decodeRowsEnvelope(body)
  for (const section of page.sections)
    checkSection(
      tables.find(({ name }) => name === section.table),
      section
    )
  return { page }
}
export const decodeChecksums = decoderOf("a page of checksums", () => Schema.Struct({ page: checksumPage }))
export const decodeRefusal = decoderOf("a refusal", () => refusal)

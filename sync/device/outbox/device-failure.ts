/** Failures of the device itself, and detection of damaged SQLite files. */
type DeviceFailureKind =
  | "profile damaged"
  | "outbox missing"
  | "outbox damaged"
  | "commands missing"
  | "replica damaged"
  | "revoked"
  | "copied"
  | "newer schema"
/** A failure of this device, such as a damaged file, with advice. */
export class DeviceFailure extends Error {
  override readonly name = "DeviceFault"
  readonly kind: DeviceFailureKind
  readonly way_out: string
  /** Status of the server's answer, if the server reported the failure; else undefined. */
  readonly status: number | undefined
  constructor(kind: DeviceFailureKind, message: string, way_out: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
    this.status = kind === "revoked" ? 403 : kind === "copied" ? 409 : undefined
    this.way_out = way_out
  }
}

/** Error for a document in the replica whose form no release wrote. */
export class ReplicaTextFailure extends Error {
  override readonly name = "ReplicaTextFailure"
  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

const names_of_row_failures: ReadonlySet<string> = new Set(["Altered", "DecodeFailure", "ReplicaTextFailure"])
/** Text naming the damaged row if known, as SQLite's own messages do not help users. */
export const whatIsWrong = (cause: unknown): string =>
  cause instanceof Error && names_of_row_failures.has(cause.name) ? ` (${cause.message}.)` : ""

export const outboxDamaged = (path: string, cause?: unknown): DeviceFailure =>
  new DeviceFailure(
    "outbox damaged",
    `The outbox ${path} is damaged: commands recorded here and not sent yet are in it. Nothing was changed.${whatIsWrong(cause)}`,
    "flightcase sync export-pending FILE writes out what can still be read; a backup of the file may hold the rest. Then flightcase login URL --token T --set-aside begins anew and keeps this folder beside the new one.",
    cause
  )

/** Whether the error means a damaged file (SQLITE_CORRUPT, SQLITE_NOTADB), or a damaged document in it. */
export const isDamage = (error: unknown): boolean => {
  if (error instanceof ReplicaTextFailure) return true
  const code = sqliteCodeIn(error)
  return code === 11 || code === 26
}
/** SQLite's primary result code of the error or its first cause that has one; undefined if none. */
export const sqliteCodeIn = (error: unknown): number | undefined => {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; depth++) {
    if ("errcode" in at && typeof at.errcode === "number") return at.errcode & 255
    at = "reason" in at && at.reason instanceof Error ? at.reason : at.cause
  }
  return undefined
}

/** Errors of this machine or this device, with what is safe and what to do. */
import { CliError, exit_codes } from "./exit-codes.ts"

const device_codes: { readonly [kind: string]: number } = {
  revoked: exit_codes.not_allowed,
  copied: exit_codes.conflict
}

/** The `CliError` for an error of the device, its files or its disk; undefined for others. Recognised by name and code. */
export const deviceErrorOf = (error: Error): CliError | undefined => {
  const { name, message } = error
  const kind = "kind" in error ? String(error.kind) : ""
  const way = "way_out" in error && typeof error.way_out === "string" ? error.way_out : undefined
  if (name === "DeviceFault")
    return new CliError(device_codes[kind] ?? exit_codes.failed, message, { way_out: way, cause: error })
  if (name === "BundleFault") return new CliError(exit_codes.invalid, message, { way_out: way, cause: error })
  if (name === "SyncBusy")
    return new CliError(exit_codes.conflict, message, { way_out: "Try again in a moment.", cause: error })
  const failure = failureIn(error)
  if (failure === undefined) return undefined
  const end = (text: string, out: string): CliError =>
    new CliError(exit_codes.failed, `${text} ${recordedText(error)}`, { way_out: out, cause: error })
  switch (failure) {
    case "full":
      return end("The disk is full.", "Make room on it, then go on: what was recorded before is safe.")
    case "read-only":
      return end(
        "The folder of this profile cannot be written: it is read-only, or belongs to somebody else.",
        "Make it writable for this user, or name another with FLIGHTCASE_HOME."
      )
    case "unopened":
      return end(
        "The files of this profile cannot be opened.",
        "Look at the rights of its folder (FLIGHTCASE_HOME, else ~/.local/share/flightcase) and at the disk."
      )
    case "disk":
      return end(
        "The disk reports an error.",
        "Copy the profile's folder somewhere safe, look at the disk, then run flightcase doctor."
      )
    case "damaged":
      return new CliError(exit_codes.failed, "A file of this profile is damaged.", {
        way_out: "flightcase doctor says which, and what can be done.",
        cause: error
      })
    case "locked":
      return new CliError(exit_codes.failed, "Another process has held the files of this profile for too long.", {
        way_out: "Try again; if it stays so, look for a flightcase that hangs.",
        cause: error
      })
  }
}

type Failure = "full" | "read-only" | "unopened" | "disk" | "damaged" | "locked"
const of_sqlite: { readonly [primary_code: number]: Failure } = {
  5: "locked",
  8: "read-only",
  10: "disk",
  11: "damaged",
  13: "full",
  14: "unopened",
  26: "damaged"
}
const of_system: { readonly [code: string]: Failure } = {
  ENOSPC: "full",
  EDQUOT: "full",
  EROFS: "read-only",
  EACCES: "read-only",
  EPERM: "read-only",
  EIO: "disk"
}

/** The failure that SQLite or the system reports, in the error or any of its causes. */
const failureIn = (error: Error): Failure | undefined => {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; depth++) {
    if ("errcode" in at && typeof at.errcode === "number") return of_sqlite[at.errcode & 255]
    if ("syscall" in at && "code" in at && typeof at.code === "string" && of_system[at.code] !== undefined)
      return of_system[at.code]
    at = "reason" in at && at.reason instanceof Error ? at.reason : at.cause
  }
  return undefined
}
/** Whether the command was recorded: once the outbox has it, it is not lost, whatever failed afterwards. */
const recordedText = (error: Error): string =>
  "recorded_n" in error && typeof error.recorded_n === "number"
    ? `The command was recorded all the same, as number ${error.recorded_n}: do not give it again.`
    : "Nothing of this was recorded."

/** Prints errors on standard error: as text for people, with --json as `{message, errors, way_out}`. */
import { CliError, exit_codes } from "../base/exit-codes.ts"
import type { AskFacts, WayOut } from "../../core/offline/conflicts/ways.ts"
import { isJsonObject, type Request } from "../../core/kernel/index.ts"
import { typedNumber } from "../../core/values/text.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import { type Row, rowIn } from "../base/answers.ts"
import { oneLine, type Terminal, toType } from "../output/text.ts"
import { responseError } from "../base/response-errors.ts"
import { printErr, printJsonErr } from "../output/out.ts"

// Errors of this machine or device, with advice and a note on what is safe.

const device_codes: { readonly [kind: string]: number } = {
  revoked: exit_codes.not_allowed,
  copied: exit_codes.conflict
}

/** The `CliError` for an error of the device, its files or its disk, found by name and code; undefined for others. */
const deviceErrorOf = (error: Error): CliError | undefined => {
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
/** SQLite's IOERR_SHMSIZE: no space for the index of the log, which opening a file may create. */
const no_shared_memory = 4874
const of_system: { readonly [code: string]: Failure } = {
  ENOSPC: "full",
  EDQUOT: "full",
  EROFS: "read-only",
  EACCES: "read-only",
  EPERM: "read-only",
  EIO: "disk"
}

/** The failure reported by SQLite or the system, in the error or its causes; undefined if there is none. */
const failureIn = (error: Error): Failure | undefined => {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; depth++) {
    if ("errcode" in at && typeof at.errcode === "number")
      return at.errcode === no_shared_memory ? "full" : of_sqlite[at.errcode & 255]
    if ("syscall" in at && "code" in at && typeof at.code === "string" && of_system[at.code] !== undefined)
      return of_system[at.code]
    at = "reason" in at && at.reason instanceof Error ? at.reason : at.cause
  }
  return undefined
}
/** Describes whether the command was recorded: once in the outbox it is not lost, whatever failed later. */
const recordedText = (error: Error): string =>
  "recorded_n" in error && typeof error.recorded_n === "number"
    ? `The command was recorded all the same, as number ${error.recorded_n}: do not give it again.`
    : "Nothing of this was recorded."

// Makes the error for an error response; for shortages with commands that resolve them.

type Asking = Pick<Request, "method" | "path"> & Partial<Pick<Request, "body" | "query">>
interface Asked {
  readonly request: (asking: Asking) => Promise<QueryResult>
  readonly terminal: Terminal
}

export const refusalOf = async (context: Asked, asked: Asking, answer: QueryResult): Promise<CliError> => {
  const error = responseError(answer)
  const [, id] = /^\/api\/v1\/opportunities\/(\d+)\//.exec(asked.path) ?? []
  if (id === undefined || error.errors?.shortages === undefined || asked.method === "GET") return error
  // The error is printed even if its remedies cannot be computed.
  const way_out = await waysText(context, Number(id)).catch(() => undefined)
  return way_out === undefined ? error : new CliError(error.code, error.message, { errors: error.errors, way_out })
}

const waysText = async ({ request, terminal }: Asked, id: number): Promise<string | undefined> => {
  const facts: AskFacts = ({ body, method, path, query }) => request({ method, path, query, body })
  const { shortageWays } = await import("../../core/offline/conflicts/ways.ts")
  const ways = await shortageWays(facts, id)
  if (ways.length === 0) return undefined
  const { body } = await request({ method: "GET", path: `/api/v1/opportunities/${id}` })
  const order: Partial<Row<"opportunity">> = isJsonObject(body) ? rowIn(body, "opportunity") : {}
  const number = order.number
  const named = typedNumber(typeof number === "string" ? number : null, id)
  const texts = ways.flatMap((way) => wayText(way, named) ?? [])
  return toType(`${texts.join("; ")}.`, terminal.zoneOf?.(order))
}
const wayText = ({ ends_at, lines = [], starts_at, way }: WayOut, order: string): string | undefined => {
  if (way === "reduce") {
    const updates = lines.map(({ opportunity_item_id, quantity }) =>
      quantity === 0
        ? `flightcase quote remove ${order} ${opportunity_item_id}`
        : `flightcase quote update ${order} ${opportunity_item_id} --quantity ${quantity}`
    )
    return `For what is free: ${updates.join(" && ")}`
  }
  if (way === "dates")
    return `when all of it is free: flightcase orders extend ${order} --from ${starts_at ?? ""} --to ${ends_at ?? ""}`
  return way === "waitlist" ? `to be told when goods come free: flightcase shortages wait ${order}` : undefined
}

/** Prints an error, and returns its exit code. */
export const reportError = (error: unknown, json: boolean): number => {
  const exit = exitFrom(error)
  if (json) {
    printJsonErr({
      message: exit.message,
      ...(exit.errors === undefined ? {} : { errors: exit.errors }),
      ...(exit.way_out === undefined ? {} : { way_out: exit.way_out })
    })
    return exit.code
  }
  // Line breaks in names must not look like lines of the report.
  printErr(
    linesOf(exit)
      .map((line) => `${oneLine(line)}\n`)
      .join("")
  )
  if (exit.code === exit_codes.failed && process.env["FLIGHTCASE_DEBUG"] !== undefined && error instanceof Error)
    printErr(`${error.stack}\n`)
  return exit.code
}

/** Lines of an error: its message, its fields and its advice. A field with the message itself is named beside it. */
const linesOf = ({ errors = {}, message, way_out }: CliError): ReadonlyArray<string> => {
  const lines = [`flightcase: ${message}`]
  for (const [field, texts] of Object.entries(errors)) {
    for (const text of Array.isArray(texts) ? texts : [texts]) {
      const line = typeof text === "string" ? text : JSON.stringify(text)
      if (line !== message) lines.push(`  ${field}: ${line}`)
      else lines[0] = `flightcase: ${field}: ${line}`
    }
  }
  return way_out === undefined ? lines : [...lines, `  ${way_out}`]
}

/** The `CliError` for a library's or the device's error, found by name, so that no library is loaded for it. */
export const exitFrom = (error: unknown): CliError => {
  if (error instanceof CliError) return error
  if (!(error instanceof Error)) return new CliError(exit_codes.failed, String(error))
  const { name } = error
  if (name === "ExitPromptError" || name === "AbortPromptError")
    return new CliError(exit_codes.interrupted, "Interrupted.")
  if (name === "Unreachable") {
    return new CliError(exit_codes.network, error.message, {
      way_out: "Check the address and the connection; the replica goes on working without it.",
      cause: error
    })
  }
  if (name === "RemoteError") return fromRemote(error)
  const of_device = deviceErrorOf(error)
  if (of_device !== undefined) return of_device
  if (name === "NoProfile") return new CliError(exit_codes.usage, error.message)
  if ("code" in error && error.code === "ENOENT" && "path" in error)
    return new CliError(exit_codes.usage, `There is no file ${String(error.path)}.`, { cause: error })
  if ("syscall" in error && error.syscall === "mkdir" && "code" in error && /EEXIST|ENOTDIR/.test(String(error.code)))
    return new CliError(exit_codes.usage, `${"path" in error ? String(error.path) : "This"} is no folder.`)
  return new CliError(exit_codes.failed, error.message === "" ? name : error.message, { cause: error })
}
const fromRemote = (error: Error): CliError => {
  const status = "status" in error ? error.status : undefined
  const body = "body" in error && isJsonObject(error.body) ? error.body : {}
  const { code = exit_codes.failed, way_out } = remote_statuses[Number(status)] ?? {}
  return new CliError(code, error.message, {
    errors: isJsonObject(body.errors) ? body.errors : undefined,
    cause: error,
    way_out
  })
}
const remote_statuses: { readonly [status: number]: { readonly code?: number; readonly way_out?: string } } = {
  401: { code: exit_codes.not_allowed, way_out: "Log in again with another: flightcase login URL --token T." },
  403: { code: exit_codes.not_allowed },
  404: { code: exit_codes.not_found },
  409: { code: exit_codes.conflict },
  422: { code: exit_codes.invalid },
  425: { code: exit_codes.conflict },
  426: { way_out: "Nothing is lost: update Flightcase on this machine, then flightcase sync." },
  503: { code: exit_codes.network }
}

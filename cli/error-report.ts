/** Reports errors on standard error: for people in words, with --json as `{message, errors}`. */
import { isJsonObject } from "../core/kernel/json.ts"
import { CliError, exit_codes } from "./exit-codes.ts"
import { deviceErrorOf } from "./device-errors.ts"
import { printErr, printJsonErr } from "./output/out.ts"
import { oneLine } from "./output/text.ts"

/** Prints the error and gives its exit code. */
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
  const lines = [`flightcase: ${exit.message}`]
  for (const [field, texts] of Object.entries(exit.errors ?? {})) {
    for (const text of Array.isArray(texts) ? texts : [texts]) {
      const line = typeof text === "string" ? text : JSON.stringify(text)
      if (line !== exit.message) lines.push(`  ${field}: ${line}`)
      else lines[0] = `flightcase: ${field}: ${line}`
    }
  }
  if (exit.way_out !== undefined) lines.push(`  ${exit.way_out}`)
  // Names in a refusal may contain line breaks, which must not look like further lines of the report.
  printErr(lines.map((line) => `${oneLine(line)}\n`).join(""))
  if (exit.code === exit_codes.failed && process.env["FLIGHTCASE_DEBUG"] !== undefined && error instanceof Error)
    printErr(`${error.stack}\n`)
  return exit.code
}

/** The `CliError` for an error of a library or of the device; they are recognised by name, so that none has to be loaded. */
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
  if ("code" in error && String(error.code).startsWith("commander."))
    return new CliError(exit_codes.usage, error.message.replace(/^error: /, ""))
  if ("code" in error && error.code === "ENOENT" && "path" in error)
    return new CliError(exit_codes.usage, `There is no file ${String(error.path)}.`, { cause: error })
  return new CliError(exit_codes.failed, error.message === "" ? name : error.message, { cause: error })
}
const fromRemote = (error: Error): CliError => {
  const status = "status" in error ? error.status : undefined
  const body = "body" in error && isJsonObject(error.body) ? error.body : {}
  const code =
    status === 401 || status === 403
      ? exit_codes.not_allowed
      : status === 404
        ? exit_codes.not_found
        : status === 422
          ? exit_codes.invalid
          : status === 409 || status === 425
            ? exit_codes.conflict
            : status === 503
              ? exit_codes.network
              : exit_codes.failed
  return new CliError(code, error.message, {
    errors: isJsonObject(body["errors"]) ? body["errors"] : undefined,
    cause: error,
    way_out:
      status === 401
        ? "Log in again with another: flightcase login URL --token T."
        : status === 426
          ? "Nothing is lost: update Flightcase on this machine, then flightcase sync."
          : undefined
  })
}

/** Exit codes, on which scripts rely, and the error that has one. */
import type { Json } from "../../core/kernel/index.ts"

export const exit_codes = {
  ok: 0,
  failed: 1,
  usage: 2,
  not_found: 3,
  not_allowed: 4,
  invalid: 5,
  conflict: 6,
  network: 7,
  sync_conflicts: 8,
  /** `sync --watch` after the program was replaced, so that systemd starts the new release. */
  replaced: 75,
  interrupted: 130
} as const

/** An expected error, with faults by field and advice. Other exceptions are defects. */
export class CliError extends Error {
  readonly code: number
  /** Faults by field or flag. */
  readonly errors: { readonly [field: string]: Json } | undefined
  /** Advice for the user on how to continue. */
  readonly way_out: string | undefined
  constructor(
    code: number,
    message: string,
    more: {
      readonly errors?: { readonly [field: string]: Json } | undefined
      readonly way_out?: string | undefined
      readonly cause?: unknown
    } = {}
  ) {
    super(message, more.cause === undefined ? {} : { cause: more.cause })
    this.code = code
    this.errors = more.errors
    this.way_out = more.way_out
  }
}

/** Error of wrong usage: exit 2. */
export const usageError = (message: string, way_out?: string): CliError =>
  new CliError(exit_codes.usage, message, { way_out })
/** Error of --plan where this device cannot decide the command: exit 2. `names_server`: by flag or environment. */
export const noPlan = (names_server: boolean, has_replica: boolean): CliError =>
  has_replica && !names_server
    ? usageError("Only the server decides this, so that there is no plan of it here.", "Leave out --plan to do it.")
    : usageError(
        "--plan needs a replica that can decide this here.",
        has_replica
          ? "Leave out --remote and --url, and unset FLIGHTCASE_URL where it names another server."
          : "Log in first: flightcase login URL --token T."
      )
export const notLoggedIn = (profile: string): CliError =>
  usageError(
    `Nobody has logged in${profile === "default" ? "" : ` under the profile ${profile}`}.`,
    "Run flightcase login URL --token T, or give --url and --token (FLIGHTCASE_URL, FLIGHTCASE_TOKEN)."
  )
/** Rejects --plan for writes that cannot be planned, before anything is done: exit 2. */
export const refusePlan = ({ options }: { readonly options: { readonly plan?: boolean } }): void => {
  if (options.plan === true) throw usageError("There is no plan of this.", "Leave out --plan to do it.")
}
/** Error of a missing required value that no prompt supplied: exit 2, naming the flag. */
export const missingFlagError = (flag: string, what: string): CliError =>
  new CliError(exit_codes.usage, `${what} is missing: give ${flag}.`, { errors: { [flag]: ["is required"] } })

/** `serve` and `upgrade`: run the server, or check its next start; configured by environment variables alone. */
import type { Command } from "commander"
import { variablesText } from "../../../server/host/environment.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, refusePlan, usageError } from "../../base/exit-codes.ts"
import { type Flags, verb } from "../../context/program.ts"

const at_the_machine = `
At the server's own machine, with the same environment:
  flightcase serve                  run until a signal ends it
  flightcase serve --check          check the configuration, and start nothing
  flightcase serve recover-owner    replace a lost owner token; the server may keep running
  flightcase import all FOLDER      restore an export on an empty server
  GET /api/v1/system/health         health; /metrics for Prometheus
`

export const declare = (program: Command): void => {
  const serve = verb(program, "serve", {
    about: "Run the server, on Postgres or, if no database is configured, on SQLite. SIGTERM and SIGINT stop it.",
    "--check":
      "check settings, folder, disk space, addresses, database, upgrade, mail and files, without starting the server",
    run
  }).addHelpText("after", `${at_the_machine}\nEnvironment variables:\n${variablesText()}`)
  verb(serve, "recover-owner", {
    about:
      "Issue a new owner token, shown once. Needs access to the server's data folder (FLIGHTCASE_DATA) or " +
      "database (DATABASE_URL). Other tokens stay valid.",

    run: recover
  })
}

export const declareUpgrade = (program: Command): void => {
  verb(program, "upgrade", {
    about: "Show with --check how the next start upgrades the server's database",
    "--check": "name pending migrations, and the time and room they need; change nothing",
    run: checkUpgrade
  })
}

/** Findings of `serve --check` about starting this release on the database. */
const of_upgrades = ["settings", "data folder", "disk", "database", "upgrade"]
const checkUpgrade = async (context: CommandContext, _args: ReadonlyArray<string>, flags: Flags): Promise<number> => {
  refuseElsewhere(context, "An upgrade is checked")
  if (flags.check !== true)
    throw usageError(
      "An upgrade is the next release's first start.",
      "flightcase upgrade --check says what it will do; flightcase backup create FOLDER comes first."
    )
  const { checkConfiguration } = await import("../../../server/host/check.ts")
  const { printFindings } = await import("./doctor/doctor.ts")
  const findings = await checkConfiguration(context.env)
  return printFindings(
    context,
    findings.filter(({ check }) => of_upgrades.includes(check))
  )
}

const run = async (context: CommandContext, _args: ReadonlyArray<string>, flags: Flags): Promise<number> => {
  refuseElsewhere(context, "A server runs")
  refusePlan(context)
  if (flags.check === true) {
    const { checkConfiguration } = await import("../../../server/host/check.ts")
    const { printFindings } = await import("./doctor/doctor.ts")
    return printFindings(context, await checkConfiguration(context.env))
  }
  const { serve } = await import("../../../server/host/serve.ts")
  // The server's own signal handlers finish requests; those of the command line would abort them.
  for (const signal of ["SIGINT", "SIGTERM"]) process.removeAllListeners(signal)
  return serve(process.env)
}

/** Rejects flags that name another server. */
export const refuseElsewhere = (context: CommandContext, subject: string): void => {
  const { options } = context
  if (options.remote === true || options.url !== undefined || options.token !== undefined)
    throw usageError(
      `${subject} at the server's own machine, not over the network.`,
      "Run it there, with FLIGHTCASE_DATA or DATABASE_URL as the server has it, without --url, --token and --remote."
    )
}

const recover = async (context: CommandContext): Promise<void> => {
  refuseElsewhere(context, "The owner's token is recovered")
  refusePlan(context)
  const { options } = context
  const { databaseHere, recoverOwner } = await import("../../../server/host/recover-owner.ts")
  const { StartupError } = await import("../../../server/ports/startup-error.ts")
  try {
    const { id, secret, user_id, user_name } = await recoverOwner(databaseHere(context.env))
    if (options.json === true) context.printJson({ token: { id, secret, user_id } })
    else context.print(`${secret}\n`)
    context.note(
      `A new token (${id}) of ${user_name}, told this once. Log in with it: flightcase login URL --token -. ` +
        "flightcase tokens list shows the others; tokens delete takes one away."
    )
  } catch (error) {
    if (error instanceof StartupError) throw new CliError(exit_codes.failed, error.message, { cause: error })
    throw error
  }
}

/**
 * `serve`: the server. All its settings come from the environment, so they are the same for every way of starting it.
 */
import type { Command } from "commander"
import { variablesText } from "../../../server/host/environment.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, refusePlan, usageError } from "../../base/exit-codes.ts"
import { withAction } from "../../context/program.ts"

const at_the_machine = `
At the server's own machine, with the same environment:
  flightcase serve                  serve until a signal ends it
  flightcase serve recover-owner    a new token for the owner, where theirs is lost; the server may go on running
  flightcase import all FOLDER      bring an export into an empty server
  GET /api/v1/system/health         whether it works; /metrics for what watches it
`

export const declare = (program: Command): void => {
  const serve = program
    .command("serve")
    .description(
      "The server: the API over Postgres, or over SQLite when no database is configured. SIGTERM and SIGINT stop it."
    )
    .addHelpText("after", `${at_the_machine}\nEnvironment variables:\n${variablesText()}`)
    .action(async () => {
      const { serve } = await import("../../../server/host/serve.ts")
      // The server stops by its own signal handlers; the command line's would end it with requests under way.
      process.removeAllListeners("SIGINT")
      await serve(process.env)
    })
  withAction(
    serve
      .command("recover-owner")
      .description(
        "Give the owner a new token, told once. For whoever may read the server's data folder (FLIGHTCASE_DATA) or " +
          "its database (DATABASE_URL), at the server's own machine. All other tokens stay; that it was done is recorded."
      ),
    recover
  )
}

const recover = async (context: CommandContext): Promise<void> => {
  const { options } = context
  if (options.remote === true || options.url !== undefined || options.token !== undefined)
    throw usageError(
      "The owner's token is recovered at the server's own machine, not over the network.",
      "Run it there, with FLIGHTCASE_DATA or DATABASE_URL as the server has it, without --url, --token and --remote."
    )
  refusePlan(context)
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

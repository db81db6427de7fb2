/** `serve`: the server. All its settings come from the environment, so they are the same however it is started. */
import type { Command } from "commander"
import { variablesText } from "../../../server/environment.ts"

export const declare = (program: Command): void => {
  program
    .command("serve")
    .description(
      "The server: the API over Postgres, or over SQLite when no database is configured. SIGTERM and SIGINT stop it."
    )
    .addHelpText("after", `\nEnvironment variables:\n${variablesText()}`)
    .action(async () => {
      const { serve } = await import("../../../server/serve.ts")
      // The server stops by its own signal handlers; the command line's would end it with requests under way.
      process.removeAllListeners("SIGINT")
      await serve(process.env)
    })
}

/** `users`: the verbs of the API's noun, and access by invitation or a new code. */
import type { Command } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const users = program.command("users").description("People who work here, and how they get in")
  withAction(
    users
      .command("invite")
      .description("Send somebody a code to log in with, by mail, and make their account")
      .argument("<email>")
      .requiredOption("--name <name>", "what they are called")
      .addOption(repeatable("--role <role>", "what they may do: a role's name or id; may be given again"))
      .option("--no-send", "make the account, and send nothing yet"),
    async (context, [email = ""], flags) => (await import("./access.ts")).inviteUser(context, email, flags)
  )
  withAction(
    users
      .command("reset-password")
      .description("Send somebody a new code to log in with, by mail")
      .argument("<user>", "id, e-mail address or name")
      .option("--end-sessions", "their tokens, and those of their devices, end now"),
    async (context, [named = ""], flags) => (await import("./access.ts")).resetAccess(context, named, flags)
  )
}

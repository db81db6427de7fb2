/** `users`: inviting users and sending login codes; the verbs of the API's noun are added. */
import type { Command } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const users = program.command("users").description("Staff accounts and their logins")
  withAction(
    users
      .command("invite")
      .description("Create a user's account and mail them a login code")
      .argument("<email>")
      .requiredOption("--name <name>", "what they are called")
      .addOption(repeatable("--role <role>", "role, by name or id; repeatable"))
      .option("--no-send", "create the account without sending mail"),
    async (context, [email = ""], flags) => (await import("./access.ts")).inviteUser(context, email, flags)
  )
  withAction(
    users
      .command("reset-password")
      .description("Mail a user a new login code")
      .argument("<user>", "id, e-mail address or name")
      .option("--end-sessions", "revoke their tokens and those of their devices"),
    async (context, [named = ""], flags) => (await import("./access.ts")).resetAccess(context, named, flags)
  )
}

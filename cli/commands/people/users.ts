/** `users`: inviting users and sending login codes; the verbs derived from the API are added. */
import type { Command } from "commander"
import { type CommandAction, repeatable, required, verb } from "../../context/program.ts"
import { Schema } from "effect"
import type { Json, Query } from "../../../core/kernel/index.ts"
import { decodeAnswer, decoderOf, rowIn, rowsIn } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes } from "../../base/exit-codes.ts"
import type { QueryResult } from "../../../sync/device/device.ts"
import { printAnswer } from "../../context/print.ts"
import { fetched } from "../../context/writes.ts"
import { minuteText } from "../../output/text.ts"
import { looksLikeId } from "../../context/resolve-id.ts"

export const declare = (program: Command): void => {
  const users = program.command("users").description("Staff accounts and their logins")
  verb(users, "invite", {
    about: "Create a user's account and mail them a login code",
    "<email>": "e-mail address of the person to invite",
    "--name <name>": required("name of the user"),
    "--role <role>": repeatable("role, by name or id; repeatable"),
    "--no-send": "create the account without sending mail",
    run: inviteUser
  })
  verb(users, "reset-password", {
    about: "Mail a user a new login code",
    "<user>": "user, by id, e-mail address or name",
    "--end-sessions": "revoke their tokens and those of their devices",
    run: resetAccess
  })
}

const invited = decoderOf(() =>
  Schema.Struct({
    user: Schema.Struct({ id: Schema.Int, name: Schema.String, email: Schema.String }),
    invitation_sent: Schema.optional(Schema.Boolean),
    invitation_code: Schema.optional(Schema.NullOr(Schema.String))
  })
)
const reset = decoderOf(() => Schema.Struct({ message: Schema.String, expires_at: Schema.String }))

/** Invites a user at the server, which mails at once; with --offline records it here, for the next sync to send. */
const inviteUser: CommandAction = async (context, [email = ""], flags) => {
  const { name, role = [], send } = flags
  const body = {
    name: String(name),
    email,
    roles: Array.isArray(role) ? role.map(String) : [String(role)],
    send_invitation: send !== false
  }
  const answer = await context.askServer({ method: "POST", path: "/api/v1/users", body }).catch((error: unknown) => {
    if (!(error instanceof CliError) || !/taken/.test(String(error.errors?.email))) throw error
    const way_out = `flightcase users reset-password ${email} sends the person a new code.`
    throw new CliError(error.code, error.message, { errors: error.errors, way_out, cause: error })
  })
  await sayInvited(context, answer)
  // After the code, which is shown once.
  if (answer.events === undefined && answer.command === undefined) await fetched(context)
}
const sayInvited = async (context: CommandContext, answer: QueryResult): Promise<void> => {
  if (context.options.json === true || answer.events !== undefined) return printAnswer(context, answer)
  const { invitation_code: code, invitation_sent, user } = decodeAnswer(invited, answer.body)
  context.print(`${user.id}\n`)
  if (answer.command !== undefined)
    return context.note(`${user.name} is recorded here; the invitation goes out with the next flightcase sync.`)
  context.note(
    typeof code !== "string" && invitation_sent === true
      ? `${user.name} is sent a code to log in with, to ${user.email}; it holds for seven days.`
      : await codeText(context, { name: user.name, user: String(user.id), code })
  )
}

/** Advice to pass on the code of a server without mail, or how to send one where there is none. */
export const codeText = async (
  context: CommandContext,
  { code, name, user }: { readonly name: string; readonly user: string; readonly code: Json | undefined }
): Promise<string> =>
  typeof code === "string"
    ? `No mail server is set: pass this on to ${name}; it opens the account once, within seven days:\n` +
      `  flightcase login ${(await context.server()).url} --code ${code}`
    : `${name} has an account and was sent nothing; flightcase users reset-password ${user} sends a code.`

const resetAccess: CommandAction = async (context, [named = ""], flags) => {
  const id = await userNamed(context, named)
  const body = { end_sessions: flags.endSessions === true }
  const answer = await context.askServer({ method: "POST", path: `/api/v1/users/${id}/reset_password`, body })
  if (context.options.json === true) return printAnswer(context, answer)
  const { expires_at, message } = decodeAnswer(reset, answer.body)
  const { is_tty, zoneOf } = context.terminal
  const expires = is_tty ? minuteText(expires_at, zoneOf?.({})) : expires_at
  context.note(`${message} The code holds until ${expires}.`)
  if (flags.endSessions === true) context.note("What they were logged in with does not hold any more.")
}

const userNamed = async (context: CommandContext, text: string): Promise<number> => {
  if (looksLikeId(text)) return Number(text)
  for (const column of ["email", "name"]) {
    const query: Query = [[`q[${column}_eq]`, text]]
    const answer = await context.askServer({ method: "GET", path: "/api/v1/users", query })
    const [found, ...others] = rowsIn(answer.body, "users")
    if (others.length > 0)
      throw new CliError(exit_codes.usage, `${JSON.stringify(text)} is the ${column} of several.`, {
        way_out: "Give the id, or the e-mail address, of the one that is meant."
      })
    if (found !== undefined) return Number(rowIn({ user: found }, "user").id)
  }
  throw new CliError(
    exit_codes.not_found,
    `There is no user ${JSON.stringify(text)} (by id, e-mail address or name).`,
    { way_out: "flightcase users list shows who there is." }
  )
}

/** `mail`: tests the server's mail settings. */
import type { Command } from "commander"
import { Schema } from "effect"
import { decodeAnswer, decoderOf } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { endedJob } from "../../context/signed-file.ts"
import { type CommandAction, type Flags, textFlag, verb } from "../../context/program.ts"

export const declare = (program: Command): void => {
  const mail = program.command("mail").description("The server's outgoing mail")
  verb(mail, "test", {
    about: "Send a message to test the mail settings",
    "[address]": "recipient (default: your own address)",
    "--store <store>": "send as this store, by id or name",
    "--wait [seconds]": "wait for the result, at most this many seconds (60 if omitted)",
    run: testMail
  })
}

const queued = decoderOf(() => Schema.Struct({ message: Schema.String, job_id: Schema.String, mode: Schema.String }))
const job = decoderOf(() =>
  Schema.Struct({
    status: Schema.String,
    error: Schema.optional(Schema.NullOr(Schema.String)),
    next_attempt_at: Schema.optional(Schema.NullOr(Schema.String)),
    result: Schema.optional(
      Schema.NullOr(Schema.Struct({ file: Schema.optional(Schema.String), response: Schema.optional(Schema.String) }))
    )
  })
)

const testMail: CommandAction = async (context, [to], flags) => {
  const wait_millis = waitOf(flags)
  const store = textFlag(flags, "store")
  const body = {
    ...(to === undefined ? {} : { to }),
    ...(store === undefined ? {} : { store_id: await storeId(context, store) })
  }
  const answer = await context.askServer({ method: "POST", path: "/api/v1/system/mail/test", body })
  const told = decodeAnswer(queued, answer.body)
  if (context.options.json !== true) context.note(told.message)
  if (wait_millis === undefined) {
    if (context.options.json === true) context.printJson(answer.body ?? null)
    else context.print(`${told.job_id}\n`)
    return exit_codes.ok
  }
  const row = await endedJob(context, told.job_id, { wait_millis })
  if (context.options.json === true) context.printJson({ job: row })
  const read = decodeAnswer(job, row)
  if (context.options.json !== true) context.print(`${outcomeOf(read)}\n`)
  return read.status === "done" ? exit_codes.ok : exit_codes.failed
}

/** Id of a store given by id or name; a name is looked up in the replica, if there is one, else at the server. */
const storeId = async (context: CommandContext, text: string): Promise<number> => {
  const { looksLikeId, resolveStore } = await import("../../context/resolve-id.ts")
  return looksLikeId(text) ? Number(text) : (await resolveStore(context, text)).id
}

const waitOf = (flags: Flags): number | undefined => {
  if (flags.wait === undefined) return undefined
  const seconds = Number(textFlag(flags, "wait") ?? 60)
  if (!(seconds >= 1 && seconds <= 86_400)) throw usageError("--wait takes a number of seconds.")
  return seconds * 1_000
}

const outcomeOf = ({ status, error, next_attempt_at, result }: ReturnType<typeof job>): string => {
  if (status === "failed") throw new CliError(exit_codes.failed, `Not sent: ${error ?? "no reason is known"}`)
  if (status !== "done") {
    const reason = error == null ? "" : `: ${error.replace(/\.$/, "")}`
    return `Not sent yet${reason}.${next_attempt_at == null ? "" : ` It is tried again at ${next_attempt_at}.`}`
  }
  return result?.file === undefined
    ? `The mail server took it${result?.response === undefined ? "" : `: ${result.response}`}`
    : `Written to ${result.file} in the server's data folder.`
}

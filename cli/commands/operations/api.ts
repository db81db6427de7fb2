/** `api`: any operation by method and path, answered exactly as the server would. */
import { metaIn } from "../../base/answers.ts"
import { Argument, type Command, Option } from "commander"
import type { Json } from "../../../core/kernel/fields/field.ts"
import type { CommandContext } from "../../context/context.ts"
import { withValues } from "../../output/program.ts"
import { usageError } from "../../base/exit-codes.ts"
import { jsonArgument } from "../../base/input.ts"
import { notePending, printAnswer } from "../../context/print.ts"
import { listFlag, repeatable, textFlag, withAction } from "../../context/program.ts"
import { queryPart } from "../../context/query.ts"

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

export const declare = (program: Command): void => {
  const api = program
    .command("api")
    .description("Any operation of the API; prints the body as JSON")
    .addArgument(withValues(new Argument("<method>", methods.join(", ")), { words: methods }))
    .argument("<path>", "such as /api/v1/products; /api/v1 may be left out")
    .addOption(repeatable("-q, --q <name=value>", "a part of the query string, such as name_cont=truss or page=2"))
    .addOption(new Option("-d, --data <json>", "the body: JSON, @FILE or @-"))
    .addOption(new Option("-o, --output <file>", "write a file's content there"))
  withAction(api, async (context, [given = "", where = ""], flags) => {
    const method = given.toUpperCase()
    if (!methods.includes(method))
      throw usageError(`${JSON.stringify(given)} is no method; use one of ${methods.join(", ")}.`)
    const at = where.indexOf("?")
    const path = at < 0 ? where : where.slice(0, at)
    const inline = at < 0 ? [] : [...new URLSearchParams(where.slice(at + 1))]
    const body = await jsonArgument(textFlag(flags, "data"), "-d")
    const answer = await context.request({
      method,
      path: fullPath(path),
      body,
      // Answered exactly as to any other client: what is ignored is said below.
      strict: false,
      query: [...inline.map(([name, value]) => [name, value] as const), ...listFlag(flags, "q").map(queryPart)]
    })
    if (answer.status < 400) {
      if (answer.content !== undefined || answer.events !== undefined)
        await printAnswer(context, answer, textFlag(flags, "output"))
      else {
        if (answer.body !== undefined) context.printJson(answer.body)
        noteIgnored(context, answer.body)
        notePending(context, answer)
      }
      return
    }
    // The body of a refusal is the operation's answer all the same.
    const { exitCodeOf } = await import("../../base/response-errors.ts")
    if (answer.body !== undefined) context.printJson(answer.body)
    context.note(`flightcase: ${method} ${path} answered ${answer.status}.`)
    return exitCodeOf(answer)
  })
}
const fullPath = (path: string): string => {
  const rooted = path.startsWith("/") ? path : `/${path}`
  return rooted.startsWith("/api/") || rooted.startsWith("/calendar/") || rooted === "/metrics"
    ? rooted
    : `/api/v1${rooted}`
}

/** The answer is the API's own, which leaves out of account what it does not know. */
const noteIgnored = ({ note }: CommandContext, body: Json | undefined): void => {
  const { ignored } = metaIn(body)
  if (Array.isArray(ignored)) note(`Not known here, and ignored: ${ignored.join(", ")}.`)
}

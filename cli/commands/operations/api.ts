/** `api`: calls any operation by method and path, and prints the response's body unchanged, also of errors. */
import { metaIn } from "../../base/answers.ts"
import { Argument, type Command } from "commander"
import type { Json } from "../../../core/kernel/index.ts"
import type { CommandContext } from "../../context/context.ts"
import { withValues } from "../../output/program.ts"
import { usageError } from "../../base/exit-codes.ts"
import { jsonArgument } from "../../base/input.ts"
import { notePending, printAnswer } from "../../context/print.ts"
import { listFlag, repeatable, textFlag, verb } from "../../context/program.ts"
import { queryPart } from "../../context/pages.ts"

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

export const declare = (program: Command): void => {
  verb(program, "api", {
    about: "Call any API operation; prints the body as JSON",
    "<method>": (typed) => withValues(new Argument(typed, methods.join(", ")), { words: methods }),
    "<path>": "path such as /api/v1/products; /api/v1 may be omitted",
    "-q, --q <name=value>": repeatable("query parameter, such as name_cont=truss or page=2; repeatable"),
    "-d, --data <json>": "body as JSON, @FILE or @-",
    "-o, --output <file>": "write a response that is no JSON, such as a PDF, to this file",
    run: async (context, [given = "", where = ""], flags) => {
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
        // Not strict, like other clients; ignored parameters are reported below.
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
      // Error responses are printed like others.
      const { exitCodeOf } = await import("../../base/response-errors.ts")
      if (answer.body !== undefined) context.printJson(answer.body)
      context.note(`flightcase: ${method} ${path} answered ${answer.status}.`)
      return exitCodeOf(answer)
    }
  })
}
const fullPath = (path: string): string => {
  const rooted = path.startsWith("/") ? path : `/${path}`
  return rooted.startsWith("/api/") || rooted.startsWith("/calendar/") || rooted === "/metrics"
    ? rooted
    : `/api/v1${rooted}`
}

/** Notes parameters that the API ignored. */
const noteIgnored = ({ note }: CommandContext, body: Json | undefined): void => {
  const { ignored } = metaIn(body)
  if (Array.isArray(ignored)) note(`Not known here, and ignored: ${ignored.join(", ")}.`)
}

/** `smoke`: tests a running server with new data, reports each step, and removes the data. */
import { randomBytes } from "node:crypto"
import type { Command } from "commander"
import type { CommandContext } from "../../../context/context.ts"
import { exit_codes, missingFlagError, refusePlan } from "../../../base/exit-codes.ts"
import { styled } from "../../../output/text.ts"
import { verb } from "../../../context/program.ts"
import { serverAt } from "../../../context/remote.ts"
import { type SmokeClient, SmokeFailure } from "./requests.ts"
import { type CreatedRecords, smoke_steps } from "./steps.ts"

export const declare = (program: Command): void => {
  verb(program, "smoke", {
    about: "Test a server's main functions with temporary data",
    "<url>": "server URL",
    "--token <token>": "token with the ability *; - reads it from standard input",
    run: runSmokeTest
  })
}

/** Removes created rows, last first; returns those that could not be removed. */
const cleanUp = async (ask: SmokeClient, made: CreatedRecords): Promise<ReadonlyArray<string>> => {
  const left: Array<string> = []
  for (const { what, method, path, body } of [...made.undo].reverse()) {
    const answer = await ask(method, path, body).catch((error: unknown) => ({
      status: 0,
      body: { message: error instanceof Error ? error.message : String(error) }
    }))
    if (answer.status === 0 || answer.status >= 400)
      left.push(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
  return left
}

const runSmokeTest = async (
  context: CommandContext,
  [url = ""]: ReadonlyArray<string>,
  flags: { readonly [name: string]: unknown }
): Promise<number> => {
  refusePlan(context)
  const given = flags.token ?? context.env["FLIGHTCASE_TOKEN"]
  const token = given === "-" ? (await (await import("../../../base/input.ts")).standardInput()).trim() : given
  if (typeof token !== "string" || token === "") throw missingFlagError("--token", "the token")
  const asking = (secret: string): SmokeClient => {
    const server = serverAt(url, secret)
    return (method, path, body, query) => server.ask({ method, path, body, query: query ?? [] })
  }
  const mark = `Smoke ${randomBytes(4).toString("hex")}`
  const made: CreatedRecords = { undo: [] }
  const results: Array<{ readonly step: string; readonly ok: boolean; readonly detail?: string }> = []
  const tell = (step: string, detail?: string): void => {
    results.push({ step, ok: detail === undefined, ...(detail === undefined ? {} : { detail }) })
    if (context.options.json === true) return
    const sign =
      detail === undefined
        ? styled(context.terminal.colour, "green", "ok   ")
        : styled(context.terminal.colour, "red", "WRONG")
    context.print(`${sign} ${step}${detail === undefined ? "" : `: ${detail}`}\n`)
  }
  let wrong = false
  let current = ""
  const started = performance.now()
  try {
    for (const [name, step] of smoke_steps) {
      current = name
      await step({ ask: asking(token), as: asking, mark, made })
      tell(name)
    }
  } catch (error) {
    if (!(error instanceof SmokeFailure)) throw error
    wrong = true
    tell(current, error.message)
  } finally {
    const left = await cleanUp(asking(token), made)
    if (results.length > 0 || left.length > 0)
      tell("everything made is removed", left.length === 0 ? undefined : left.join("; "))
    wrong ||= left.length > 0
  }
  if (context.options.json === true) context.printJson({ smoke: { ok: !wrong, steps: results } })
  context.note(
    `${results.filter(({ ok }) => ok).length} of ${results.length} steps right, in ${((performance.now() - started) / 1000).toFixed(1)} s.` +
      (results.length === 0 ? "" : " The journal and people's inboxes keep that it ran.")
  )
  return wrong ? exit_codes.failed : exit_codes.ok
}

/** `smoke`: walks the main job against a running server, says how each step went, and removes what it made. */
import { randomBytes } from "node:crypto"
import type { Command } from "commander"
import type { Desk } from "../desk.ts"
import { exits, missingFlag } from "../exits.ts"
import { inked } from "../output/terminal.ts"
import { acting } from "../program.ts"
import { serverAt } from "../remote.ts"
import { type Asks, Wrong } from "./asks.ts"
import { cleanUp, type Made, steps } from "./steps.ts"

export const declare = (program: Command): void => {
  const smoke = program.command("smoke").description("Try a server's main job with data of its own, and remove it again")
    .argument("<url>", "the server's address").option("--token <token>", "a token with the ability *; - reads it from standard input")
  acting(smoke, run)
}

const run = async (desk: Desk, [url = ""]: ReadonlyArray<string>, flags: { readonly [name: string]: unknown }): Promise<number> => {
  const given = flags["token"] ?? desk.env["FLIGHTCASE_TOKEN"]
  const token = given === "-" ? (await (await import("../input.ts")).standardInput()).trim() : given
  if (typeof token !== "string" || token === "") throw missingFlag("--token", "the token")
  const asking = (secret: string): Asks => {
    const server = serverAt(url, secret)
    return (method, path, body, query) => server.ask({ method, path, body, query: query ?? [] })
  }
  const mark = `Smoke ${randomBytes(4).toString("hex")}`
  const made: Made = { undo: [] }
  const told: Array<{ readonly step: string; readonly ok: boolean; readonly detail?: string }> = []
  const tell = (step: string, detail?: string): void => {
    told.push({ step, ok: detail === undefined, ...(detail === undefined ? {} : { detail }) })
    if (desk.options.json === true) return
    const sign = detail === undefined ? inked(desk.terminal.colour, "green", "ok   ") : inked(desk.terminal.colour, "red", "WRONG")
    desk.print(`${sign} ${step}${detail === undefined ? "" : `: ${detail}`}\n`)
  }
  let wrong = false
  const started = performance.now()
  try {
    for (const [name, step] of steps) {
      await step({ ask: asking(token), as: asking, mark, made })
      tell(name)
    }
  } catch (error) {
    if (!(error instanceof Wrong)) throw error
    wrong = true
    tell(steps[told.length]![0], error.message)
  } finally {
    const left = await cleanUp(asking(token), made)
    if (told.length > 0 || left.length > 0) tell("everything made is removed", left.length === 0 ? undefined : left.join("; "))
    wrong ||= left.length > 0
  }
  if (desk.options.json === true) desk.printJson({ smoke: { ok: !wrong, steps: told } })
  desk.note(`${told.filter(({ ok }) => ok).length} of ${told.length} steps right, in ${((performance.now() - started) / 1000).toFixed(1)} s.`)
  return wrong ? exits.failed : exits.ok
}

/**
 * Sends requests by `flightcase api … --offline`, which prints bodies and exits with codes: the status of a refusal
 * comes from its body, that of a success from the server's response to the same request.
 */
import { expect } from "vitest"
import { exit_codes } from "../../cli/base/exit-codes.ts"
import { exitCodeOf } from "../../cli/base/response-errors.ts"
import type { CommandLine } from "../cli/command-line.ts"
import type { Ask } from "./playing.ts"

export type Statuses = Array<readonly [method: string, status: number]>

/** Sends requests by `ask` and records each status. */
export const keeping =
  (ask: Ask, statuses: Statuses): Ask =>
  async (method, path, body) => {
    const reply = await ask(method, path, body)
    statuses.push([method, reply.status])
    return reply
  }

export const typed = (cli: CommandLine, statuses: Statuses): Ask => {
  let at = 0
  return async (method, path, body) => {
    const [known_method, known] = statuses[at++] ?? []
    const { code, out, err } = await cli.type([
      "api",
      method,
      path,
      "--offline",
      ...(method === "GET" || body === undefined ? [] : ["-d", JSON.stringify(body)])
    ])
    const said = `${method} ${path}\n${out}${err}`
    const answered = out === "" ? undefined : JSON.parse(out)
    const refused = /answered (\d{3})\./.exec(err)?.[1]
    // The same request, as long as the scenario took the same course.
    if (known_method === method && known !== undefined)
      expect(
        refused === undefined ? known < 400 : Number(refused) === known,
        `${said}The server answered ${known}.`
      ).toBe(true)
    const status =
      refused !== undefined
        ? Number(refused)
        : known_method === method && known !== undefined
          ? known
          : answered === undefined
            ? 204
            : 200
    expect(code, said).toBe(refused === undefined ? exit_codes.ok : exitCodeOf({ status, body: answered }))
    return { status, body: answered }
  }
}

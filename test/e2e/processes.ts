/** The product as users run it: the built server and command line in their own processes. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { cli_program, compiled_code, server_program } from "../programs.ts"
import type { Answer } from "../rental-house.ts"
import type { Body } from "../answers.ts"

export const token = "owner-token-of-the-tests"

export interface RunningServer {
  readonly url: string
  /** SIGTERM; resolves with the exit code. */
  readonly stop: () => Promise<number | null>
  /** SIGKILL. */
  readonly kill: () => Promise<void>
}
interface ServerPlace {
  readonly port: number
  readonly data: string
  readonly database?: string | undefined
  readonly environment?: { readonly [name: string]: string }
}

/** Starts the built server and waits until it is healthy. */
export const startServer = async ({ port, data, database, environment = {} }: ServerPlace): Promise<RunningServer> => {
  const child = spawn(process.execPath, ["--enable-source-maps", server_program], {
    env: {
      ...process.env,
      ...compiled_code,
      FLIGHTCASE_PORT: String(port),
      FLIGHTCASE_DATA: data,
      FLIGHTCASE_TOKEN: token,
      FLIGHTCASE_KEY: "key-of-the-tests-which-is-long",
      FLIGHTCASE_RATE_LIMIT: "10000",
      ...(database === undefined ? {} : { DATABASE_URL: database }),
      ...environment
    },
    stdio: ["ignore", "ignore", "pipe"]
  })
  let said = ""
  child.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-20_000)
  })
  const exited = once(child, "exit")
  const url = `http://127.0.0.1:${port}`
  for (let tries = 0; ; tries++) {
    if (child.exitCode !== null || tries > 600) throw new Error(`the server did not start: ${said}`)
    const answer = await fetch(`${url}/api/v1/system/health`).catch(() => undefined)
    if (answer?.status === 200) break
    await new Promise((resume) => setTimeout(resume, 50))
  }
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await exited
    return child.exitCode
  }
  return {
    url,
    stop: () => end("SIGTERM"),
    kill: async () => {
      await end("SIGKILL")
    }
  }
}

/** Environment of a process whose clock is offset by milliseconds. */
export const clockAhead = (millis: number): { readonly [name: string]: string } => ({
  SHIFTED_MILLIS: String(Math.round(millis)),
  NODE_OPTIONS: `--import ${join(import.meta.dirname, "shifted-clock.mjs")}`
})

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
  readonly json: Body
}
export interface CommandLine {
  (...words: ReadonlyArray<string>): Promise<Ran>
  /** Starts a command without waiting, to be killed or fed line by line. */
  readonly start: (
    words: ReadonlyArray<string>,
    stdin?: string
  ) => { readonly child: ChildProcess; readonly done: Promise<Ran> }
}

/** The built command line, with a home of its own. */
export const commandLine = (home: string, environment: { readonly [name: string]: string } = {}): CommandLine => {
  const start: CommandLine["start"] = (words, stdin = "") => {
    const child = spawn(process.execPath, [cli_program, ...words], {
      env: {
        ...process.env,
        ...compiled_code,
        FLIGHTCASE_HOME: home,
        NO_COLOR: "1",
        FLIGHTCASE_NO_BACKGROUND: "1",
        ...environment
      },
      stdio: ["pipe", "pipe", "pipe"]
    })
    let out = "",
      err = ""
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      out += chunk
    })
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      err += chunk
    })
    child.stdin.on("error", () => {})
    child.stdin.end(stdin)
    const done = once(child, "close").then((): Ran => ({
      code: child.exitCode,
      out,
      err,
      // A killed command may have written part of its output, so only finished ones are parsed.
      json: child.exitCode !== null && words.includes("--json") && out !== "" ? JSON.parse(out) : undefined
    }))
    return { child, done }
  }
  return Object.assign((...words: ReadonlyArray<string>) => start(words).done, { start })
}

/** Sends requests to the server as the owner. */
export const asOwner =
  (url: string) =>
  async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  }

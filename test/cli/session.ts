/**
 * Session scripts: typed commands and their expected output, run with the real command line against a real server in
 * their own home. Commands run in this process, or each in its own.
 *
 *   # first comment: the session's title       $ words…   a command; quotes as in a shell
 *   < a line of its standard input             > name     a file; its lines follow, each after "| "
 *   ! part of a line on standard error         ? 5        its exit code (default 0)
 *   @ stop | start                             stops or starts the server
 *
 * All other lines are the complete standard output: "…" stands for any lines, "*" inside a line for any text. In JSON,
 * only the given keys are compared: "= path.to.key value".
 */
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { dirname, join } from "node:path"
import { openServerApp, type ServerApp, type ServerOptions } from "../../server/host/app.ts"
import { cli_program, compiled_code } from "../programs.ts"
import type { Answer, Call } from "../rental-house.ts"
import { described, type Listening, openListener, openOnce, sharedRenderer } from "../server/serving.ts"
import { copyOfImage, type SqliteImage } from "../sqlite-image.ts"
import { typeHere } from "./command-line.ts"

export const owner_token = "owner-token-of-the-sessions"

export interface Place {
  readonly app: ServerApp
  readonly url: string
  readonly home: string
  /** The server's database, a file. */
  readonly database: string
  /** Working directory of commands. */
  readonly folder: string
  readonly env: { readonly [name: string]: string }
  readonly stop: () => Promise<void>
  readonly start: () => Promise<void>
  readonly close: () => Promise<void>
}
export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

const key = "key-of-the-sessions-which-is-long"
const started_place: SqliteImage = {
  name: "started_place",
  prepare: (path) => openOnce({ kind: "sqlite", path }, { key, owner_token })
}

export const openPlace = async (options: Partial<ServerOptions> = {}): Promise<Place> => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-session-"))
  const home = join(folder, "home")
  const { path, remove } = await copyOfImage(started_place)
  const app = described(
    await openServerApp({
      database: { kind: "sqlite", path },
      key,
      data_folder: join(folder, "server"),
      owner_token,
      rate_limit: 1_000_000,
      renderer: sharedRenderer(),
      ...options
    })
  )
  let listening: Listening | undefined = await openListener(app.answer)
  const { url } = listening
  app.listensAt(url)
  const stop = async (): Promise<void> => {
    await listening?.stop(1_000)
    listening = undefined
  }
  return {
    app,
    url,
    home,
    database: path,
    folder,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      FLIGHTCASE_HOME: home,
      FLIGHTCASE_URL: url,
      FLIGHTCASE_TOKEN: owner_token,
      TZ: "Asia/Tokyo",
      FLIGHTCASE_NO_BACKGROUND: "1",
      ...compiled_code
    },
    stop,
    start: async () => {
      listening ??= await openListener(app.answer, { port: Number(new URL(url).port) })
    },
    close: async () => {
      await stop()
      await app.close()
      remove()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** Sends requests to the server as its owner. */
export const callOf =
  ({ url }: { readonly url: string }): Call<Answer> =>
  async (method, path, body) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${owner_token}`,
        "content-type": "application/json",
        "accept-encoding": "identity"
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  }

export interface Given {
  readonly input?: string
  /** Added to the environment of the place; overrides it. */
  readonly env?: { readonly [name: string]: string }
}
export type Run = (place: Place, args: ReadonlyArray<string>, given?: Given) => Promise<Ran>

/** Runs in this process, in some milliseconds. */
export const runHere: Run = (place, args, { env = {}, input = "" } = {}) =>
  typeHere(args, { env: { ...place.env, ...env }, folder: place.folder, input })

/** Runs in its own process, in a tenth of a second. */
export const run: Run = (place, args, options = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [cli_program, ...args], {
      cwd: place.folder,
      env: { ...place.env, ...options.env }
    })
    const out: Array<Buffer> = []
    const err: Array<Buffer> = []
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk))
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk))
    child.on("error", reject)
    child.on("close", (code, signal) =>
      resolve({
        code: code ?? (signal === null ? -1 : -2),
        out: Buffer.concat(out).toString("utf8"),
        err: Buffer.concat(err).toString("utf8")
      })
    )
    child.stdin.on("error", () => {})
    child.stdin.end(options.input ?? "")
  })

interface Typed {
  readonly line: number
  readonly env: { readonly [name: string]: string }
  readonly args: ReadonlyArray<string>
  readonly input: Array<string>
  readonly out: Array<string>
  readonly err: Array<string>
  readonly json: Array<readonly [path: string, value: string]>
  code: number
}
type Entry =
  | { readonly kind: "typed"; readonly typed: Typed }
  | { readonly kind: "file"; readonly name: string; readonly lines: Array<string> }
  | { readonly kind: "server"; readonly word: string; readonly line: number }

const readSession = (text: string): { readonly title: string; readonly entries: ReadonlyArray<Entry> } => {
  const entries: Array<Entry> = []
  let title = ""
  for (const [at, line] of text.split("\n").entries()) {
    const last = entries.at(-1)
    if (line.startsWith("#")) title ||= line.slice(1).trim()
    else if (line.startsWith("$ ")) {
      const words = wordsOf(line.slice(2))
      const settings = words.findIndex((word) => !/^[A-Z_]+=/.test(word))
      const env = Object.fromEntries(
        words.slice(0, settings).map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)])
      )
      entries.push({
        kind: "typed",
        typed: { line: at + 1, env, args: words.slice(settings), input: [], out: [], err: [], json: [], code: 0 }
      })
    } else if (line.startsWith("> ")) entries.push({ kind: "file", name: line.slice(2).trim(), lines: [] })
    else if (line.startsWith("@ ")) entries.push({ kind: "server", word: line.slice(2).trim(), line: at + 1 })
    else if (last?.kind === "file" && line.startsWith("|")) last.lines.push(line.slice(2))
    else if (last?.kind === "typed") {
      if (line.startsWith("< ")) last.typed.input.push(line.slice(2))
      else if (line.startsWith("! ")) last.typed.err.push(line.slice(2))
      else if (line.startsWith("? ")) last.typed.code = Number(line.slice(2))
      else if (line.startsWith("= ")) last.typed.json.push(/^= (\S+) (.*)$/.exec(line)!.slice(1) as [string, string])
      else if (line !== "") last.typed.out.push(line)
    } else if (line.trim() !== "") throw new Error(`line ${at + 1} belongs to no command: ${line}`)
  }
  return { title, entries }
}

/** Arguments of a line as a shell splits it: quotes keep spaces, a backslash keeps the next character. */
export const wordsOf = (line: string): Array<string> => {
  const words: Array<string> = []
  for (const match of line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g)) {
    words.push(
      match[0].replace(
        /"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g,
        (_, double: string | undefined, single: string | undefined, sign: string | undefined) =>
          double !== undefined ? double.replace(/\\(["\\])/g, "$1") : (single ?? sign ?? "")
      )
    )
  }
  return words
}

/** Runs a session; throws with the first line whose output differs. */
export const play = async (place: Place, text: string, run: Run): Promise<void> => {
  const known = (word: string): string =>
    word
      .replaceAll("$FIXTURES", fixtures)
      .replaceAll("$URL", place.url)
      .replaceAll("$TOKEN", owner_token)
      .replaceAll("$FOLDER", place.folder)
      .replaceAll("\\t", "\t")
  for (const entry of readSession(text).entries) {
    if (entry.kind === "file") {
      mkdirSync(dirname(join(place.folder, entry.name)), { recursive: true })
      writeFileSync(
        join(place.folder, entry.name),
        entry.lines
          .map((line) => `${known(line)}\n`)
          .join("")
          .replaceAll("\\ufeff", "\ufeff")
      )
    } else if (entry.kind === "server") await (entry.word === "stop" ? place.stop() : place.start())
    else {
      const { typed } = entry
      const ran = await run(place, typed.args.map(known), {
        input: typed.input.map((line) => `${known(line)}\n`).join(""),
        env: Object.fromEntries(Object.entries(typed.env).map(([name, value]) => [name, known(value)]))
      })
      const told = complaint(typed, ran, known)
      if (told !== undefined)
        throw new Error(
          `line ${typed.line}, flightcase ${typed.args.join(" ")}\n${told}\n--- exit ${ran.code}\n--- stdout\n${ran.out}--- stderr\n${ran.err}`
        )
    }
  }
}

const complaint = (typed: Typed, ran: Ran, known: (text: string) => string): string | undefined => {
  if (ran.code !== typed.code) return `exit code ${ran.code}, expected ${typed.code}`
  const missing = typed.err.find((part) => !pattern(known(part)).test(ran.err))
  if (missing !== undefined) return `standard error does not say: ${missing}`
  for (const [path, value] of typed.json) {
    let found: unknown
    try {
      found = path
        .split(".")
        .filter((step) => step !== "")
        .reduce<unknown>((at, step) => (at as { [key: string]: unknown } | undefined)?.[step], JSON.parse(ran.out))
    } catch {
      return "standard output is no JSON"
    }
    const shown = typeof found === "string" ? found : (JSON.stringify(found) ?? "nothing")
    if (!new RegExp(`^${pattern(known(value)).source}$`, "s").test(shown))
      return `${path} is ${shown}, expected ${value}`
  }
  if (typed.json.length > 0) return undefined
  const whole = typed.out.map((line) => (line === "…" ? "(?:.*\n)*?" : `${pattern(known(line)).source}\n`)).join("")
  return new RegExp(`^${whole}$`).test(ran.out.replaceAll("\r\n", "\n")) ? undefined : "standard output differs"
}
const pattern = (text: string): RegExp =>
  new RegExp(
    text
      .split("*")
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
      .join(".*")
  )

const fixtures = fileURLToPath(new URL("../fixtures", import.meta.url))
const folder = new URL("./sessions/", import.meta.url)
/** All sessions, by name. */
export const sessions = readdirSync(folder)
  .filter((name) => name.endsWith(".session"))
  .sort()
  .map((file) => {
    const text = readFileSync(new URL(file, folder), "utf8")
    return { file, title: readSession(text).title, text }
  })

/** Runs the command line inside the test process, which is much faster than a process for each command. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { runCommandLine } from "../../cli/run.ts"
import type { Ran } from "./session.ts"

interface Surroundings {
  /** The whole environment; default: that of this process. */
  readonly env?: { readonly [name: string]: string }
  /** Working directory; default: that of this process. */
  readonly folder?: string
  /** Standard input; default: that of this process. */
  readonly input?: string
}

/** Runs one command, one at a time: it replaces the environment, directory and streams of this process meanwhile. */
export const typeHere = async (
  words: ReadonlyArray<string>,
  { env, folder, input }: Surroundings = {}
): Promise<Ran> => {
  const before = {
    out: process.stdout.write,
    err: process.stderr.write,
    env: { ...process.env },
    folder: process.cwd()
  }
  const stdin = Object.getOwnPropertyDescriptor(process, "stdin")!
  let out = "",
    err = ""
  const into =
    (add: (text: string) => void) =>
    (chunk: string | Uint8Array): boolean => {
      add(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"))
      return true
    }
  const disconnect = connectionsOfItsOwn()
  if (env !== undefined) becomeEnvironment(env)
  if (folder !== undefined) process.chdir(folder)
  if (input !== undefined) Object.defineProperty(process, "stdin", { ...stdin, get: () => stdinOf(input) })
  process.stdout.write = into((text) => {
    out += text
  })
  process.stderr.write = into((text) => {
    err += text
  })
  try {
    const code = await runCommandLine(words)
    return { code, out, err }
  } finally {
    process.stdout.write = before.out
    process.stderr.write = before.err
    Object.defineProperty(process, "stdin", stdin)
    await disconnect()
    if (folder !== undefined) process.chdir(before.folder)
    if (env !== undefined) becomeEnvironment(before.env)
  }
}
/** {@link typeHere} as on a terminal: commands may ask. */
export const typeAtTerminal = async (words: ReadonlyArray<string>, surroundings: Surroundings = {}): Promise<Ran> => {
  const streams = [process.stdin, process.stderr].map(
    (stream) => [stream, Object.getOwnPropertyDescriptor(stream, "isTTY")] as const
  )
  for (const [stream] of streams) Object.defineProperty(stream, "isTTY", { value: true, configurable: true })
  try {
    return await typeHere(words, surroundings)
  } finally {
    for (const [stream, before] of streams)
      if (before === undefined) Reflect.deleteProperty(stream, "isTTY")
      else Object.defineProperty(stream, "isTTY", before)
  }
}
/** Gives the command its own connections, as in a new process: one kept from an earlier command may be closed. */
const connectionsOfItsOwn = (): (() => Promise<void>) => {
  // Global under which Node's fetch keeps its pool; absent before the first request.
  const place = globalThis as { [pool]?: Pool | undefined }
  const before = place[pool]
  if (before === undefined) return async () => {}
  const own = new before.constructor()
  place[pool] = own
  return async () => {
    place[pool] = before
    await own.destroy()
  }
}
const pool = Symbol.for("undici.globalDispatcher.1")
interface Pool {
  readonly constructor: new () => Pool
  readonly destroy: () => Promise<void>
}

const stdinOf = (input: string): Readable => Readable.from(input === "" ? [] : [Buffer.from(input)])
const becomeEnvironment = (env: { readonly [name: string]: string | undefined }): void => {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}

export interface CommandLine {
  readonly home: string
  readonly type: (words: ReadonlyArray<string>) => Promise<Ran>
  readonly close: () => void
}

export const openCommandLine = (): CommandLine => {
  const home = mkdtempSync(join(tmpdir(), "flightcase-typed-"))
  return {
    home,
    type: (words) =>
      typeHere(words, { env: { ...(process.env as { readonly [name: string]: string }), FLIGHTCASE_HOME: home } }),
    close: () => rmSync(home, { recursive: true, force: true })
  }
}

/** The real server in its own process, on a free port and in its own folder. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cli_program, compiled_code, server_program } from "../programs.ts"

export interface ServerProcess {
  readonly url: string
  readonly pid: number
  readonly stderr: () => string
  readonly stdout: () => string
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  /** Sends a signal and waits until the process ends. */
  readonly kill: (
    signal: NodeJS.Signals
  ) => Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}
export type Env = { readonly [name: string]: string | undefined }

/** The two ways to start a server. */
const programs = { server: [server_program], "command line": [cli_program, "serve"] }
const running = new Set<ServerProcess>()
const folders: Array<string> = []

export const folderOfItsOwn = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "flightcase-server-"))
  folders.push(folder)
  return folder
}
/** After each test file, ends all processes and deletes their folders. */
export const cleanUp = async (): Promise<void> => {
  for (const one of running) await one.kill("SIGKILL")
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
}

/** Starts the server; does not wait for it to listen. */
export const launch = (
  env: Env,
  by: keyof typeof programs = "server"
): Omit<ServerProcess, "url"> & { readonly listening: Promise<string> } => {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(FLIGHTCASE_|DATABASE_URL|NODE_OPTIONS|VITEST)/.test(name))
  )
  const child = spawn(process.execPath, programs[by], {
    env: { ...inherited, ...compiled_code, FLIGHTCASE_PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let stderr = ""
  let stdout = ""
  child.stdout.on("data", (part) => (stdout += part))
  const ended = once(child, "close").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null
  }))
  const listening = new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (part) => {
      stderr += part
      const found = /"event":"listening","url":"([^"]+)"/.exec(stderr)
      if (found !== null) resolve(found[1]!)
    })
    void ended.then(({ code }) => reject(new Error(`the server ended with ${code}: ${stderr}`)))
  })
  listening.catch(() => {})
  return {
    pid: child.pid!,
    stderr: () => stderr,
    stdout: () => stdout,
    ended,
    listening,
    kill: (signal) => {
      child.kill(signal)
      return ended
    }
  }
}

export const startServer = async (env: Env, by?: keyof typeof programs): Promise<ServerProcess> => {
  const process = launch(env, by)
  const server: ServerProcess = { ...process, url: await process.listening }
  running.add(server)
  void server.ended.then(() => running.delete(server))
  return server
}

/** Processes of a benchmark, measured and measuring; all end with this one. */
import { type ChildProcess, fork, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { priceList } from "./journal.ts"
import type { Load, Loaded } from "./load.ts"
import type { Side } from "./measure.ts"
import type { Peer } from "./peer.ts"
import type { Body } from "../answers.ts"
import { installedTools } from "../installed-tools.ts"

export const root = fileURLToPath(new URL("../../", import.meta.url))
export const owner_token = "owner-token-of-the-benchmark"

const children = new Set<ChildProcess>()
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL")
})
const kept = <C extends ChildProcess>(child: C): C => {
  children.add(child)
  child.once("exit", () => children.delete(child))
  return child
}
const ended = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill("SIGTERM")
  await once(child, "exit")
}

const folders: Array<string> = []
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
/** A folder that is deleted when this process ends. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-bench-"))
  folders.push(folder)
  return folder
}

export interface Running {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly stop: () => Promise<void>
}

/** Starts the built server on a free port with the options of cli/bin.mjs and of FLIGHTCASE_BENCH_NODE (--cpu-prof). */
export const startServer = async (environment: { readonly [name: string]: string }): Promise<Running> => {
  const more = (process.env["FLIGHTCASE_BENCH_NODE"] ?? "").split(" ").filter((option) => option !== "")
  const entry = process.env["FLIGHTCASE_BENCH_SERVER"] ?? join(root, "out/server.js")
  const child = kept(
    spawn(process.execPath, ["--max-semi-space-size=16", ...more, entry], {
      stdio: ["ignore", "inherit", "pipe"],
      env: {
        MALLOC_ARENA_MAX: "2",
        MALLOC_MMAP_THRESHOLD_: "131072",
        MALLOC_TRIM_THRESHOLD_: "262144",
        ...process.env,
        FLIGHTCASE_PORT: "0",
        FLIGHTCASE_TOKEN: owner_token,
        FLIGHTCASE_KEY: "a-key-of-the-benchmark-only",
        FLIGHTCASE_RATE_LIMIT: "10000",
        ...environment
      }
    })
  )
  let said = ""
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      // The pipe must be read, or the server would block on it.
      if (said.length < 100_000) said += text
      const found = /"event":"listening","url":"([^"]+)"/.exec(said)
      if (found !== null) resolve(found[1]!)
    })
    child.once("exit", () => reject(new Error(`the server did not start: ${said}`)))
  })
  return { url, port: Number(new URL(url).port), pid: child.pid!, stop: () => ended(child) }
}

/** Starts the built command line and leaves it running. */
export const startCommandLine = (
  home: string,
  words: ReadonlyArray<string>
): { readonly child: ChildProcess; readonly stop: () => Promise<void> } => {
  const child = kept(
    spawn(process.execPath, [join(root, "cli/bin.mjs"), ...words], {
      env: { ...process.env, FLIGHTCASE_HOME: home },
      stdio: ["ignore", "pipe", "inherit"]
    })
  )
  return { child, stop: () => ended(child) }
}

/** Starts a server of test/bench: sends it what to serve, and waits for its port. */
const startProgram = async (
  script: string,
  told: Peer | (LibraryPeer & { readonly tools: string })
): Promise<Running> => {
  const child = kept(fork(join(root, "test/bench", script), { stdio: ["ignore", "inherit", "pipe", "ipc"] }))
  let said = ""
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    // The pipe must be read, like that of the server's log.
    if (said.length < 100_000) said += text
  })
  child.send(told)
  const port = await new Promise<number>((resolve, reject) => {
    child.once("message", (message: { readonly port: number }) => resolve(message.port))
    child.once("exit", () => reject(new Error(`${script} did not start: ${said}`)))
  })
  return { url: `http://127.0.0.1:${port}`, port, pid: child.pid!, stop: () => ended(child) }
}
/** Starts the smallest program that answers the same requests. */
export const startPeer = (peer: Peer): Promise<Running> => startProgram("peer.ts", peer)

export type LibraryPeer = { readonly url: string } & (
  | { readonly library: "fastify"; readonly select: string }
  | { readonly library: "emmett"; readonly ids: ReadonlyArray<number> }
)
/** Starts a program built with widely used libraries; undefined if they are not installed. */
export const startLibrary = async (peer: LibraryPeer): Promise<Running | undefined> => {
  const tools = await installedTools(join(root, "test/bench/peer-tools"))
  return tools === undefined ? undefined : startProgram(`peer-tools/${peer.library}.mjs`, { ...peer, tools })
}

/** Starts a process that sends requests. */
export const startLoad = (): {
  readonly drive: (load: Load) => Promise<Loaded>
  readonly stop: () => Promise<void>
} => {
  const child = kept(fork(join(root, "test/bench/load.ts"), { stdio: "inherit" }))
  return {
    drive: async (load) => {
      child.send(load)
      const [answer] = (await once(child, "message")) as [Loaded | { readonly error: string }]
      if ("error" in answer) throw new Error(answer.error)
      return answer
    },
    stop: () => ended(child)
  }
}

export type Client = (method: string, path: string, body?: unknown) => Promise<Body>
/** Sends requests to the server; throws unless they succeed. */
export const clientOf =
  ({ url }: { readonly url: string }, token: string = owner_token): Client =>
  async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === "" ? undefined : JSON.parse(text)
  }

/** Imports a price list with a number of products over HTTP. */
export const importProducts = async (ask: Client, count: number): Promise<void> => {
  const rows = priceList(count)
  for (let at = 0; at < rows.length; at += 500)
    await ask("POST", "/api/v1/products/import", { rows: rows.slice(at, at + 500) })
}

/** A side that runs a program from start to end once a round; throws unless it succeeds and prints `shows`. */
export const started = (
  name: string,
  args: ReadonlyArray<string>,
  home: string,
  shows?: string,
  environment: { readonly [name: string]: string } = {}
): Side => ({
  name,
  round: async () => {
    const begun = performance.now()
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      env: { ...process.env, FLIGHTCASE_HOME: home, FLIGHTCASE_NO_BACKGROUND: "1", ...environment }
    })
    const seconds = (performance.now() - begun) / 1000
    if (status !== 0 || (shows !== undefined && !stdout.includes(shows)))
      throw new Error(`${name}: ${status} ${stdout} ${stderr}`)
    return { seconds, count: 1 }
  }
})

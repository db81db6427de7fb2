/**
 * The description as its users meet it: a linter with its recommended rules, and a client generated from it that
 * type-checks and talks to a server. The tools are installed once, in a folder of their own, by their lock file.
 */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Listening, listenOn } from "../../server/http.ts"
import { silentLog } from "../../server/log.ts"
import { owner_token, serve, type Serving } from "../server/serving.ts"

const here = fileURLToPath(new URL("./client-tools/", import.meta.url))
const install_millis = 300_000

interface Ran {
  readonly code: number | null
  readonly out: string
}
const run = (command: string, args: ReadonlyArray<string>, cwd: string): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] })
    let out = ""
    child.stdout.on("data", (bytes) => {
      out += bytes
    })
    child.stderr.on("data", (bytes) => {
      out += bytes
    })
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, out }))
  })

/** npm could not reach its registry: this machine is cut off, which says nothing about the description. */
const isOffline = (output: string): boolean =>
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)\b/.test(output)

/**
 * The folder with the tools of this lock file, put in place at once or not at all; undefined where they are not there yet
 * and the package registry cannot be reached.
 */
const installed = async (): Promise<string | undefined> => {
  const lock = createHash("sha256")
    .update(readFileSync(join(here, "package-lock.json")))
    .digest("hex")
    .slice(0, 12)
  const folder = join(tmpdir(), `flightcase-client-tools-${lock}`)
  if (existsSync(folder)) return folder
  const fresh = `${folder}-${process.pid}`
  mkdirSync(fresh)
  for (const name of ["package.json", "package-lock.json"]) cpSync(join(here, name), join(fresh, name))
  const { code, out } = await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], fresh)
  if (code !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    if (isOffline(out)) return undefined
    throw new Error(`the tools could not be installed: ${out}`)
  }
  renameSync(fresh, folder)
  return folder
}

const tools = await installed()

describe.skipIf(tools === undefined)("a client generated from the description", () => {
  let server: Serving
  let http: Listening
  let work: string
  beforeAll(async () => {
    server = await serve("sqlite", { public_url: "https://hire.flightcase.test" })
    http = await listenOn({ host: "127.0.0.1", port: 0, log: silentLog, answer: server.app.answer })
    work = join(tools ?? "", `run-${process.pid}`)
    mkdirSync(work)
    writeFileSync(join(work, "openapi.json"), (await server.ask("/api/v1/openapi.json", { token: null })).text)
    cpSync(join(here, "calls.txt"), join(work, "calls.ts"))
  }, install_millis)
  afterAll(async () => {
    await http.stop(1_000)
    await server.close()
    rmSync(work, { recursive: true, force: true })
  })
  const tool = (name: string, ...args: ReadonlyArray<string>) =>
    run(join(tools ?? "", "node_modules", ".bin", name), args, work)

  it("finds nothing to complain about by the linter's recommended rules", async () => {
    const { out } = await tool("redocly", "lint", "--extends=recommended", "--format=json", "openapi.json")
    const { problems } = JSON.parse(out.slice(out.indexOf("{"), out.lastIndexOf("}") + 1)) as {
      readonly problems: ReadonlyArray<{ readonly ruleId: string; readonly message: string }>
    }
    expect(problems.map(({ message, ruleId }) => `${ruleId}: ${message}`)).toEqual([])
  })
  it("type-checks against at least 30 calls, and refuses one that is not as described", async () => {
    expect(await tool("openapi-typescript", "openapi.json", "-o", "client.ts")).toMatchObject({ code: 0 })
    const check = [
      "--noEmit",
      "--strict",
      "--target",
      "es2022",
      "--module",
      "esnext",
      "--moduleResolution",
      "bundler",
      "--lib",
      "es2023,dom"
    ]
    writeFileSync(join(work, "node.d.ts"), "declare const process: { readonly argv: ReadonlyArray<string> }\n")
    expect(await tool("tsc", ...check, "calls.ts", "client.ts", "node.d.ts")).toEqual({ code: 0, out: "" })
    const calls = readFileSync(join(work, "calls.ts"), "utf8")
    writeFileSync(
      join(work, "wrong.ts"),
      calls.replace("const price: string = product_rate.price", "const price: number = product_rate.price")
    )
    const wrong = await tool("tsc", ...check, "wrong.ts", "client.ts", "node.d.ts")
    expect(wrong.code).not.toBe(0)
    expect(wrong.out).toContain("Type 'string' is not assignable to type 'number'")
  })
  it("gets the answers its types promise", async () => {
    const { code, out } = await run(process.execPath, ["calls.ts", http.url, owner_token], work)
    expect(code, out).toBe(0)
    expect(Number(out.trim().split("\n").at(-1))).toBeGreaterThanOrEqual(30)
  })
})

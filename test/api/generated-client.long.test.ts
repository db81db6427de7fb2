/**
 * The description as its users meet it: a linter with its recommended rules, and a client generated from it that
 * type-checks and talks to a server. The tools are installed once, in a folder of their own, by their lock file.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Listening, listenOn } from "../../server/http.ts"
import { silentLog } from "../../server/log.ts"
import { installedTools, runProgram } from "../installed-tools.ts"
import { owner_token, serve, type Serving } from "../server/serving.ts"

const here = fileURLToPath(new URL("./client-tools/", import.meta.url))
const install_millis = 300_000

const tools = await installedTools(here)

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
    runProgram(join(tools ?? "", "node_modules", ".bin", name), args, work)

  it("finds nothing to complain about by the linter's recommended rules", async () => {
    const { out } = await tool("redocly", "lint", "--extends=recommended", "--format=json", "openapi.json")
    const { problems } = JSON.parse(out.slice(out.indexOf("{"), out.lastIndexOf("}") + 1)) as {
      readonly problems: ReadonlyArray<{ readonly ruleId: string; readonly message: string }>
    }
    // Ids are numbers, so `inbound` is none of them; the rule looks at the paths alone.
    const told = problems.filter(({ message }) => !message.includes("/webhooks/inbound/{source}"))
    expect(told.map(({ message, ruleId }) => `${ruleId}: ${message}`)).toEqual([])
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
    const { code, out } = await runProgram(process.execPath, ["calls.ts", http.url, owner_token], work)
    expect(code, out).toBe(0)
    expect(Number(out.trim().split("\n").at(-1))).toBeGreaterThanOrEqual(30)
  })
})

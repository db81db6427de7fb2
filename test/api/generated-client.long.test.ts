/**
 * The description as its users meet it: linters with their strictest rules, and clients generated from it that
 * type-check and talk to a server. The tools are installed once, in a folder of their own, by their lock file.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Listening, listenOn } from "../../server/host/http.ts"
import { silentLog } from "../../server/ports/log.ts"
import { installedTools, runProgram } from "../installed-tools.ts"
import { owner_token, serve, type Serving } from "../server/serving.ts"

const here = fileURLToPath(new URL("./client-tools/", import.meta.url))
const install_millis = 300_000

const tools = await installedTools(here)

describe.skipIf(tools === undefined)("clients generated from the OpenAPI description", () => {
  let server: Serving
  let http: Listening
  let work: string
  beforeAll(async () => {
    server = await serve("sqlite", { public_url: "https://hire.flightcase.test" })
    http = await listenOn({ host: "127.0.0.1", port: 0, log: silentLog, answer: server.app.answer })
    work = join(tools ?? "", `run-${process.pid}`)
    mkdirSync(work)
    writeFileSync(join(work, "openapi.json"), (await server.ask("/api/v1/openapi.json", { token: null })).text)
    for (const name of ["tsconfig.json", "openapi-ts.config.mjs", ".spectral.yaml"])
      cpSync(join(here, name), join(work, name))
    for (const name of ["calls", "hey-calls"]) cpSync(join(here, `${name}.txt`), join(work, `${name}.ts`))
    writeFileSync(join(work, "node.d.ts"), "declare const process: { readonly argv: ReadonlyArray<string> }\n")
  }, install_millis)
  afterAll(async () => {
    await http.stop(1_000)
    await server.close()
    rmSync(work, { recursive: true, force: true })
  })
  const tool = (name: string, ...args: ReadonlyArray<string>) =>
    runProgram(join(tools ?? "", "node_modules", ".bin", name), args, work)

  it("come from a description that passes strict linters, except for paths the API prescribes", async () => {
    const { out } = await tool("redocly", "lint", "--extends=recommended-strict", "--format=json", "openapi.json")
    const { problems } = JSON.parse(out.slice(out.indexOf("{"), out.lastIndexOf("}") + 1)) as {
      readonly problems: ReadonlyArray<{ readonly ruleId: string; readonly message: string }>
    }
    // Ids are numbers, so `inbound` is none of them; the rule looks at the paths alone.
    const told = problems.map(({ message, ruleId }) => `${ruleId}: ${message}`)
    const ambiguous = told.filter((one) => one.startsWith("no-ambiguous-paths: "))
    expect(ambiguous.filter((one) => one.includes("/webhooks/inbound/{source}")).length).toBe(4)
    expect(told.filter((one) => !ambiguous.slice(0, 4).includes(one))).toEqual([])
    const spectral = await tool("spectral", "lint", "--fail-severity=hint", "--quiet", "openapi.json")
    expect(spectral).toEqual({ code: 0, out: "" })
  })
  it("type-check strictly without a cast, made by openapi-typescript and hey-api", async () => {
    const made = await Promise.all([
      tool("openapi-typescript", "openapi.json", "-o", "client.ts"),
      tool("openapi-ts", "--file", "openapi-ts.config.mjs")
    ])
    for (const one of made) expect(one).toMatchObject({ code: 0 })
    for (const file of ["calls.ts", "hey-calls.ts"])
      expect(readFileSync(join(work, file), "utf8")).not.toMatch(/\bas (?!api\b)|\bany\b/)
    expect(await tool("tsc", "-p", ".")).toEqual({ code: 0, out: "" })
  })
  it("get responses that match their types", async () => {
    const { code, out } = await runProgram(process.execPath, ["calls.ts", http.url, owner_token], work)
    expect(code, out).toBe(0)
    expect(Number(out.trim().split("\n").at(-1))).toBeGreaterThanOrEqual(30)
    expect(await runProgram(process.execPath, ["hey-calls.ts", http.url, owner_token], work)).toEqual({
      code: 0,
      out: "all\n"
    })
  })
})

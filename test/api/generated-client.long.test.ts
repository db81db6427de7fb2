/**
 * Checks the OpenAPI description with strict linters, and clients generated from it against a server. The tools are
 * installed once, in their own folder, by their lock file.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { installedTools, runProgram } from "../installed-tools.ts"
import { type Listening, openListener, owner_token, serve, type Serving } from "../server/serving.ts"
import { share } from "../share.ts"

const here = fileURLToPath(new URL("./client-tools/", import.meta.url))
const install_millis = 300_000

const tools = await installedTools(here)
const makers = [
  {
    maker: "openapi-typescript",
    program: "openapi-typescript",
    args: ["openapi.json", "-o", "client.ts"],
    calls: "calls",
    prints: (out: string) => expect(Number(out.trim().split("\n").at(-1))).toBeGreaterThanOrEqual(30)
  },
  {
    maker: "hey-api",
    program: "openapi-ts",
    args: ["--file", "openapi-ts.config.mjs"],
    calls: "hey-calls",
    prints: (out: string) => expect(out).toBe("all\n")
  }
] as const

describe.skipIf(tools === undefined)("clients generated from the OpenAPI description", () => {
  let server: Serving
  let http: Listening
  let work: string
  beforeAll(async () => {
    server = await serve("sqlite", { public_url: "https://hire.flightcase.test" })
    http = await openListener(server.app.answer)
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

  const linters: { readonly [name: string]: () => Promise<void> } = {
    spectral: async () => {
      const spectral = await tool("spectral", "lint", "--fail-severity=hint", "--quiet", "openapi.json")
      expect(spectral).toEqual({ code: 0, out: "" })
    },
    redocly: async () => {
      const { out } = await tool("redocly", "lint", "--extends=recommended-strict", "--format=json", "openapi.json")
      const { problems } = JSON.parse(out.slice(out.indexOf("{"), out.lastIndexOf("}") + 1)) as {
        readonly problems: ReadonlyArray<{ readonly ruleId: string; readonly message: string }>
      }
      // The rule compares paths only: ids are numbers, so `inbound` is not ambiguous.
      const told = problems.map(({ message, ruleId }) => `${ruleId}: ${message}`)
      const ambiguous = told.filter((one) => one.startsWith("no-ambiguous-paths: "))
      expect(ambiguous.filter((one) => one.includes("/webhooks/inbound/{source}")).length).toBe(4)
      expect(told.filter((one) => !ambiguous.slice(0, 4).includes(one))).toEqual([])
    }
  }
  it.each(share(Object.keys(linters)))(
    "come from a description that passes %s with its strictest rules, except for paths the API prescribes",
    (name) => linters[name]!()
  )

  describe.each(share(makers))("made by $maker", ({ args, calls, prints, program }) => {
    it("type-check strictly without a cast", async () => {
      expect(await tool(program, ...args)).toMatchObject({ code: 0 })
      expect(readFileSync(join(work, `${calls}.ts`), "utf8")).not.toMatch(/\bas (?!api\b)|\bany\b/)
      writeFileSync(
        join(work, `${calls}.json`),
        JSON.stringify({ extends: "./tsconfig.json", files: [`${calls}.ts`, "node.d.ts"] })
      )
      expect(await tool("tsc", "-p", `${calls}.json`)).toEqual({ code: 0, out: "" })
    })
    it("get responses that match their types", async () => {
      const { code, out } = await runProgram(process.execPath, [`${calls}.ts`, http.url, owner_token], work)
      expect(code, out).toBe(0)
      prints(out)
    })
  })
})

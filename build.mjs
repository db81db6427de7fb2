// Bundles the server, the command line, the client and the site into out/. Runs on any Node that rolldown runs on; the
// result needs Node 24. With --if-changed only if a source is newer than the start of the last build, or came or went.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { basename, isAbsolute } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants } from "node:zlib"
import { rolldown } from "rolldown"
import { convertParts, exports_assigned_once } from "./parts.mjs"
import { buildSite } from "./site.mjs"

const root = fileURLToPath(new URL(".", import.meta.url))
const written_last = `${root}out/sbom.cdx.json`
const sources = ["{cli,client,core,server,sync}/**/*.*", "docs/**/*.*", "docs/.vitepress/**/*.*", "*.{mjs,json}"]
const begun = new Date()
const files = globSync(sources, { cwd: root }).sort()
const list_hash = createHash("sha256").update(files.join("\n")).digest("hex")
const list_built = `${root}out/sources.sha256`
const isNewer = (file) => statSync(root + file).mtimeMs >= statSync(written_last).mtimeMs
if (
  process.argv.includes("--if-changed") &&
  existsSync(written_last) &&
  existsSync(list_built) &&
  readFileSync(list_built, "utf8") === list_hash &&
  !files.some(isNewer)
)
  process.exit()

const entries = { server: "server/main.ts", cli: "cli/main.ts" }
const input = Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(root + file)))

const options = {
  cwd: root,
  platform: "node",
  logLevel: "warn",
  // pg imports pg-native only on request. Modules that sources import dynamically may still share a file when built.
  onLog: (level, log, next) => {
    const is_known = log.code === "UNRESOLVED_IMPORT" && /pg-native/.test(log.message)
    if (!is_known && log.code !== "INEFFECTIVE_DYNAMIC_IMPORT") next(level, log)
  }
}
/** Without Inquirer's editor prompt, which nothing here uses: it brings 300 kB of character tables. */
const without_editor = {
  name: "without-editor",
  resolveId: (id) => (id === "@inquirer/editor" ? { id, external: false } : null),
  load: (id) => (id === "@inquirer/editor" ? "export default undefined" : null)
}
/**
 * One copy of fontkit, which is imported in two forms, and without its own Brotli (a dictionary of 800 kB), which Node
 * has.
 */
const one_fontkit = {
  name: "one-fontkit",
  resolveId: (id) => {
    if (id === "fontkit") return `${root}node_modules/fontkit/dist/main.cjs`
    return id === "brotli/decompress.js" ? id : null
  },
  load: (id) =>
    id === "brotli/decompress.js"
      ? `const { brotliDecompressSync } = require("node:zlib"); module.exports = (bytes) => brotliDecompressSync(bytes)`
      : null
}
/** Without Effect's cron schedules (9 kB in what every command loads): the server reads cron expressions itself. */
const without_cron = {
  name: "without-cron",
  resolveId: (id, importer) =>
    id === "./Cron.js" && importer?.endsWith("/Schedule.js") === true ? { id: "schedule-cron", external: false } : null,
  load: (id) => (id === "schedule-cron" ? "export const isCron = undefined, parse = undefined, next = undefined" : null)
}
/** Without a JSON Schema validator (180 kB): the MCP server checks arguments by their declared fields. */
const without_ajv = {
  name: "without-ajv",
  resolveId: (id) => (id.endsWith("validation/ajv-provider.js") ? { id: "ajv-provider", external: false } : null),
  load: (id) => (id === "ajv-provider" ? "export class AjvJsonSchemaValidator {}" : null)
}
/**
 * Gives telemetry its own copies of the modules it imports: otherwise the parts of Effect that only it uses would be in
 * the files that every command loads.
 */
const own_copies = {
  name: "own-copies",
  async resolveId(source, importer, options) {
    if (!source.endsWith("system/telemetry.ts") && importer?.endsWith("?own") !== true) return null
    const found = await this.resolve(source, importer?.replace(/\?own$/, ""), { ...options, skipSelf: true })
    return found === null || found.external || !isAbsolute(found.id)
      ? found
      : { id: `${found.id}?own`, moduleSideEffects: false }
  },
  load: (id) =>
    id.endsWith("?own")
      ? { code: readFileSync(id.slice(0, -4), "utf8"), moduleType: id.endsWith(".ts?own") ? "ts" : "js" }
      : null
}
const isExternal = (id) => /^node:|^pg-native$/.test(id)

/**
 * Loads `core/slices.ts` when the catalogue first needs it, although `core/catalogue.ts` imports it at once. Properties
 * of the catalogue are read by functions that are not async; `parts.mjs` makes this import one that does not wait.
 */
const loaded_later = {
  name: "loaded-later",
  transform: (code, id) =>
    id === `${root}core/catalogue.ts`
      ? {
          code: code
            .replace('import { slices } from "./slices.ts"', "")
            .replace("catalogueOf(slices)", 'catalogueOf(import("./slices.ts").slices)'),
          map: null
        }
      : null
}

// Modules of Node taken when a function of theirs is called: each loads dozens of others, and most commands call none.
const taken_later = ["node:child_process", "node:crypto", "node:timers/promises"]
const ofNode = (name) => `globalThis.process.getBuiltinModule("${name}")`
const takenFrom = (name, one) => {
  const [imported, local = imported] = one.trim().split(/\s+as\s+/)
  const is_function = /^[a-z]/.test(imported) && typeof process.getBuiltinModule(name)[imported] === "function"
  return taken_later.includes(name) && is_function
    ? `${local} = (...given) => ${ofNode(name)}.${imported}(...given)`
    : `${local} = ${ofNode(name)}.${imported}`
}
const takenWhole = (name, local) =>
  taken_later.includes(name)
    ? `${local} = new Proxy({}, { get: (_, key) => ${ofNode(name)}[key] })`
    : `${local} = ${ofNode(name)}`
/** Takes Node's modules by `getBuiltinModule`: `import` reads each member of theirs and loads the modules it needs. */
const without_facades = {
  name: "without-facades",
  renderChunk: (code) => ({
    map: null,
    code: code.replaceAll(
      /^import (?:([\w$]+),? |\* as ([\w$]+) )?(?:\{([^}]*)\} )?from "(node:[\w/]+)";$/gm,
      (_, whole, all, some = "", name) => {
        const parts = some.split(",").filter((one) => one.trim() !== "")
        const local = whole ?? all
        const taken = [
          ...(local === undefined ? [] : [takenWhole(name, local)]),
          ...parts.map((one) => takenFrom(name, one))
        ]
        return taken.length === 0 ? "" : `const ${taken.join(", ")};`
      }
    )
  })
}

const isOwnShared = (id) => [`${root}core/`, `${root}sync/`].some((folder) => id.startsWith(folder))
/**
 * Files of out/ and the modules each is made of, with their imports: opening many small files takes longer than reading
 * one. `start` answers --version, `words` help and completion, `read` a read, and `derived` adds the derived commands.
 */
const parts = {
  start: ["cli/output/out.ts", "cli/base/exit-codes.ts", "cli/base/first-word.ts"],
  words: ["cli/frame/built-commands.ts"],
  read: [
    "cli/context/program.ts",
    "cli/frame/command-loader.ts",
    "cli/context/print.ts",
    "cli/context/resolve-id.ts",
    "cli/context/pages.ts",
    "cli/output/order.ts",
    "sync/device/device.ts"
  ],
  derived: ["cli/derived/command.ts"]
}
/**
 * Ids of the modules that these files need: those they import and of which code is left without unused exports. Dynamic
 * imports are left out.
 */
const modulesOf = async (files) => {
  const bundle = await rolldown({
    ...options,
    input: files.map((file) => root + file),
    logLevel: "silent",
    external: isExternal,
    plugins: [
      loaded_later,
      { name: "without-later", resolveDynamicImport: (id) => ({ id: String(id), external: true }) }
    ]
  })
  const { output } = await bundle.generate({ format: "esm" })
  await bundle.close()
  return new Set(
    output
      .flatMap((file) => (file.type === "chunk" ? Object.entries(file.modules) : []))
      .flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : []))
  )
}
const of_read = await modulesOf(Object.values(parts).flat())
const of_slices = await modulesOf(["core/slices.ts"])
const isShared = (id) => isOwnShared(id) || /node_modules[\\/](effect|decimal\.js|ical\.js)[\\/]/.test(id)

const partOf = new Map()
const bundle = await rolldown({
  ...options,
  input,
  external: isExternal,
  plugins: [
    without_editor,
    without_ajv,
    without_cron,
    own_copies,
    loaded_later,
    without_facades,
    exports_assigned_once,
    {
      name: "parts",
      buildEnd() {
        const add = (id, part) => {
          if (partOf.has(id)) return
          partOf.set(id, part)
          for (const next of this.getModuleInfo(id)?.importedIds ?? []) add(next, part)
        }
        for (const [part, files] of Object.entries(parts)) for (const file of files) add(root + file, part)
      }
    }
  ]
})
const isOfDevice = (id) => id.startsWith(`${root}sync/device/`)
const isOfCommands = (id) => id.startsWith(`${root}cli/`) || isOfDevice(id)
mkdirSync(`${root}out`, { recursive: true })
for (const name of readdirSync(`${root}out`))
  if (name !== "site") rmSync(`${root}out/${name}`, { recursive: true, force: true })
const { output } = await bundle.write({
  dir: `${root}out`,
  format: "esm",
  minify: true,
  sourcemap: true,
  // One file holds the shared modules that every command needs. Modules for the server only, such as Effect's HTTP
  // host, stay out of it.
  codeSplitting: {
    groups: [
      { name: "start", priority: 4, test: (id) => partOf.get(id) === "start" },
      { name: "words", priority: 3, test: (id) => partOf.get(id) === "words" },
      { name: "core", priority: 2, test: (id) => of_read.has(id) && isShared(id) && !isOfDevice(id) },
      { name: "read", priority: 1, test: (id) => partOf.get(id) === "read" && isOfCommands(id) },
      { name: "derived", test: (id) => partOf.get(id) === "derived" && isOfCommands(id) },
      { name: "slices", test: (id) => of_slices.has(id) && isShared(id) && !of_read.has(id) }
    ]
  },
  entryFileNames: "[name].js",
  chunkFileNames: "parts/[name]-[hash].js"
})
await bundle.close()
convertParts(`${root}out`, readFileSync(`${root}load.mjs`, "utf8"))

// Texts of help and completion, which otherwise load the commands, as they do if this fails for lack of Node 24.
try {
  const text = execFileSync(process.execPath, [`${root}cli/bin.mjs`, "completion", "data"], {
    encoding: "utf8",
    maxBuffer: 64_000_000,
    stdio: ["ignore", "pipe", "ignore"]
  })
  const { index, commands } = JSON.parse(text)
  mkdirSync(`${root}out/words`)
  writeFileSync(`${root}out/words/index.json`, JSON.stringify(index))
  for (const [word, command] of Object.entries(commands))
    writeFileSync(`${root}out/words/command-${word}.json`, JSON.stringify(command))
} catch {
  console.warn("Help and completion will load each command: they could not be written down.")
}

// The client, written by a program that reads the sources: on this Node, or on the one beside it.
const node =
  Number(process.versions.node.split(".")[0]) >= 24
    ? process.execPath
    : `${root}node_modules/node-${process.platform}-${process.arch}/bin/node`
if (existsSync(node)) execFileSync(node, [`${root}client.mjs`], { stdio: "inherit" })
else console.warn("There is no Node 24, so flightcase/client could not be written.")

// What a device compares its tables with when it opens. Without the file it is worked out of all slices.
const of_tables = `
  import { Effect } from "effect"
  import { catalogue } from "./core/catalogue.ts"
  import { tablesOfDevices } from "./core/kernel/runtime/schema.ts"
  process.stdout.write(Effect.runSync(tablesOfDevices(catalogue)))
`
if (existsSync(node)) {
  const text = execFileSync(node, ["--input-type=module", "--eval", of_tables], { cwd: root, encoding: "utf8" })
  writeFileSync(`${root}out/tables.txt`, text)
}

// The worker that renders documents in threads: a program of its own in out/print. Its libraries find their data by
// CommonJS's `__dirname`, which the banner defines.
const drawing = await rolldown({
  ...options,
  input: { worker: "server/print/worker.ts" },
  external: isExternal,
  plugins: [one_fontkit]
})
const drawn = await drawing.write({
  dir: `${root}out/print`,
  format: "esm",
  minify: true,
  // Nearly all of it is libraries, and the map would be larger than the file.
  sourcemap: false,
  entryFileNames: "[name].js",
  chunkFileNames: "[name]-[hash].js",
  banner: `import{fileURLToPath as fileOfUrl}from"node:url";import{dirname as folderOf}from"node:path";const __filename=fileOfUrl(import.meta.url),__dirname=folderOf(__filename);`
})
await drawing.close()
const packageFile = (file) => `${root}node_modules/${file}`
mkdirSync(`${root}out/print/fonts`)
mkdirSync(`${root}out/print/data`)
// Fonts are compressed to half their size; `server/print/fonts.ts` reads them.
const fonts = ["Regular", "Medium", "Italic"]
  .map((face) => `pdfmake/fonts/Roboto/Roboto-${face}.ttf`)
  .concat(["DejaVuSans", "DejaVuSans-Bold"].map((face) => `dejavu-fonts-ttf/ttf/${face}.ttf`))
for (const font of fonts) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 }
  const bytes = brotliCompressSync(readFileSync(packageFile(font)), { params })
  writeFileSync(`${root}out/print/fonts/${basename(font)}.br`, bytes)
}
const profile = "data/sRGB_IEC61966_2_1.icc"
copyFileSync(packageFile(`pdfkit/js/${profile}`), `${root}out/print/${profile}`)

// Maps without the text of sources: stack traces need only names and lines.
for (const { fileName } of output.filter((file) => file.fileName.endsWith(".map"))) {
  const map = JSON.parse(readFileSync(`${root}out/${fileName}`, "utf8"))
  delete map.sourcesContent
  writeFileSync(`${root}out/${fileName}`, JSON.stringify(map))
}

const of_site = (await buildSite()).map((folder) => root + folder)

// Licences of bundled packages, which must go with every copy: equal texts once, below the names of their packages.
const bundled = [
  ...new Set(
    [...output, ...drawn.output]
      .flatMap((file) => (file.type === "chunk" ? file.moduleIds : []))
      .flatMap((id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id) ?? [])
      .concat(packageFile("dejavu-fonts-ttf"), of_site)
  )
].sort()
const textsIn = (folder) =>
  readdirSync(folder)
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .map((file) => readFileSync(`${folder}/${file}`, "utf8").trim())
    .join("\n\n")
const licences = bundled
  .map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"))
    return { of: `${name} ${version} (${license})`, text: textsIn(folder) }
  })
  .concat(
    { of: "Roboto (Apache-2.0)", text: readFileSync(`${root}server/print/roboto-licence.txt`, "utf8").trim() },
    {
      of: "SVG-to-PDFKit, within pdfmake (MIT)",
      text: readFileSync(packageFile("pdfmake/src/3rd-party/svg-to-pdfkit/LICENSE"), "utf8").trim()
    }
  )
  .map((licence) => {
    const holders = licence.text.match(/^[^\n]*copyright[^\n]*\d{4}[^\n]*$/gim) ?? []
    const rest = holders.reduce((text, line) => text.replace(line, ""), licence.text).trim()
    return { heading: [licence.of, ...holders].join("\n"), rest, key: rest.toLowerCase().replace(/[\s"“”']+/g, " ") }
  })
const alike = [...new Set(licences.map(({ key }) => key))].map((key) => licences.filter((one) => one.key === key))
writeFileSync(
  `${root}out/licences.txt`,
  alike
    .map((group) => [...group.map(({ heading }) => heading), group[0].rest].join("\n\n"))
    .join(`\n\n${"=".repeat(80)}\n\n`) + "\n"
)

// The bill of materials: npm lists all of the lock file, and this keeps what ships. Without its time and serial number,
// equal sources make equal files.
const sbom = JSON.parse(
  execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx", "--sbom-type", "application", "--package-lock-only"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 26
  })
)
delete sbom.serialNumber
delete sbom.metadata.timestamp
sbom.metadata.component.name = "flightcase"
const identityIn = (folder) => {
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"))
  return `${name}@${version}`
}
const { optionalDependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8"))
const beside = Object.entries(optionalDependencies).map(([name, version]) => `${name}@${version}`)
const shipped = new Set([sbom.metadata.component["bom-ref"], ...bundled.map(identityIn), ...beside])
sbom.components = sbom.components
  .filter((one) => shipped.has(one["bom-ref"]))
  .map(({ properties: _, ...one }) => ({ ...one, scope: beside.includes(one["bom-ref"]) ? "optional" : "required" }))
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => shipped.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => shipped.has(one)) }))
if (sbom.components.length !== shipped.size - 1) throw new Error("package-lock.json does not list all that ships")
writeFileSync(list_built, list_hash)
writeFileSync(written_last, JSON.stringify(sbom) + "\n")
utimesSync(written_last, begun, begun)

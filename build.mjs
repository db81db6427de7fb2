// Bundles the server and the command line into out/. Runs on any Node that rolldown runs on; what it makes needs 24.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

const root = fileURLToPath(new URL(".", import.meta.url))
const entries = { server: "server/main.ts", cli: "cli/main.ts" }
const input = Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(root + file)))

const bundle = await rolldown({
  cwd: root,
  input,
  platform: "node",
  external: [/^node:/, "pg-native"],
  logLevel: "warn",
  // pg asks for pg-native only when told to.
  onLog: (level, log, tell) => {
    if (!(log.code === "UNRESOLVED_IMPORT" && /pg-native/.test(log.message))) tell(level, log)
  }
})
rmSync(`${root}out`, { recursive: true, force: true })
const { output } = await bundle.write({
  dir: `${root}out`,
  format: "esm",
  minify: true,
  sourcemap: true,
  // What every command needs in one file: opening many small ones takes longer than reading it. Only the folders at the
  // root are meant: the command line has a folder `commands/sync` of its own, and starts without any of this.
  // What only the server uses of effect stays out of it.
  codeSplitting: {
    groups: [
      {
        name: "core",
        test: (id) =>
          (/^(core|sync)[\\/]/.test(relative(root, id)) ||
            /[\\/]node_modules[\\/](effect|decimal\.js|ical\.js)[\\/]/.test(id)) &&
          !/[\\/]effect[\\/]dist[\\/](http|socket|process|observability|PlatformError|FileSystem|Path|Stdio|Terminal|Sink|ByteSize)\b/.test(
            id
          )
      }
    ]
  },
  entryFileNames: "[name].js",
  chunkFileNames: "parts/[name]-[hash].js"
})
await bundle.close()

// A stack trace needs the names and lines of other people's sources, which the maps keep, and not their text.
for (const { fileName } of output.filter((file) => file.fileName.endsWith(".map"))) {
  const map = JSON.parse(readFileSync(`${root}out/${fileName}`, "utf8"))
  map.sourcesContent = map.sources.map((source, at) =>
    source.includes("node_modules/") ? null : map.sourcesContent[at]
  )
  writeFileSync(`${root}out/${fileName}`, JSON.stringify(map))
}

// Their licences ask that their texts go with every copy.
const bundled = [
  ...new Set(
    output
      .flatMap((file) => (file.type === "chunk" ? file.moduleIds : []))
      .flatMap((id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id) ?? [])
  )
].sort()
writeFileSync(
  `${root}out/licences.txt`,
  bundled
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"))
      const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
      return [
        `${name} ${version} (${license})`,
        ...files.map((file) => readFileSync(`${folder}/${file}`, "utf8").trim())
      ].join("\n\n")
    })
    .join(`\n\n${"=".repeat(80)}\n\n`) + "\n"
)

// Bundles the server and the command line into out/. Runs on any Node that rolldown runs on; what it makes needs 24.
import { existsSync, rmSync } from "node:fs"
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
  onLog: (level, log, tell) => { if (!(log.code === "UNRESOLVED_IMPORT" && /pg-native/.test(log.message))) tell(level, log) }
})
rmSync(`${root}out`, { recursive: true, force: true })
await bundle.write({
  dir: `${root}out`,
  format: "esm",
  minify: true,
  sourcemap: true,
  // What every command needs in one file: opening many small ones takes longer than reading it.
  codeSplitting: { groups: [{ name: "core", test: /[\\/](core|sync)[\\/]|node_modules[\\/](effect|decimal\.js|ical\.js)[\\/]/ }] },
  entryFileNames: "[name].js",
  chunkFileNames: "parts/[name]-[hash].js"
})
await bundle.close()

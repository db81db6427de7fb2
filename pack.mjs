// Run by npm before packing: names the manual pages in package.json and keeps only its script `start`. `--done`, after
// packing, restores the file; so does the next run if packing was interrupted.
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"

const file = new URL("package.json", import.meta.url)
const kept = new URL("package.json.kept", import.meta.url)

if (existsSync(kept)) renameSync(kept, file)
if (process.argv[2] !== "--done") {
  const whole = readFileSync(file, "utf8")
  const { scripts, ...rest } = JSON.parse(whole)
  writeFileSync(kept, whole)
  const man = readdirSync(new URL("out/man", import.meta.url)).map((name) => `out/man/${name}`)
  writeFileSync(file, `${JSON.stringify({ ...rest, man, scripts: { start: scripts.start } }, null, 2)}\n`)
}

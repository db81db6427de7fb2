// While npm packs, package.json names the manual pages, and only the scripts that the package can run; `--done` puts the
// clone's own back, as it does after a packing that was broken off.
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

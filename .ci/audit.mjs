// Known vulnerabilities of what ships, by out/sbom.cdx.json: libraries are bundled, so npm's --omit=dev would leave them out.
// Succeeds when the registry does not answer.
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

const { components } = JSON.parse(readFileSync("out/sbom.cdx.json", "utf8"))
const shipped = new Set(components.map(({ name }) => name))
const { stdout } = spawnSync("npm", ["audit", "--json", "--fetch-retries=0", "--fetch-timeout=20000"], {
  encoding: "utf8",
  maxBuffer: 2 ** 26
})
const report = JSON.parse(stdout || "{}")
if (report.vulnerabilities === undefined) {
  console.error(`== not audited: ${report.message ?? "npm audit said nothing"}`)
  process.exit(0)
}
const found = Object.values(report.vulnerabilities).filter(({ name }) => shipped.has(name))
for (const { name, range, severity, via } of found)
  for (const { title, url } of via.filter((one) => typeof one === "object"))
    console.error(`${severity}: ${name} ${range}: ${title} (${url})`)
console.error(`${components.length} packages ship, ${found.length} of them with known vulnerabilities`)
process.exit(found.length === 0 ? 0 : 1)

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { variables, variablesText } from "../../server/host/environment.ts"

const root = join(import.meta.dirname, "../..")
const names = Object.keys(variables)
const namedIn = (text: string): ReadonlyArray<string> =>
  [
    ...new Set(text.match(/\b(FLIGHTCASE_[A-Z_]*[A-Z]|AWS_[A-Z_]*[A-Z]|OTEL_[A-Z_]*[A-Z]|DATABASE_URL)\b/g) ?? [])
  ].sort()

describe("the server's environment variables", () => {
  it("are exactly those that the sources name", () => {
    const sources = readdirSync(join(root, "server"), { recursive: true, encoding: "utf8" }).filter((file) =>
      file.endsWith(".ts")
    )
    const named = namedIn(sources.map((file) => readFileSync(join(root, "server", file), "utf8")).join("\n"))
    expect(named).toEqual([...names].sort())
  })
  it("are listed by serve --help with meaning and default", () => {
    const lines = variablesText()
      .split("\n")
      .map((line) => line.trim())
    for (const [name, { meaning, otherwise }] of Object.entries(variables)) {
      const at = lines.findIndex((line) => line.startsWith(`${name} `))
      expect([lines[at], lines[at + 1]], name).toEqual([expect.stringMatching(/^\S+ +\S/), `default: ${otherwise}`])
      expect(lines[at]!.endsWith(`  ${meaning}`), name).toBe(true)
    }
  })
  it("match the table of settings in docs/OPERATIONS.md", () => {
    const readme = readFileSync(join(root, "docs/OPERATIONS.md"), "utf8")
    const section = /^## Settings of the server\n([\s\S]*?)^## /m.exec(readme)?.[1] ?? ""
    const rows = Object.entries(variables).map(
      ([name, { meaning, otherwise }]) => `| \`${name}\` | ${meaning} | ${otherwise} |`
    )
    expect(section.split("\n").filter((line) => line.startsWith("|"))).toEqual([
      "| Variable | Meaning | Default |",
      "|---|---|---|",
      ...rows
    ])
  })
})

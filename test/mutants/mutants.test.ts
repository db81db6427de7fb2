/** That the list of mutants does not rot; `npm run mutants` runs them. */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { isSeeds, occurrences } from "./mutant.ts"
import { mutants } from "./mutants.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const textOf = (file: string): string => readFileSync(root + file, "utf8")

describe("deliberate mutants", () => {
  it("are many, each with a name of its own", () => {
    expect(mutants.length).toBeGreaterThanOrEqual(24)
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  })
  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))("%s: breaks one place, and names tests that are there", (_name, { file, find, killed_by, replace }) => {
    expect(occurrences(textOf(file), find)).toBe(1)
    expect(replace).not.toBe(find)
    expect(killed_by.length).toBeGreaterThan(0)
    for (const killer of killed_by) {
      if (isSeeds(killer)) expect(killer.seeds[0]).toBeLessThanOrEqual(killer.seeds[1])
      else {
        expect(existsSync(root + killer.file), killer.file).toBe(true)
        expect(textOf(killer.file)).toContain(killer.test)
      }
    }
  })
})

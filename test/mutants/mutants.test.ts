/** The mutants' places and tests exist; `npm run mutants` runs them. */
import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { describe, expect, it } from "vitest"
import { placeOf, sourcesOf, withReplaced } from "../source/place.ts"
import { tokensOf } from "../source/tokens.ts"
import { filesIn, parsed, root, source_folders, textOf } from "../source/tree.ts"
import { isSeeds } from "./mutant.ts"
import { mutants } from "./mutants.ts"

const sources = sourcesOf(filesIn(source_folders), textOf)
const wordsOf = (text: string): ReadonlyArray<string> => tokensOf(text).map((token) => token.text)
/** A test file and its imports from the same folder, which may declare the tests. */
const playedBy = (file: string): ReadonlyArray<string> => {
  const text = textOf(file)
  const beside = [...text.matchAll(/from "\.\/([\w-]+\.ts)"/g)].map(([, name]) => textOf(`${dirname(file)}/${name}`))
  return [text, ...beside]
}

describe("mutants", () => {
  it("have unique names", () => {
    expect(mutants.length).toBeGreaterThanOrEqual(24)
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  })
  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
    "change one place in the source, and name existing tests: %s",
    (_name, mutant) => {
      const { killed_by } = mutant
      const place = placeOf(sources, mutant)
      if (typeof place === "string") return expect.fail(place)
      const { text } = sources.get(place.file)!
      const broken = withReplaced(text, place, mutant.replace)
      expect(wordsOf(broken)).not.toEqual(wordsOf(text))
      parsed(broken)
      expect(killed_by.length).toBeGreaterThan(0)
      for (const killer of killed_by) {
        if (isSeeds(killer)) expect(killer.seeds[0]).toBeLessThanOrEqual(killer.seeds[1])
        else {
          expect(existsSync(root + killer.file), killer.file).toBe(true)
          expect(playedBy(killer.file).join("\n")).toContain(killer.test)
        }
      }
    }
  )
})

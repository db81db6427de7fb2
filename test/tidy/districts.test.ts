/**
 * Structure of the source: districts of each tree in their order, sizes of folders, the number of files, imports and
 * names, and the cognitive complexity of functions. docs/ARCHITECTURE.md describes the districts; limits may only fall.
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { sourcesOf } from "../source/place.ts"
import { filesIn, root, source_folders, textOf } from "../source/tree.ts"
import { words } from "../words.ts"
import { fileGraph, folderCircles } from "./circles.ts"
import { complexitiesOf } from "./complexity.ts"

/** Each may import those before it, but none after it. */
const districts = {
  core: words(
    "values kernel pricing setup people products orders billing purchasing warehouse documents imports office overview slices.ts catalogue.ts offline"
  ),
  server: words(
    "print ports pg http access files delivery documents billing operations orders overview people purchasing host main.ts"
  ),
  sync: words("http-client.ts protocol sqlite device notification-stream.ts server"),
  cli: words("base output context briefs derived views commands frame run.ts main.ts")
}
/** Trees that consist of districts. */
const wide_folders = words("core server")
const entries_max = 15
const loose_files_max = 5

const limits = { files: 685, lines_of_imports: 6_982, exported_names: 4_315, most_complex_function: 22 }

const sources = sourcesOf(filesIn(source_folders), textOf)
const graph = fileGraph(sources)
const folders = [...new Set([...sources.keys()].flatMap(foldersAbove))]
function foldersAbove(file: string): ReadonlyArray<string> {
  const parts = file.split("/").slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"))
}

describe("districts", () => {
  it.each(Object.entries(districts))("of %s are all listed, and import only districts before them", (tree, order) => {
    const districtOf = (file: string) => file.split("/")[1]!
    const turned = [...graph].flatMap(([file, imported]) =>
      [...imported].flatMap((other) =>
        file.startsWith(`${tree}/`) &&
        other.startsWith(`${tree}/`) &&
        order.indexOf(districtOf(other)) > order.indexOf(districtOf(file))
          ? [`${file} imports ${other}`]
          : []
      )
    )
    expect(turned).toEqual([])
    expect(new Set(folders.filter((folder) => folder.startsWith(`${tree}/`)).map(districtOf))).toEqual(
      new Set(order.filter((name) => !name.endsWith(".ts")))
    )
  })
  it("have no circular imports, types included", () => {
    expect(folderCircles(graph)).toEqual([])
  })
})

describe("folders", () => {
  const entriesOf = (folder: string) =>
    readdirSync(join(root, folder), { withFileTypes: true }).filter(({ name }) => name !== "tsconfig.json")
  it(`hold at most ${entries_max} entries, apart from ${wide_folders.join(" and ")}`, () => {
    const wide = folders.filter((folder) => entriesOf(folder).length > entries_max)
    expect(wide.toSorted()).toEqual(wide_folders.toSorted())
  })
  it(`hold at most ${loose_files_max} files beside folders`, () => {
    const loose = folders.filter((folder) => {
      const entries = entriesOf(folder)
      const files = entries.filter((entry) => entry.isFile()).length
      return files < entries.length && files > loose_files_max
    })
    expect(loose).toEqual([])
  })
})

describe("the size of the source", () => {
  const texts = [...sources.values()].map(({ text }) => text)
  const linesOf = (found: ReadonlyArray<string>) => found.reduce((sum, one) => sum + one.split("\n").length, 0)
  const counted = {
    files: texts.length,
    lines_of_imports: linesOf(texts.flatMap((text) => text.match(/^import\b[^"]*"[^"]*"$/gm) ?? [])),
    exported_names: texts.flatMap(
      (text) => text.match(/^export (?:const|function|class|interface|type|async) /gm) ?? []
    ).length,
    most_complex_function: Math.max(...[...sources.values()].flatMap(({ tree }) => [...complexitiesOf(tree).values()]))
  }
  it.each(Object.entries(limits))("stays within its limit: %s at most %i", (what, limit) => {
    expect(counted[what as keyof typeof counted]).toBeLessThanOrEqual(limit)
  })
})

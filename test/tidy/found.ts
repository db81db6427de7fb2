/** All that is counted in the source, with its places. */
import { type Sources, sourcesOf } from "../source/place.ts"
import { filesIn, root, source_folders, textOf } from "../source/tree.ts"
import { circlesOf, fileGraph } from "./circles.ts"
import { commentsOf, type Dialect, dialectIn, titlesOf } from "./dialect.ts"
import { anyTypes, lineAt, measures } from "./measures.ts"
import { general_folders, rentalWordsIn } from "./words.ts"

/** Places of a finding, by kind and folder. */
export type Found = ReadonlyMap<string, ReadonlyMap<string, ReadonlyArray<string>>>
const collector = (): {
  readonly add: (what: string, folder: string, place: string) => void
  readonly found: Found
} => {
  const found = new Map<string, Map<string, Array<string>>>()
  const add = (what: string, folder: string, place: string): void => {
    const folders = found.get(what) ?? new Map<string, Array<string>>()
    found.set(what, folders)
    folders.set(folder, [...(folders.get(folder) ?? []), place])
  }
  return { add, found }
}
const topOf = (file: string): string => file.slice(0, file.indexOf("/"))

/** The kernel may import nothing else of core but `values`. */
const isOutwardOfKernel = (from: string, to: string): boolean =>
  from.startsWith("core/kernel/") && to.startsWith("core/") && !/^core\/(?:kernel|values)\//.test(to)

export const tidinessOf = (sources: Sources, tests: Sources = new Map()): Found => {
  const { add, found } = collector()
  const addDialect = (where: string, file: string, text: string, uses: ReadonlyArray<Dialect>): void => {
    for (const { kind, offset } of uses)
      add(`dialect in ${where}: ${kind}`, topOf(file), `${file}:${lineAt(text, offset)}`)
  }
  for (const [file, source] of tests) {
    addDialect("titles", file, source.text, dialectIn(titlesOf(source)))
    for (const offset of anyTypes(source)) add("any in tests", topOf(file), `${file}:${lineAt(source.text, offset)}`)
  }
  for (const [file, source] of sources) {
    for (const [what, measure] of Object.entries(measures)) {
      for (const offset of measure(source)) add(what, topOf(file), `${file}:${lineAt(source.text, offset)}`)
    }
    addDialect("comments", file, source.text, dialectIn(commentsOf(source.text)))
    const general = general_folders.find((folder) => file.startsWith(`${folder}/`))
    if (general === undefined) continue
    for (const { offset, word } of rentalWordsIn(source.text))
      add(`rental word ${word}`, general, `${file}:${lineAt(source.text, offset)}`)
  }
  const graph = fileGraph(sources)
  for (const circle of circlesOf(graph))
    for (const file of circle) add("files in circles of imports", topOf(file), file)
  for (const [file, imported] of graph) {
    for (const one of imported)
      if (isOutwardOfKernel(file, one)) add("imports of core beyond values", "core/kernel", `${file} imports ${one}`)
  }
  return found
}

export const tidinessToday = (above: string = root): Found => {
  const sourcesIn = (folders: ReadonlyArray<string>): Sources =>
    sourcesOf(filesIn(folders, above), (file) => textOf(file, above))
  return tidinessOf(sourcesIn(source_folders), sourcesIn(["test"]))
}

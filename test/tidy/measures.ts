/** Undesirable patterns, counted on the syntax of the source. */
import { type Node, nodesOf, part } from "../source/tree.ts"
import type { SourceFile } from "../source/place.ts"
import { complexitiesOf } from "./complexity.ts"

const function_lines_max = 70
const file_lines_max = 400
const columns_max = 120

/** Offsets of all occurrences. */
type Measure = (file: SourceFile) => ReadonlyArray<number>

const linesOf = (text: string): ReadonlyArray<string> => (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n")
const bare = (node: Node | undefined): Node | undefined =>
  node?.type === "ParenthesizedExpression" ? bare(part(node, "expression")) : node
const functions = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"])
const casts = new Set(["TSAsExpression", "TSTypeAssertion"])
/** Kind of the type a value is cast to: `TSNeverKeyword`. */
const castTo = (node: Node): string | undefined =>
  casts.has(node.type) ? part(node, "typeAnnotation")?.type : undefined

/** The compiler checks `as const`, so it is no cast. */
const isCast = (node: Node, text: string): boolean => {
  const to = casts.has(node.type) ? part(node, "typeAnnotation") : undefined
  return to !== undefined && text.slice(to.start, to.end) !== "const"
}
const isJsonParse = (node: Node | undefined): boolean => {
  const callee = node?.type === "CallExpression" ? part(node, "callee") : undefined
  return (
    callee !== undefined &&
    part(callee, "object")?.["name"] === "JSON" &&
    part(callee, "property")?.["name"] === "parse"
  )
}
/** `JSON.parse(…) as T`, and `const it: T = JSON.parse(…)`, which is equal to it. */
const isJsonTrusted = (node: Node): boolean => {
  if (casts.has(node.type)) return castTo(node) !== "TSUnknownKeyword" && isJsonParse(bare(part(node, "expression")))
  const id = node.type === "VariableDeclarator" ? part(node, "id") : undefined
  const annotation = id === undefined ? undefined : part(id, "typeAnnotation")
  return (
    annotation !== undefined &&
    part(annotation, "typeAnnotation")?.type !== "TSUnknownKeyword" &&
    isJsonParse(bare(part(node, "init")))
  )
}
const isCastOverUnknown = (node: Node): boolean => {
  const inner = casts.has(node.type) ? bare(part(node, "expression")) : undefined
  return inner !== undefined && castTo(inner) === "TSUnknownKeyword"
}

/** `key.endsWith("_id")` and `/_ids?$/`: declared references should be used, not names. */
const isGuessFromName = (node: Node): boolean => {
  if (node.type !== "Literal") return false
  const { regex, value } = node
  const pattern = typeof regex === "object" && regex !== null && "pattern" in regex ? String(regex.pattern) : undefined
  return pattern === undefined ? value === "_id" || value === "_ids" : /(?:_|\|_\))ids?\??\$$/.test(pattern)
}

const where =
  (holds: (node: Node, text: string) => boolean): Measure =>
  ({ text, tree }) =>
    [...nodesOf(tree)].filter((node) => holds(node, text)).map(({ start }) => start)

const longLines: Measure = ({ text }) => {
  let start = 0
  return text.split("\n").flatMap((line) => {
    const at = start
    start += line.length + 1
    return line.length > columns_max ? [at] : []
  })
}

const complexOver =
  (most: number): Measure =>
  ({ tree }) =>
    [...complexitiesOf(tree)].flatMap(([{ start }, points]) => (points > most ? [start] : []))

export const measures: { readonly [name: string]: Measure } = {
  [`functions over ${function_lines_max} lines`]: where(
    (node, text) => functions.has(node.type) && linesOf(text.slice(node.start, node.end)).length > function_lines_max
  ),
  "functions over 15 in cognitive complexity": complexOver(15),
  "functions over 20 in cognitive complexity": complexOver(20),
  [`files over ${file_lines_max} lines`]: ({ text }) => (linesOf(text).length > file_lines_max ? [0] : []),
  [`lines over ${columns_max} columns`]: longLines,
  casts: where(isCast),
  "as unknown as": where(isCastOverUnknown),
  "as never": where((node) => castTo(node) === "TSNeverKeyword"),
  "as any": where((node) => castTo(node) === "TSAnyKeyword"),
  "non-null !": where((node) => node.type === "TSNonNullExpression"),
  "JSON.parse taken for a type": where(isJsonTrusted),
  "ids told by the names of keys": where(isGuessFromName)
}

/** Counted in tests, where responses had no types. */
export const anyTypes = where((node) => node.type === "TSAnyKeyword")

/** The specifiers a file imports or re-exports from, types included. */
export const importsOf = (tree: Node): ReadonlyArray<string> =>
  [...nodesOf(tree)].flatMap((node) => {
    const source = /^(?:Import(?:Declaration|Expression)|Export(?:Named|All)Declaration|TSImportType)$/.test(node.type)
      ? part(node, "source")
      : undefined
    return source?.type === "Literal" && typeof source["value"] === "string" ? [source["value"]] : []
  })

/** Line number of an offset, from 1. */
export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

/**
 * Finds a place in the source by its declaration's name and its syntax: white space, line breaks, grouping parentheses,
 * trailing commas and quotes may change, and the declaration may move to another file.
 */
import { childrenOf, type Node, nodesOf, parsed, part } from "./tree.ts"
import { type Token, tokensOf } from "./tokens.ts"

export interface Place {
  /** File to search; if it does not declare the name, all files that do. */
  readonly file: string
  /** The top-level declaration and those inside it, joined by dots: `commandsOf.append`. */
  readonly within: string
  /** Tokens that occur once within; with `in_text`, part of one string or template literal. */
  readonly find: string
  readonly in_text?: boolean
}
interface Span {
  readonly start: number
  readonly end: number
}
export interface Found extends Span {
  readonly file: string
}
export interface SourceFile {
  readonly text: string
  readonly tree: Node
}
export type Sources = ReadonlyMap<string, SourceFile>

export const sourcesOf = (files: ReadonlyArray<string>, textOf: (file: string) => string): Sources =>
  new Map(
    files.map((file) => {
      const text = textOf(file)
      let tree: Node | undefined
      return [
        file,
        {
          text,
          get tree() {
            return (tree ??= parsed(text))
          }
        }
      ]
    })
  )

const boundNames = (node: Node | undefined): ReadonlyArray<string> => {
  if (node === undefined) return []
  if (node.type === "Identifier" || node.type === "PrivateIdentifier") return [String(node["name"])]
  if (node.type === "Literal") return [String(node["value"])]
  if (node.type === "Property") return boundNames(part(node, "value"))
  if (node.type === "AssignmentPattern") return boundNames(part(node, "left"))
  if (node.type === "RestElement") return boundNames(part(node, "argument"))
  return node.type.endsWith("Pattern") ? childrenOf(node).flatMap(boundNames) : []
}
const declaring = new Set([
  "VariableDeclarator",
  "FunctionDeclaration",
  "FunctionExpression",
  "ClassDeclaration",
  "TSInterfaceDeclaration",
  "TSTypeAliasDeclaration"
])
const keyed = new Set(["Property", "MethodDefinition", "PropertyDefinition", "AccessorProperty"])
/** The node's declared names: variables, functions, classes, types, methods, properties. */
const namesOf = (node: Node): ReadonlyArray<string> =>
  declaring.has(node.type)
    ? boundNames(part(node, "id"))
    : keyed.has(node.type) && node["computed"] !== true && node["shorthand"] !== true
      ? boundNames(part(node, "key"))
      : []

const declaredBy = (statement: Node): ReadonlyArray<string> => {
  const declared = part(statement, "declaration") ?? statement
  const own = declared.type === "VariableDeclaration" ? childrenOf(declared).flatMap(namesOf) : namesOf(declared)
  return statement.type === "ExportDefaultDeclaration" ? [...own, "default"] : own
}

/** All statements, or declarations within them, that a path names. */
const scopesIn = (tree: Node, within: string): ReadonlyArray<Node> => {
  const [top, ...inner] = within.split(".")
  const statements = childrenOf(tree).filter((statement) => declaredBy(statement).includes(top!))
  return inner.reduce<ReadonlyArray<Node>>(
    (scopes, name) =>
      scopes.flatMap((scope) => [...nodesOf(scope)].filter((node) => node !== scope && namesOf(node).includes(name))),
    statements
  )
}

const grouping = new Set(["ParenthesizedExpression", "TSParenthesizedType"])
/** Offsets of parentheses that only group. */
const groupingIn = (scope: Node): ReadonlySet<number> =>
  new Set([...nodesOf(scope)].filter(({ type }) => grouping.has(type)).flatMap(({ start, end }) => [start, end - 1]))

const isParenthesis = ({ text }: Token): boolean => text === "(" || text === ")"
const openIn = (tokens: ReadonlyArray<Token>): number =>
  tokens.reduce((open, { text }) => open + (text === "(" ? 1 : text === ")" ? -1 : 0), 0)

/** Index of each closing parenthesis → that of its opening one. */
const openedAt = (tokens: ReadonlyArray<Token>): ReadonlyMap<number, number> => {
  const open: Array<number> = []
  const pairs = new Map<number, number>()
  for (const [index, { text }] of tokens.entries()) {
    if (text === "(") open.push(index)
    const opening = text === ")" ? open.pop() : undefined
    if (opening !== undefined) pairs.set(index, opening)
  }
  return pairs
}

/** End (exclusive) of the match that begins at the first token; undefined without a match. */
const matchAt = (
  tokens: ReadonlyArray<Token>,
  first: number,
  wanted: ReadonlyArray<Token>,
  groups: ReadonlySet<number>,
  passed_first: number
): number | undefined => {
  const pairs = openedAt(wanted)
  // Grouping parentheses of the pattern that the source lacks: both of a pair, or one without its other in the pattern.
  const passed = new Set(Array.from({ length: passed_first }, (_, index) => index))
  let here = first
  for (let next = passed_first; next < wanted.length;) {
    const token = tokens[here],
      opening = pairs.get(next)
    if (opening !== undefined && passed.has(opening)) next++
    else if (token?.text === wanted[next]!.text) {
      here++
      next++
    } else if (here > first && token !== undefined && groups.has(token.start)) here++
    else if (here > first && isParenthesis(wanted[next]!) && opening === undefined) passed.add(next++)
    else return undefined
  }
  // Grouping parentheses opened within the match also close in it.
  const open = openIn(wanted.filter((_, index) => !passed.has(index) && !passed.has(pairs.get(index) ?? -1)))
  while (openIn(tokens.slice(first, here)) > open && groups.has(tokens[here]?.start ?? -1)) here++
  return here
}

const tokenSpans = (text: string, scope: Node, find: string): ReadonlyArray<Span> => {
  const tokens = tokensOf(text.slice(scope.start, scope.end))
  const groups = new Set([...groupingIn(scope)].map((offset) => offset - scope.start)),
    wanted = tokensOf(find)
  const leading = wanted.findIndex((token) => token.text !== "(")
  if (leading < 0) return []
  const spans = (passed_first: number): ReadonlyArray<Span> =>
    tokens.flatMap((token, first) => {
      const end = matchAt(tokens, first, wanted, groups, passed_first)
      return end === undefined ? [] : [{ start: scope.start + token.start, end: scope.start + tokens[end - 1]!.end }]
    })
  return (
    Array.from({ length: leading + 1 }, (_, passed_first) => spans(passed_first)).find((found) => found.length > 0) ??
    []
  )
}

/** Matches of a text, whatever white space separates its words. */
const textSpans = (text: string, scope: Node, find: string): ReadonlyArray<Span> => {
  const words = new RegExp(find.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+"), "g")
  const literals = [...nodesOf(scope)].filter(
    ({ type, value }) => type === "TemplateLiteral" || (type === "Literal" && typeof value === "string")
  )
  const spans = literals.flatMap(({ start, end }) =>
    [...text.slice(start, end).matchAll(words)].map((match) => ({
      start: start + match.index,
      end: start + match.index + match[0].length
    }))
  )
  return [...new Map(spans.map((span) => [span.start, span])).values()]
}

const spansIn = ({ text, tree }: SourceFile, { find, in_text, within }: Place): ReadonlyArray<Span> =>
  scopesIn(tree, within).flatMap((scope) =>
    in_text === true ? textSpans(text, scope, find) : tokenSpans(text, scope, find)
  )

/** The place, or the reason why it was not found. */
export const placeOf = (sources: Sources, place: Place): Found | string => {
  const { file: hint, find, within } = place
  const top = within.split(".")[0]!
  // Most files do not hold the name, and need no parsing.
  const declaring = [...sources]
    .filter(([, source]) => source.text.includes(top) && scopesIn(source.tree, within).length > 0)
    .map(([file]) => file)
  const searched = declaring.includes(hint) ? [hint] : declaring
  if (searched.length === 0) return `${within} is declared neither in ${hint} nor in any other file`
  const found = searched.map((file) => ({ file, spans: spansIn(sources.get(file)!, place) }))
  const [only, ...others] = found.filter(({ spans }) => spans.length > 0)
  if (only?.spans.length === 1 && others.length === 0) return { file: only.file, ...only.spans[0]! }
  const counts = found.map(({ file, spans }) => `${spans.length} × in ${file}`).join(", ")
  const moved = searched[0] === hint ? "" : ` (not declared in ${hint})`
  return `the place is to stand once in ${within}${moved}, but stands ${counts}: ${find}`
}

/** The file's text with the place replaced. */
export const withReplaced = (text: string, { end, start }: Span, replacement: string): string =>
  text.slice(0, start) + replacement + text.slice(end)

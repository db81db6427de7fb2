/** Unclear phrases: declared texts hold none; comments and test titles hold fewer over time. */
import { type Node, nodesOf, part } from "../source/tree.ts"
import { tokensOf } from "../source/tokens.ts"
import { words } from "../words.ts"

/** Also forbidden in summaries and descriptions. */
const phrases = {
  "what of": "what of",
  whoever: "who(?:m)?ever",
  "is told": "(?:is|are|was|were) told",
  nobody: "nobody",
  "so many": "so many",
  anew: "anew",
  "of what": "of what",
  "who is asked": "who is asked",
  "by themselves": "by themselves"
}
export const dialect = new RegExp(`\\b(?:${Object.values(phrases).join("|")})\\b`, "i")

/** Words with a plainer alternative. Declared texts may need them: "asked price". */
const plain_words = {
  "tell, told": "tells?|told|telling",
  asked: "asked",
  wanted: "wanted",
  "the house": "(?:the|a|this) house(?:'s)?",
  standing: "standing"
}
const patterns: ReadonlyArray<readonly [kind: string, pattern: RegExp]> = [
  ...Object.entries({ ...phrases, ...plain_words }).map(
    ([kind, alternatives]) => [kind, new RegExp(`\\b(?:${alternatives.replaceAll(" ", " +")})\\b`, "gi")] as const
  ),
  // "What of the order it is allocated as", where a noun should stand.
  ["begins with a clause", /^[/*\s]*(?:What|Who|Whose|Whom|Of)\b/g]
]

interface Text {
  readonly text: string
  readonly start: number
}
export interface Dialect {
  readonly kind: string
  readonly offset: number
}
/** All occurrences. Lines of a comment are joined, each break as one space, so that offsets hold. */
export const dialectIn = (texts: ReadonlyArray<Text>): ReadonlyArray<Dialect> =>
  texts.flatMap(({ start, text }) => {
    const joined = text.replace(/\n[ \t]*(?:\*|\/\/)?/g, (broken) => " ".repeat(broken.length))
    return patterns.flatMap(([kind, pattern]) =>
      [...joined.matchAll(pattern)].map(({ index }) => ({ kind, offset: start + index }))
    )
  })

/** Comments stand between tokens; consecutive `//` lines are one comment. */
export const commentsOf = (text: string): ReadonlyArray<Text> => {
  let from = 0
  return [...tokensOf(text), { start: text.length, end: text.length }].flatMap(({ end, start }) => {
    const gap = text.slice(from, start),
      before = from
    from = end
    return [...gap.matchAll(/\/\*[^]*?\*\/|\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/g)].map((comment) => ({
      text: comment[0],
      start: before + comment.index
    }))
  })
}

const titled = new Set(words("it describe scenario test"))
const calleeOf = (node: Node): string => {
  const inner = part(node, "object") ?? part(node, "callee") ?? part(node, "tag")
  return inner === undefined ? String(node["name"]) : calleeOf(inner)
}
/** The first text argument of `it`, `describe.each(…)` and similar functions. */
export const titlesOf = ({ text, tree }: { readonly text: string; readonly tree: Node }): ReadonlyArray<Text> =>
  [...nodesOf(tree)].flatMap((node) => {
    if (node.type !== "CallExpression" || !titled.has(calleeOf(node))) return []
    const [given] = Array.isArray(node["arguments"]) ? node["arguments"] : []
    return given?.type === "TemplateLiteral" || (given?.type === "Literal" && typeof given.value === "string")
      ? [{ text: text.slice(given.start + 1, given.end - 1), start: given.start + 1 }]
      : []
  })

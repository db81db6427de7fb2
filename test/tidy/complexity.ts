/**
 * Cognitive complexity of functions, as eslint-plugin-sonarjs counts it by default: each function for itself, without
 * those inside it, and `&&` but neither `||` nor `??`. A function that is itself a branch of `?:` ends with its branch;
 * the plugin counts on as if nested in it.
 */
import { childrenOf, type Node, part } from "../source/tree.ts"

const functions = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"])
/** Control flow, which counts 1 and its nesting → the parts nested in it. */
const nested_parts: { readonly [type: string]: ReadonlyArray<string> } = {
  IfStatement: ["consequent", "alternate"],
  ConditionalExpression: ["consequent", "alternate"],
  SwitchStatement: ["cases"],
  CatchClause: ["body"],
  ForStatement: ["body"],
  ForInStatement: ["body"],
  ForOfStatement: ["body"],
  WhileStatement: ["body"],
  DoWhileStatement: ["body"]
}

const bare = (node: Node | undefined): Node | undefined =>
  node?.type === "ParenthesizedExpression" ? bare(part(node, "expression")) : node
const operatorsOf = (node: Node | undefined): ReadonlyArray<unknown> =>
  node?.type === "LogicalExpression"
    ? [...operatorsOf(bare(part(node, "left"))), node["operator"], ...operatorsOf(bare(part(node, "right")))]
    : []
const isElse = (parent: Node, node: Node): boolean => parent.type === "IfStatement" && parent["alternate"] === node

/** What the node adds to its function: `else if` and `else` count 1, runs of `&&` 1 each. */
const pointsOf = (node: Node, parent: Node, nesting: number): number => {
  if (node.type === "LogicalExpression") {
    // Counted with the outermost.
    if (parent.type === "LogicalExpression") return 0
    return operatorsOf(node).filter((one, at, all) => one === "&&" && all[at - 1] !== "&&").length
  }
  if (node.type === "IfStatement" && isElse(parent, node)) return 1
  const of_else = isElse(parent, node) ? 1 : 0
  if (node.type in nested_parts) return of_else + 1 + nesting
  const label = node.type === "BreakStatement" || node.type === "ContinueStatement" ? part(node, "label") : undefined
  return of_else + (label === undefined ? 0 : 1)
}

export const complexitiesOf = (tree: Node): ReadonlyMap<Node, number> => {
  const found = new Map<Node, number>()
  const visit = (node: Node, parent: Node, around: Node | undefined, nesting: number): void => {
    if (around !== undefined) found.set(around, (found.get(around) ?? 0) + pointsOf(node, parent, nesting))
    const is_function = functions.has(node.type)
    const within = is_function ? node : around
    if (is_function) found.set(node, 0)
    const parts = (nested_parts[node.type] ?? []).flatMap((key) => node[key])
    for (const child of childrenOf(node)) {
      const is_else_if = child.type === "IfStatement" && isElse(node, child)
      const is_nested = !is_else_if && parts.includes(child)
      const holder = node.type === "ParenthesizedExpression" ? parent : node
      visit(child, holder, within, (is_function ? 0 : nesting) + (is_nested ? 1 : 0))
    }
  }
  visit(tree, tree, undefined, 0)
  return found
}

/** Syntax trees of TypeScript (ESTree, by rolldown's parser), for tests of the source itself. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseAst } from "rolldown/parseAst"

export const root = fileURLToPath(new URL("../../", import.meta.url))
/** The program's folders, in the order of their imports. */
export const source_folders = ["core", "sync", "server", "cli"] as const

export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}
const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string" && "start" in value

/** Throws for invalid TypeScript. Offsets are those of the string. */
export const parsed = (text: string): Node => {
  const program: unknown = parseAst(text, { lang: "ts", sourceType: "module", preserveParens: true })
  if (!isNode(program)) throw new Error("The parser gave no tree.")
  return program
}

export const childrenOf = (node: Node): ReadonlyArray<Node> =>
  Object.values(node).flatMap((value) => (Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : []))

/** The node and all its descendants, parents first, in source order. */
export function* nodesOf(node: Node): Generator<Node> {
  const waiting = [node]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next
    waiting.push(...childrenOf(next).toReversed())
  }
}

/** The node in a property, if it holds one. */
export const part = (node: Node, key: string): Node | undefined => {
  const value = node[key]
  return isNode(value) ? value : undefined
}

/** Paths relative to the parent folder, with `/`, sorted. */
export const filesIn = (folders: ReadonlyArray<string>, above: string = root): ReadonlyArray<string> =>
  folders
    .flatMap((folder) =>
      existsSync(join(above, folder))
        ? readdirSync(join(above, folder), { recursive: true, encoding: "utf8" })
            .filter((file) => file.endsWith(".ts"))
            .map((file) => `${folder}/${file}`)
        : []
    )
    .toSorted()

export const textOf = (file: string, above: string = root): string => readFileSync(join(above, file), "utf8")

/**
 * A strict XML parser for tests: throws for documents that are not well-formed; reads elements, attributes and text.
 */
import { Data } from "effect"

class NotWellFormed extends Data.TaggedError("NotWellFormed")<{ readonly message: string }> {}

export interface XmlNode {
  /** Name of the element, without its prefix. */
  readonly name: string
  readonly namespace: string
  readonly attributes: { readonly [name: string]: string }
  readonly children: ReadonlyArray<XmlNode>
  /** Text directly inside the element. */
  readonly text: string
}
type Prefixes = { readonly [prefix: string]: string }

const entities: { readonly [name: string]: string } = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }
const decoded = (text: string): string => {
  if (/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text))
    throw new NotWellFormed({ message: `a sign XML cannot hold in ${JSON.stringify(text)}` })
  return text.replace(/&([^;\s]*;?)/g, (_all, name: string) => {
    const numeric = /^#(\d+);$/.exec(name)
    const found = numeric === null ? entities[name.slice(0, -1)] : String.fromCodePoint(Number(numeric[1]))
    if (found === undefined || !name.endsWith(";")) throw new NotWellFormed({ message: `&${name}` })
    return found
  })
}

const token = /<\/([^<>\s]+)\s*>|<([A-Za-z_][\w.:-]*)((?:\s+[\w.:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)/gy
interface Open {
  readonly tag: string
  readonly prefixes: Prefixes
  readonly node: { -readonly [K in keyof XmlNode]: XmlNode[K] } & { children: Array<XmlNode> }
}

export const readXml = (text: string): XmlNode => {
  const head = '<?xml version="1.0" encoding="UTF-8"?>\n'
  if (!text.startsWith(head)) throw new NotWellFormed({ message: "no declaration" })
  const open: Array<Open> = []
  let root: XmlNode | undefined
  token.lastIndex = head.length
  while (token.lastIndex < text.length) {
    const at = token.lastIndex
    const found = token.exec(text)
    if (found === null) throw new NotWellFormed({ message: `at ${at}: ${text.slice(at, at + 40)}` })
    const [, closed, opened, attributes = "", empty, words] = found
    if (words !== undefined) {
      const last = open.at(-1)
      if (last !== undefined) last.node.text += decoded(words)
      else if (words.trim() !== "") throw new NotWellFormed({ message: `text outside: ${words}` })
    } else if (opened !== undefined) {
      if (open.length === 0 && root !== undefined) throw new NotWellFormed({ message: "two roots" })
      const one = opening(opened, attributes, open.at(-1)?.prefixes ?? {})
      open.at(-1)?.node.children.push(one.node)
      root ??= one.node
      if (empty !== "/") open.push(one)
    } else if (open.pop()?.tag !== closed) throw new NotWellFormed({ message: `</${closed}>` })
  }
  if (root === undefined || open.length > 0) throw new NotWellFormed({ message: "not closed" })
  return root
}
const opening = (tag: string, written: string, outer: Prefixes): Open => {
  const attributes: { [name: string]: string } = {}
  const prefixes: { [prefix: string]: string } = { ...outer }
  for (const [, name = "", value = ""] of written.matchAll(/([\w.:-]+)="([^"]*)"/g)) {
    if (name in attributes) throw new NotWellFormed({ message: `${name} twice` })
    if (name === "xmlns") prefixes[""] = decoded(value)
    else if (name.startsWith("xmlns:")) prefixes[name.slice(6)] = decoded(value)
    else attributes[name] = decoded(value)
  }
  const [local = "", prefix = ""] = tag.split(":").reverse()
  const namespace = prefixes[prefix]
  if (namespace === undefined) throw new NotWellFormed({ message: `unknown prefix of ${tag}` })
  return { tag, prefixes, node: { name: local, namespace, attributes, children: [], text: "" } }
}

/** Elements at a path of names below a node. */
export const at = (node: XmlNode, path: string): ReadonlyArray<XmlNode> =>
  path
    .split("/")
    .reduce<ReadonlyArray<XmlNode>>(
      (found, name) => found.flatMap(({ children }) => children.filter((one) => one.name === name)),
      [node]
    )
export const textAt = (node: XmlNode, path: string): string | undefined => at(node, path)[0]?.text

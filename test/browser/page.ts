/** Reads a page without a browser: its elements in order, and its faults. */
import { createHash } from "node:crypto"
import { words } from "../words.ts"

export interface Element {
  readonly name: string
  readonly attributes: { readonly [name: string]: string }
  readonly children: Array<Element | string>
}

const named: { readonly [name: string]: string } = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: "\u00a0" }
const plain = (text: string): string =>
  text.replace(/&(?:#(\d+)|(\w+));/g, (_, number: string | undefined, name: string) =>
    number === undefined ? (named[name] ?? `&${name};`) : String.fromCodePoint(Number(number))
  )
const empty_elements = new Set(["meta", "col", "br", "img", "link", "input"])

/**
 * Parses a page strictly: tags closed in order, attributes in double quotes, special characters escaped. Throws
 * otherwise.
 */
export const readPage = (text: string): Element => {
  const root: Element = { name: "#page", attributes: {}, children: [] }
  const open = [root]
  let at = text.startsWith("<!doctype html>\n") ? 16 : 0
  while (at < text.length) {
    if (text[at] !== "<") {
      const end = text.indexOf("<", at) < 0 ? text.length : text.indexOf("<", at)
      const raw = text.slice(at, end)
      if (/[>]/.test(raw) || /&(?!(?:#\d+|amp|lt|gt|quot|nbsp);)/.test(raw))
        throw new Error(`stray sign in: ${raw.slice(0, 80)}`)
      open.at(-1)!.children.push(plain(raw))
      at = end
      continue
    }
    const tag = /^<(\/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z][a-zA-Z0-9:-]*(?:="[^"<>]*")?)*)\s*(\/?)>/.exec(
      text.slice(at, at + 20_000)
    )
    if (tag === null) throw new Error(`no tag: ${text.slice(at, at + 80)}`)
    const [whole, closing, name = "", given = "", self] = tag
    at += whole.length
    if (closing === "/") {
      const last = open.pop()
      if (last?.name !== name) throw new Error(`</${name}> closes <${last?.name}>`)
      continue
    }
    const attributes = Object.fromEntries(
      [...given.matchAll(/([a-zA-Z][a-zA-Z0-9:-]*)(?:="([^"]*)")?/g)].map(([, key, value]) => [
        key!,
        plain(value ?? "")
      ])
    )
    const element: Element = { name, attributes, children: [] }
    open.at(-1)!.children.push(element)
    if (name === "style" || name === "script") {
      const end = text.indexOf(`</${name}>`, at)
      element.children.push(text.slice(at, end))
      at = end + name.length + 3
    } else if (self !== "/" && !empty_elements.has(name)) open.push(element)
  }
  if (open.length !== 1) throw new Error(`<${open.at(-1)!.name}> is never closed`)
  return root
}

export const all = (element: Element, name?: string): ReadonlyArray<Element> =>
  element.children.flatMap((child) =>
    typeof child === "string"
      ? []
      : [...(name === undefined || child.name === name ? [child] : []), ...all(child, name)]
  )
export const textOf = (element: Element): string =>
  element.children.map((child) => (typeof child === "string" ? child : textOf(child))).join("")
export const classed = (element: Element, name: string): ReadonlyArray<Element> =>
  all(element).filter((one) => (one.attributes["class"] ?? "").split(" ").includes(name))

const elements = new Set(
  words(`
  html head meta title style body header main aside section div h1 h2 p span b strong small code abbr sup time bdi ul ol li
  details summary figure figcaption table caption colgroup col thead tbody tr th td svg defs pattern g rect line path
  text tspan
`)
)
/** Faults of a page that must be self-contained; empty if none. */
export const faultsOf = (text: string): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const page = readPage(text)
  for (const { attributes, name } of all(page)) {
    if (!elements.has(name)) faults.push(`<${name}>`)
    for (const [key, value] of Object.entries(attributes)) {
      if (/^on/i.test(key) || ["style", "src", "href", "srcset", "action"].includes(key)) faults.push(`${name} ${key}`)
      if (/https?:|\/\//i.test(value) && !["xmlns", "title", "aria-label"].includes(key))
        faults.push(`${name} ${key}="${value}"`)
    }
  }
  const styles = all(page, "style"),
    [style] = styles
  const css = style === undefined ? "" : textOf(style)
  if (styles.length !== 1) faults.push(`${styles.length} style sheets`)
  if (
    /@import|https?:|expression|javascript:/i.test(css) ||
    [...css.matchAll(/url\(([^)]*)\)/g)].some(([, what]) => !what!.startsWith("#"))
  )
    faults.push("the style sheet fetches something")
  const policy =
    all(page, "meta").find((one) => one.attributes["http-equiv"] === "Content-Security-Policy")?.attributes[
      "content"
    ] ?? ""
  const hash = `'sha256-${createHash("sha256").update(css).digest("base64")}'`
  if (policy !== `default-src 'none'; style-src ${hash}; base-uri 'none'; form-action 'none'`)
    faults.push(`the policy is ${policy}`)
  if (all(page, "html")[0]?.attributes["lang"] !== "en") faults.push("no language")
  return faults
}

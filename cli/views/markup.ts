/** HTML by template literals: values are text and are escaped, except markup that another template made. */
import { createHash } from "node:crypto"
import { escaped } from "../../core/print/escape.ts"

export { escaped } from "../../core/print/escape.ts"

const made = Symbol("markup")
export interface Markup {
  readonly [made]: string
}
type Part = Markup | string | number | null | undefined | ReadonlyArray<Markup>

const markup = (text: string): Markup => ({ [made]: text })
export const nothing: Markup = markup("")
/** Markup made by a library, such as a barcode's drawing. Never for text that people typed. */
export const trusted = (text: string): Markup => markup(text)

export const html = (strings: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Markup =>
  markup(strings.reduce((text, string, at) => text + partText(parts[at - 1]) + string))
const partText = (part: Part): string => {
  if (part === null || part === undefined) return ""
  if (typeof part === "string" || typeof part === "number") return escaped(String(part))
  return isMany(part) ? part.map((one) => one[made]).join("") : part[made]
}
const isMany = (part: Markup | ReadonlyArray<Markup>): part is ReadonlyArray<Markup> => Array.isArray(part)

/** Text people typed, isolated so that right-to-left writing does not reorder the words around it. */
export const words = (text: string): Markup => html`<bdi>${text}</bdi>`
/** The same for SVG and attributes, which have no `bdi`: between Unicode isolates. */
export const isolated = (text: string): string =>
  /^[\u0000-\u024f\u2000-\u20ff]*$/.test(text) ? text : `\u2068${text}\u2069`

export interface Page {
  readonly title: string
  readonly style: string
  readonly body: Markup
}

/**
 * A whole page that stands alone: one style sheet, named by its hash in the policy, no script, nothing fetched. The
 * policy allows no attribute styles either, so pages place things by SVG attributes and classes.
 */
export const pageText = ({ body, style, title }: Page): string => {
  const hash = createHash("sha256").update(style).digest("base64")
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
${body[made]}
</html>
`
}

/** HTML by tagged templates, as self-contained pages. */
import { createHash } from "node:crypto"
import { escaped } from "../../core/pricing/print/html.ts"

// Tagged templates for HTML: values are escaped, except markup made by other templates.

const made = Symbol("markup")
export interface Markup {
  readonly [made]: string
}
type Part = Markup | string | number | null | undefined | ReadonlyArray<Markup>

const markup = (text: string): Markup => ({ [made]: text })
export const nothing: Markup = markup("")
/** Markup from a library, such as a barcode. Never for users' text. */
export const trusted = (text: string): Markup => markup(text)

export const html = (strings: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Markup =>
  markup(strings.reduce((text, string, at) => text + partText(parts[at - 1]) + string))
const partText = (part: Part): string => {
  if (part === null || part === undefined) return ""
  if (typeof part === "string" || typeof part === "number") return escaped(String(part))
  return isMany(part) ? part.map((one) => one[made]).join("") : part[made]
}
const isMany = (part: Markup | ReadonlyArray<Markup>): part is ReadonlyArray<Markup> => Array.isArray(part)

/** Users' text, isolated so that right-to-left writing does not reorder the text around it. */
export const words = (text: string): Markup => html`<bdi>${text}</bdi>`
/** Users' text, isolated for SVG and attributes, by Unicode isolates instead of `bdi`. */
export const isolated = (text: string): string =>
  /^[\u0000-\u024f\u2000-\u20ff]*$/.test(text) ? text : `\u2068${text}\u2069`

interface Page {
  readonly title: string
  readonly style: string
  readonly body: Markup
}

/**
 * A self-contained page: one style sheet, named by its hash in the policy, no script, nothing fetched. The policy
 * allows no attribute styles either, so pages position elements by SVG attributes and classes.
 */
export const pageText = ({ body, style, title }: Page): string => {
  const hash = createHash("sha256").update(style).digest("base64")
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
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

/** XML as a tree of elements, written as text in one place: the only one that escapes. */

export interface XmlElement {
  readonly name: string
  readonly attributes: { readonly [name: string]: string }
  /** Elements, or a text. */
  readonly content: ReadonlyArray<XmlElement> | string
}
type Attributes = XmlElement["attributes"]

/** An element of elements; nothing where there are none, for XML of invoices may hold no empty element. */
export const group = (
  name: string,
  ...content: ReadonlyArray<XmlElement | ReadonlyArray<XmlElement>>
): ReadonlyArray<XmlElement> => {
  const flat = content.flat()
  return flat.length === 0 ? [] : [{ name, attributes: {}, content: flat }]
}
/** An element with a text; nothing where the text is missing or blank. */
export const leaf = (
  name: string,
  text: string | null | undefined,
  attributes: Attributes = {}
): ReadonlyArray<XmlElement> =>
  text === null || text === undefined || text.trim() === "" ? [] : [{ name, attributes, content: text.trim() }]

/** Signs that XML 1.0 cannot hold, even escaped, and halves of pairs. */
const not_xml = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu
const escaped = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    .replace(not_xml, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
const inQuotes = (text: string): string => escaped(text).replaceAll('"', "&quot;").replaceAll("\n", "&#10;")

const lines = ({ attributes, content, name }: XmlElement, indent: string): string => {
  const head = `${name}${Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${inQuotes(value)}"`)
    .join("")}`
  return typeof content === "string"
    ? `${indent}<${head}>${escaped(content)}</${name}>\n`
    : `${indent}<${head}>\n${content.map((one) => lines(one, `${indent}  `)).join("")}${indent}</${name}>\n`
}

export const xmlDocument = (name: string, attributes: Attributes, content: ReadonlyArray<XmlElement>): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${lines({ name, attributes, content }, "")}`

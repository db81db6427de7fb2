/** Parses a scanned code into texts to look up, and a quantity. Pure. */
/**
 * Content of a GS1 element string from a label: `(01)05012345678900(21)A-17`, or without brackets and with FNC1 as
 * separator (GS1 General Specifications, section 3).
 */
interface Elements {
  /** Texts to look up, the most specific first. */
  readonly texts: ReadonlyArray<string>
  /** Number of pieces; undefined if the label has none. */
  readonly count: number | undefined
}

/** Length of elements of fixed length, by identifier. */
const fixed: { readonly [identifier: string]: number } = {
  "00": 18,
  "01": 14,
  "02": 14,
  "11": 6,
  "12": 6,
  "13": 6,
  "15": 6,
  "16": 6,
  "17": 6,
  "20": 2
}
const separator = "\u001d"
/** Identifiers of elements of variable length. */
const variable = new Set(["10", "21", "22", "30", "37", "240", "241", "250", "251", "8003", "8004"])

const bracketed = /\((\d{2,4})\)([^(]*)/gy
const readBracketed = (text: string): ReadonlyMap<string, string> | undefined => {
  const found = new Map<string, string>()
  bracketed.lastIndex = 0
  let end = 0
  for (let part = bracketed.exec(text); part !== null; part = bracketed.exec(text)) {
    found.set(part[1] ?? "", (part[2] ?? "").trim())
    end = bracketed.lastIndex
  }
  return found.size > 0 && end === text.length ? found : undefined
}
const readPlain = (text: string): ReadonlyMap<string, string> | undefined => {
  const found = new Map<string, string>()
  let at = text.startsWith(separator) ? 1 : 0
  while (at < text.length) {
    const short = text.slice(at, at + 2)
    const length = fixed[short]
    if (length !== undefined) {
      const value = text.slice(at + 2, at + 2 + length)
      if (value.length < length || !/^\d+$/.test(value)) return undefined
      found.set(short, value)
      at += 2 + length
      if (text[at] === separator) at++
      continue
    }
    const identifier = [2, 3, 4].map((signs) => text.slice(at, at + signs)).find((one) => variable.has(one))
    if (identifier === undefined) return undefined
    const next = text.indexOf(separator, at)
    const end = next < 0 ? text.length : next
    found.set(identifier, text.slice(at + identifier.length, end))
    at = end + 1
  }
  return found.size > 0 ? found : undefined
}

/** Parses an element string; undefined if the text is none. */
const elementsOf = (text: string): Elements | undefined => {
  const found = text.startsWith("(")
    ? readBracketed(text)
    : text.includes(separator) || /^01\d{14}(?:21|10|30|37)/.test(text)
      ? readPlain(text)
      : undefined
  if (found === undefined) return undefined
  const trade = found.get("01") ?? found.get("02")
  const asset = found.get("8004"),
    returnable = found.get("8003"),
    count = found.get("37") ?? found.get("30")
  return {
    texts: [
      // A serial number or asset number names a unit; without one the label names a product.
      ...[found.get("21"), asset, returnable, returnable?.slice(14), found.get("250"), found.get("00")].filter(
        (one): one is string => one !== undefined && one !== ""
      ),
      ...(trade === undefined ? [] : tradeNumbers(trade))
    ],
    count: count !== undefined && /^\d{1,6}$/.test(count) && found.get("21") === undefined ? Number(count) : undefined
  }
}
/** Forms of a trade item number of 14 digits, as on shorter barcodes. */
const tradeNumbers = (gtin: string): ReadonlyArray<string> => [
  gtin,
  ...[13, 12, 8].filter((digits) => /^0*$/.test(gtin.slice(0, -digits))).map((digits) => gtin.slice(-digits))
]

/** Content of a code, before any lookup. */
export interface ReadCode {
  /** Scanned text without quantity. */
  readonly code: string
  /** Quantity in the code, as in `CABLE*5` or `5 x CABLE`; such codes name a product. */
  readonly quantity: number | undefined
  /** Texts to look up, the most specific first. */
  readonly texts: ReadonlyArray<string>
}

/** Symbology identifier that some scanners send before the code: `]C1` for Code 128, `]Q1` for QR. */
const symbology = /^\][A-Za-z]\d/
const counted_after = /^(.+?)\s*\*\s*(\d{1,6})$/s
const counted_before = /^(\d{1,6})\s*[x×*]\s+(\S.*)$/is
export const readCode = (scanned: string): ReadCode => {
  const text = scanned.trim().replace(symbology, "")
  const after = counted_after.exec(text),
    before = counted_before.exec(text)
  const code = after?.[1] ?? before?.[2] ?? text
  const count = after?.[2] ?? before?.[1]
  const elements = elementsOf(code)
  const last_of_address = /^https?:\/\/[^?#]*\/([^/?#]+)\/?(?:[?#].*)?$/i.exec(code)?.[1]
  return {
    code,
    quantity: count === undefined ? elements?.count : Number(count),
    texts: [
      ...new Set([
        code,
        ...(elements?.texts ?? []),
        ...(last_of_address === undefined ? [] : [decoded(last_of_address)])
      ])
    ]
  }
}
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Code on labels of containers without their own. A bare number would be ambiguous with typed ones. */
export const containerCode = (id: number): string => `container:${id}`
export const unitCode = (id: number): string => `unit:${id}`
export const containerIdIn = (text: string): number | undefined => idAfter("container", text)
export const unitIdIn = (text: string): number | undefined => idAfter("unit", text)
const idAfter = (word: string, text: string): number | undefined => {
  const [, before = "", id] = /^([a-z]+):([1-9]\d{0,14})$/i.exec(text.trim()) ?? []
  return before.toLowerCase() === word && id !== undefined ? Number(id) : undefined
}

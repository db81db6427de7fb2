/** What a scanned code says by itself: its texts, and a quantity where one is given with it. Pure. */
import { elementsOf } from "./gs1.ts"

/** What a code says before anything is looked up. */
export interface ReadCode {
  /** As it was scanned, without a quantity. */
  readonly code: string
  /** Given with it, as `CABLE*5` or `5 x CABLE`; a code with a quantity names a product. */
  readonly quantity: number | undefined
  /** Texts to look for, the likeliest first. */
  readonly texts: ReadonlyArray<string>
}

/** A sign before the code that some scanners send: `]C1` for Code 128, `]Q1` for QR. */
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

/** On labels of what no code of its own names alone: a bare number is no code, as people type numbers. */
export const containerCode = (id: number): string => `container:${id}`
export const unitCode = (id: number): string => `unit:${id}`
export const containerIdIn = (text: string): number | undefined => idAfter("container", text)
export const unitIdIn = (text: string): number | undefined => idAfter("unit", text)
const idAfter = (word: string, text: string): number | undefined => {
  const [, before = "", id] = /^([a-z]+):([1-9]\d{0,14})$/i.exec(text.trim()) ?? []
  return before.toLowerCase() === word && id !== undefined ? Number(id) : undefined
}

/** As a code may be written: how it was typed, and in one case. */
export const codeForms = (text: string): ReadonlyArray<string> => [
  ...new Set([text, text.toUpperCase(), text.toLowerCase()])
]

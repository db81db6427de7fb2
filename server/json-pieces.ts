/**
 * Parses JSON too long to be parsed at once, as no other request would be served meanwhile. A long list or object is
 * split at its commas; long members are split again, short ones are parsed several at a time. Other requests are served
 * between the pieces.
 */
import { setImmediate } from "node:timers/promises"
import { TooDeep } from "../core/kernel/body-limits.ts"
import type { Json } from "../core/kernel/json.ts"

/** Characters parsed at once, and scanned before other requests are served. */
const piece_chars = 131_072

const [quotation, backslash, comma] = [0x22, 0x5c, 0x2c]

/** Parses JSON without keys named `__proto__`: one would change what an object is when it is copied key by key. */
export const parsePlain = (text: string): Json => {
  const reviver = /__proto__|\\u/.test(text)
    ? (key: string, value: Json) => (key === "__proto__" ? undefined : value)
    : undefined
  // What the parser makes is JSON.
  const value: Json = JSON.parse(text, reviver)
  return value
}

/**
 * The same value as parsing the whole text at once. Rejects with a SyntaxError where that would throw one, and with
 * TooDeep for what nests deeper than `depth_max` levels.
 */
export const parseInPieces = async (text: string, depth_max: number): Promise<Json> => {
  const whole = text.trim()
  const list = whole.startsWith("[")
  // Short, or one long text, or nothing that holds anything.
  if (whole.length <= piece_chars || (!list && !whole.startsWith("{"))) return parsePlain(whole)
  const items: Array<Json> = []
  const members: { [key: string]: Json } = {}
  for await (const piece of piecesOf(whole, list ? "]" : "}", depth_max)) {
    if (piece.trim() === "") throw new SyntaxError("a comma too many")
    if (piece.length > piece_chars && list) items.push(await parseInPieces(piece, depth_max - 1))
    else if (piece.length > piece_chars) {
      const [key, value] = memberOf(piece)
      const inner = await parseInPieces(value, depth_max - 1)
      if (key !== "__proto__") members[key] = inner
    } else if (list) for (const item of parsePlain(`[${piece}]`) as ReadonlyArray<Json>) items.push(item)
    else Object.assign(members, parsePlain(`{${piece}}`))
  }
  return list ? items : members
}

/**
 * The text between the brackets: long members one by one, short ones together. Each part is shorter than a piece, or
 * one member.
 */
async function* piecesOf(text: string, end: "]" | "}", depth_max: number): AsyncGenerator<string> {
  if (text.endsWith(end) && text.slice(1, -1).trim() === "") return
  let from = 1,
    member = 1,
    depth = 0,
    inText = false,
    turn = piece_chars
  for (let at = 0; at < text.length; at++) {
    if (at >= turn) {
      turn = at + piece_chars
      await setImmediate()
    }
    const char = text.charCodeAt(at)
    if (inText) {
      if (char === backslash) at++
      else if (char === quotation) inText = false
      continue
    }
    if (char === quotation) inText = true
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > depth_max) throw new TooDeep(depth_max)
    } else if (char === 0x5d || char === 0x7d) depth--
    const isLast = at === text.length - 1
    if (depth === 0 && !isLast) throw new SyntaxError(`Unexpected character after JSON at position ${at + 1}`)
    if (isLast || (char === comma && depth === 1)) {
      if (isLast && (depth !== 0 || text[at] !== end)) throw new SyntaxError("Unexpected end of JSON")
      // What came before this member is a piece of its own when the two are too long together.
      if (at - from > piece_chars && member > from) {
        yield text.slice(from, member - 1)
        from = member
      }
      if (at - from > piece_chars || isLast) {
        yield text.slice(from, at)
        from = at + 1
      }
      member = at + 1
    }
  }
}

/** A member as its name and the text of its value. */
const memberOf = (text: string): readonly [key: string, value: string] => {
  const begin = text.search(/\S/)
  let end = begin + 1
  while (end < text.length && text.charCodeAt(end) !== quotation) end += text.charCodeAt(end) === backslash ? 2 : 1
  const key: unknown = JSON.parse(text.slice(begin, end + 1))
  const colon = text.slice(end + 1, end + 1 + piece_chars).search(/\S/) + end + 1
  if (typeof key !== "string" || text[colon] !== ":") throw new SyntaxError("a name without a value")
  return [key, text.slice(colon + 1)]
}

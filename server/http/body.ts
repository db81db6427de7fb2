/** Reads a request's body into plain data, or into the rejection to respond with. */
import { setImmediate } from "node:timers/promises"
import { body_depth_max, invalidField, isDeeperThan, json_body_bytes_max, Rejection } from "../../core/kernel/index.ts"
import { TooDeep, wire_body_depth_max, type Json, type Request } from "../../core/kernel/index.ts"

// Parses long JSON without blocking other requests. A long list or object is split at its commas; long members are
// split again, short ones are parsed several at a time. Other requests are served between the pieces.

/** Characters parsed at once, and scanned before other requests are served. */
const piece_chars = 131_072

const [quotation, backslash, comma] = [0x22, 0x5c, 0x2c]

/** Parses JSON without keys named `__proto__`, which would change an object's prototype when it is copied by key. */
export const parsePlain = (text: string): Json => {
  const reviver = /__proto__|\\u/.test(text)
    ? (key: string, value: Json) => (key === "__proto__" ? undefined : value)
    : undefined
  // The parser's result is JSON.
  const value: Json = JSON.parse(text, reviver)
  return value
}

/**
 * Parses JSON in pieces. Rejects with a SyntaxError like `JSON.parse`, and, if longer than a piece, with TooDeep beyond
 * `depth_max` levels.
 */
export const parseInPieces = async (text: string, depth_max: number): Promise<Json> => {
  const whole = text.trim()
  const end = closing[whole[0] ?? ""]
  // Short texts, and those that are neither list nor object, are parsed at once.
  if (whole.length <= piece_chars || end === undefined) return parsePlain(whole)
  const items: Array<Json> = []
  const members: { [key: string]: Json } = {}
  for await (const piece of piecesOf(whole, end, depth_max)) {
    if (piece.trim() === "") throw new SyntaxError("a comma too many")
    const is_long = piece.length > piece_chars
    if (end === "}") Object.assign(members, is_long ? await longMember(piece, depth_max - 1) : parsePlain(`{${piece}}`))
    else if (is_long) items.push(await parseInPieces(piece, depth_max - 1))
    else for (const item of parsePlain(`[${piece}]`) as ReadonlyArray<Json>) items.push(item)
  }
  return end === "]" ? items : members
}
const closing: { readonly [opening: string]: "]" | "}" } = { "[": "]", "{": "}" }

/**
 * Yields the text between the brackets in parts: long members one by one, short ones together. Each is at most a piece,
 * or one member.
 */
async function* piecesOf(text: string, end: "]" | "}", depth_max: number): AsyncGenerator<string> {
  if (text.endsWith(end) && text.slice(1, -1).trim() === "") return
  const nextEnd = memberEnds(text, end, depth_max)
  let from = 1
  for (let member = 1; member < text.length;) {
    const at = nextEnd()
    if (at === undefined) {
      await setImmediate()
      continue
    }
    // Starts a new piece if the earlier members and this one are too long together.
    if (at - from > piece_chars && member > from) {
      yield text.slice(from, member - 1)
      from = member
    }
    member = at + 1
    if (at - from > piece_chars || member === text.length) {
      yield text.slice(from, at)
      from = member
    }
  }
}
/** Finds where the members of a list or object end, one each call; undefined where others are to be served first. */
const memberEnds = (text: string, end: "]" | "}", depth_max: number): (() => number | undefined) => {
  let at = -1,
    depth = 0,
    turn = piece_chars
  return () => {
    while (++at < turn) {
      const char = text.charCodeAt(at)
      if (char === quotation) at = endOfText(text, at)
      depth += levelOf(char)
      if (depth > depth_max) throw new TooDeep(depth_max)
      const is_last = at >= text.length - 1
      if (is_last && (depth !== 0 || text[at] !== end)) throw new SyntaxError("Unexpected end of JSON")
      if (is_last || (char === comma && depth === 1)) return at
      if (depth === 0) throw new SyntaxError(`Unexpected character after JSON at position ${at + 1}`)
    }
    turn = at-- + piece_chars
    return undefined
  }
}
const levelOf = (char: number): number => (char === 0x5b || char === 0x7b ? 1 : char === 0x5d || char === 0x7d ? -1 : 0)

/** Index of the quotation mark that closes the text opened at `begin`; at or beyond the end if none does. */
const endOfText = (text: string, begin: number): number => {
  let end = begin + 1
  while (end < text.length && text.charCodeAt(end) !== quotation) end += text.charCodeAt(end) === backslash ? 2 : 1
  return end
}

/** A member that is parsed in pieces, as an object of its own; empty for `__proto__`. */
const longMember = async (text: string, depth_max: number): Promise<{ readonly [key: string]: Json }> => {
  const [key, value] = memberOf(text)
  const inner = await parseInPieces(value, depth_max)
  return key === "__proto__" ? {} : { [key]: inner }
}
/** Splits an object's member into its name and the text of its value. */
const memberOf = (text: string): readonly [key: string, value: string] => {
  const begin = text.search(/\S/)
  const end = endOfText(text, begin)
  const key: unknown = JSON.parse(text.slice(begin, end + 1))
  const colon = text.slice(end + 1, end + 1 + piece_chars).search(/\S/) + end + 1
  if (typeof key !== "string" || text[colon] !== ":") throw new SyntaxError("a name without a value")
  return [key, text.slice(colon + 1)]
}

export type ReadBody = Pick<Request, "body" | "body_fault" | "files" | "raw_bytes" | "raw_text">

export const tooLarge = (max: number): Rejection =>
  new Rejection({ kind: "too_large", message: `The body must not be longer than ${max} bytes.` })
const unsupported = (takes: string): Rejection =>
  new Rejection({ kind: "unsupported", message: `The content type must be ${takes}.` })
export const malformed = (text: string): ReadBody => ({ body: undefined, body_fault: invalidField("body", text) })

interface BodyOptions {
  readonly uploads: boolean
  readonly raw_body?: boolean
  /** Maximum body size in bytes, if the endpoint has its own: such bodies may nest deeper. */
  readonly body_max?: number | undefined
}

/** The media type without parameters; JSON by default. */
export const mediaType = (content_type: string | undefined): string =>
  (content_type ?? "application/json").replace(/;.*/s, "").trim().toLowerCase()

/** Reads a body's bytes by its content type, JSON by default; `form.ts` reads forms. */
export const readBody = async (
  bytes: Uint8Array,
  content_type: string | undefined,
  { uploads, raw_body, body_max }: BodyOptions
): Promise<ReadBody> => {
  if (raw_body) return { body: undefined, raw_bytes: bytes }
  if (bytes.length === 0) return { body: undefined }
  const type = mediaType(content_type)
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(content_type ?? "")?.[1]?.toLowerCase()
  if (
    !/^application\/([\w.+-]+\+)?json$/.test(type) ||
    (charset !== undefined && charset !== "utf-8" && charset !== "utf8")
  ) {
    return {
      body: undefined,
      body_fault: unsupported(uploads ? "application/json or multipart/form-data" : "application/json")
    }
  }
  return readJson(bytes, body_max === undefined ? body_depth_max : wire_body_depth_max)
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const readJson = async (bytes: Uint8Array, depth_max: number): Promise<ReadBody> => {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return malformed("The body is not valid UTF-8.")
  }
  if (text.trim() === "") return { body: undefined }
  try {
    if (text.length > json_body_bytes_max) return { body: await parseInPieces(text, depth_max) }
    if (isDeeperThan(text, depth_max)) throw new TooDeep(depth_max)
    return { raw_text: text, body: parsePlain(text) }
  } catch (cause) {
    if (cause instanceof TooDeep) return malformed(`The body must not nest deeper than ${depth_max} levels.`)
    // A long body is parsed in pieces, so the fault's position in it is unknown.
    return malformed(`The body is not valid JSON${text.length > json_body_bytes_max ? "" : whereIn(cause)}.`)
  }
}
const whereIn = (cause: unknown): string => {
  const found = cause instanceof Error ? /position (\d+)/.exec(cause.message) : null
  return found === null ? "" : ` (at character ${Number(found[1]) + 1})`
}

// Limits the bytes of long bodies in memory at a time: each is held several times over until it is answered.

/** Default budget: one body of maximum size and some shorter ones. */
const long_bodies_bytes_max = 96 * 1_048_576

export interface BodyBudget {
  /**
   * Reserves bytes for a body and returns the function that releases them; undefined when too few are left, but never
   * for the only long body. Bodies within the ordinary limit are not counted.
   */
  readonly take: (bytes: number) => (() => void) | undefined
}

export const makeBodyBudget = (bytes_max = long_bodies_bytes_max): BodyBudget => {
  let taken = 0
  return {
    take: (bytes) => {
      if (bytes <= json_body_bytes_max) return () => {}
      if (taken > 0 && taken + bytes > bytes_max) return undefined
      taken += bytes
      return () => {
        taken -= bytes
        bytes = 0
      }
    }
  }
}

/** How long and how deep a request's body may be, wherever it comes from: HTTP, a device or a file. */
import { isParsedJson, type Json } from "./json.ts"

export const json_body_bytes_max = 1_048_576
/** The longest file in a form, in bytes, where its endpoint says nothing else (rules/members-activities 4). */
export const upload_bytes_max = 20_480 * 1_024
/** Depth of objects and lists; readers of bodies go as deep. */
export const body_depth_max = 64
/** Messages between device and server contain bodies, and the events made from them. */
export const wire_body_depth_max = 2 * body_depth_max

/** Counts brackets outside of texts; parsing itself does not recurse, but code that walks the result does. */
export const isDeeperThan = (text: string, max: number): boolean => {
  if (text.length <= max) return false
  let depth = 0
  let inText = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (inText) {
      if (char === 0x5c) at++
      else if (char === 0x22) inText = false
    } else if (char === 0x22) inText = true
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > max) return true
    } else if (char === 0x5d || char === 0x7d) depth--
  }
  return false
}
export class TooDeep extends SyntaxError {
  constructor(max: number) {
    super(`it nests deeper than ${max} levels`)
  }
}

/** Parses external text; a SyntaxError has the reason, excessive depth included. */
export const parseJson = (text: string, depth_max = body_depth_max): Json => {
  if (isDeeperThan(text, depth_max)) throw new TooDeep(depth_max)
  const value: unknown = JSON.parse(text)
  if (!isParsedJson(value)) throw new SyntaxError("it is no JSON")
  return value
}

/** Whether its JSON is longer than `max` characters, without serialising it. */
export const isLongerThan = (value: Json, max: number): boolean => {
  let left = max
  const fits = (one: Json): boolean => {
    if (typeof one === "string") left -= one.length + 2
    else if (typeof one !== "object" || one === null) left -= String(one).length
    else if (Array.isArray(one)) {
      left -= 2 + Math.max(0, one.length - 1)
      return left >= 0 && one.every(fits)
    } else
      for (const [key, inner] of Object.entries(one)) {
        left -= key.length + 4
        if (left < 0 || !fits(inner)) return false
      }
    return left >= 0
  }
  return !fits(value)
}

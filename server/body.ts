/** Reads a request's body into plain data, or into the rejection it will be answered with. */
import type { Request } from "../core/kernel/endpoint.ts"
import {
  body_depth_max,
  isDeeperThan,
  json_body_bytes_max,
  TooDeep,
  wire_body_depth_max
} from "../core/kernel/body-limits.ts"
import { invalidField, Rejection } from "../core/kernel/rejection.ts"
import { parseInPieces, parsePlain } from "./json-pieces.ts"

export type ReadBody = Pick<Request, "body" | "body_fault" | "files" | "raw_bytes" | "raw_text">

export const tooLarge = (max: number): Rejection =>
  new Rejection({ kind: "too_large", message: `The body must not be longer than ${max} bytes.` })
const unsupported = (takes: string): Rejection =>
  new Rejection({ kind: "unsupported", message: `The content type must be ${takes}.` })
export const malformed = (text: string): ReadBody => ({ body: undefined, body_fault: invalidField("body", text) })

export interface BodyOptions {
  readonly uploads: boolean
  readonly raw_body?: boolean
  /** The longest body in bytes, where that is more than usual: such bodies contain other bodies. */
  readonly body_max?: number | undefined
}

/** The type without its parameters; JSON where none is given. */
export const mediaType = (content_type: string | undefined): string =>
  (content_type ?? "application/json").split(";", 1)[0]!.trim().toLowerCase()

/** Reads the bytes of a body as its content type says, JSON where none is given; `form.ts` reads forms. */
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
    // A long body is read in pieces, so the position of the fault in the whole is not known.
    return malformed(`The body is not valid JSON${text.length > json_body_bytes_max ? "" : whereIn(cause)}.`)
  }
}
const whereIn = (cause: unknown): string => {
  const found = cause instanceof Error ? /position (\d+)/.exec(cause.message) : null
  return found === null ? "" : ` (at character ${Number(found[1]) + 1})`
}

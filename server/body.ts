/** What was sent as a body, read into plain data; what is wrong with it as the refusal it will be answered with. */
import type { Request, UploadedFile } from "../core/kernel/endpoint.ts"
import type { Json } from "../core/kernel/json.ts"
import { invalidField, Rejection } from "../core/kernel/rejection.ts"

export type ReadBody = Pick<Request, "body" | "body_fault" | "files" | "written">

/** The longest JSON body, in bytes. */
export const json_body_max = 1_048_576
/** Objects and lists within each other; what reads bodies goes down as deep. */
export const body_depth_max = 64

export const tooLarge = (max: number): Rejection =>
  new Rejection({ kind: "too_large", message: `The body must not be longer than ${max} bytes.` })
const unsupported = (takes: string): Rejection => new Rejection({ kind: "unsupported", message: `The content type must be ${takes}.` })
const malformed = (text: string): ReadBody => ({ body: undefined, body_fault: invalidField("body", text) })

export interface BodyOptions { readonly uploads: boolean }

/** Reads the bytes of a body as its content type says. JSON is assumed when none is given. */
export const readBody = async (bytes: Uint8Array, content_type: string | undefined, { uploads }: BodyOptions): Promise<ReadBody> => {
  if (bytes.length === 0) return { body: undefined }
  const type = (content_type ?? "application/json").split(";", 1)[0]!.trim().toLowerCase()
  if (uploads && type === "multipart/form-data") return readForm(bytes, content_type!)
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(content_type ?? "")?.[1]?.toLowerCase()
  if (!/^application\/([\w.+-]+\+)?json$/.test(type) || (charset !== undefined && charset !== "utf-8" && charset !== "utf8")) {
    return { body: undefined, body_fault: unsupported(uploads ? "application/json or multipart/form-data" : "application/json") }
  }
  return readJson(bytes)
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const readJson = (bytes: Uint8Array): ReadBody => {
  let text: string
  try { text = utf8.decode(bytes) } catch { return malformed("The body is not valid UTF-8.") }
  if (text.trim() === "") return { body: undefined }
  if (isDeeperThan(text, body_depth_max)) return malformed(`The body must not nest deeper than ${body_depth_max} levels.`)
  try {
    // A key `__proto__` would change what an object is when it is copied key by key; none of ours is called so.
    return { written: text, body: (/__proto__|\\u/.test(text) ? JSON.parse(text, (key, value) => key === "__proto__" ? undefined : value) : JSON.parse(text)) as Json }
  } catch (cause) {
    return malformed(`The body is not valid JSON${whereIn(cause)}.`)
  }
}
const whereIn = (cause: unknown): string => {
  const found = cause instanceof Error ? /position (\d+)/.exec(cause.message) : null
  return found === null ? "" : ` (at character ${Number(found[1]) + 1})`
}

/** Counts brackets outside of texts; parsing does not go deep itself, but whoever walks the result does. */
const isDeeperThan = (text: string, max: number): boolean => {
  if (text.length <= max) return false
  let depth = 0
  let inText = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (inText) {
      if (char === 0x5c) at++
      else if (char === 0x22) inText = false
    } else if (char === 0x22) inText = true
    else if (char === 0x5b || char === 0x7b) { if (++depth > max) return true }
    else if (char === 0x5d || char === 0x7d) depth--
  }
  return false
}

/** A form: its files by field, the rest as texts; of a field given twice, the last. */
const readForm = async (bytes: Uint8Array, content_type: string): Promise<ReadBody> => {
  let form: FormData
  try {
    form = await new Response(new Uint8Array(bytes), { headers: { "content-type": content_type } }).formData()
  } catch { return malformed("The form is not valid multipart/form-data.") }
  const body: Array<readonly [string, Json]> = []
  const files: Array<readonly [string, UploadedFile]> = []
  for (const [name, value] of form) {
    if (typeof value === "string") body.push([name, value])
    else files.push([name, { name: value.name, type: value.type, bytes: new Uint8Array(await value.arrayBuffer()) }])
  }
  // From pairs, not by assignment: a field may be called __proto__.
  return { body: Object.fromEntries(body), files: Object.fromEntries(files) }
}

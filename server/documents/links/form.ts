/** A small form without files: urlencoded, multipart, or JSON. Of a field that comes twice, the first counts. */
import * as MultipartParser from "effect/http/MultipartParser"
import { parseJson } from "../../../core/kernel/body-limits.ts"
import { isJsonObject } from "../../../core/kernel/json.ts"
import { mediaType } from "../../body.ts"
import { form_bytes_max } from "./limits.ts"

const fields_max = 20

export type Form = ReadonlyMap<string, string>

const first = (pairs: Iterable<readonly [string, string]>): Form => {
  const form = new Map<string, string>()
  for (const [name, value] of pairs) if (!form.has(name) && form.size < fields_max) form.set(name, value)
  return form
}
const textOf = (bytes: Uint8Array): string => new TextDecoder("utf-8").decode(bytes)

/** Undefined where it is none of these. */
export const readSmallForm = (bytes: Uint8Array, content_type: string): Form | undefined => {
  switch (mediaType(content_type || "application/x-www-form-urlencoded")) {
    case "application/x-www-form-urlencoded":
      return first(new URLSearchParams(textOf(bytes)))
    case "multipart/form-data":
      return multipart(bytes, content_type)
    case "application/json":
      return json(bytes)
    default:
      return undefined
  }
}
const multipart = (bytes: Uint8Array, content_type: string): Form | undefined => {
  const pairs: Array<readonly [string, string]> = []
  let is_broken = false
  const parser = MultipartParser.make({
    headers: { "content-type": content_type },
    maxParts: fields_max,
    maxFieldSize: form_bytes_max,
    onField: ({ name }, value) => void pairs.push([name, textOf(value)]),
    // A file is nothing this form has.
    onFile: () => () => {},
    onError: () => {
      is_broken = true
    },
    onDone: () => {}
  })
  parser.write(bytes)
  parser.end()
  return is_broken ? undefined : first(pairs)
}
const json = (bytes: Uint8Array): Form | undefined => {
  try {
    const value = parseJson(textOf(bytes))
    return isJsonObject(value)
      ? first(
          Object.entries(value).map(
            ([name, one]) => [name, typeof one === "string" ? one : one === true ? "1" : String(one ?? "")] as const
          )
        )
      : undefined
  } catch {
    return undefined
  }
}

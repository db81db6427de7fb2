/** What commands are given in files and on standard input. */
import type { UploadedFile } from "../core/kernel/endpoint.ts"
import { parseJson } from "../core/kernel/body.ts"
import type { Json } from "../core/kernel/json.ts"
import { misused } from "./exits.ts"

/** All of standard input, as text. */
export const standardInput = async (): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

/** `JSON`, `@FILE` or `@-` → what it holds; undefined when nothing was given. */
export const jsonArgument = async (given: string | undefined, flag: string): Promise<Json | undefined> => {
  if (given === undefined) return undefined
  const text = given === "@-" ? await standardInput()
    : given.startsWith("@") ? await (await import("node:fs/promises")).readFile(given.slice(1), "utf8")
    : given
  try { return parseJson(text.replace(/^\ufeff/, "")) } catch (cause) {
    throw misused(`${flag} is no JSON: ${cause instanceof Error ? cause.message : String(cause)}.`)
  }
}

/** The lines of a file, or of standard input, one by one as they come; blank ones left out. */
export async function* linesOf(file: string | undefined): AsyncGenerator<string> {
  const { createInterface } = await import("node:readline")
  const input = file === undefined || file === "-" ? process.stdin : (await import("node:fs")).createReadStream(file)
  const opened = file === undefined || file === "-" ? undefined : new Promise<never>((_, reject) => input.once("error", reject))
  const lines = createInterface({ input, crlfDelay: Infinity })[Symbol.asyncIterator]()
  for (;;) {
    const next = await (opened === undefined ? lines.next() : Promise.race([lines.next(), opened]))
    if (next.done === true) return
    const line = next.value.replace(/^\ufeff/, "").trim()
    if (line !== "") yield line
  }
}

const types: { readonly [ending: string]: string } = {
  pdf: "application/pdf", png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", svg: "image/svg+xml",
  txt: "text/plain", csv: "text/csv", json: "application/json", zip: "application/zip", doc: "application/msword",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document", xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
}
export const uploadedFile = async (path: string): Promise<UploadedFile> => {
  const [{ readFile }, { basename, extname }] = await Promise.all([import("node:fs/promises"), import("node:path")])
  return { name: basename(path), type: types[extname(path).slice(1).toLowerCase()] ?? "application/octet-stream", bytes: new Uint8Array(await readFile(path)) }
}

/** Reads what commands are given in files and on standard input. */
import type { UploadedFile } from "../core/kernel/endpoint.ts"
import { parseJson } from "../core/kernel/body-limits.ts"
import type { Json } from "../core/kernel/json.ts"
import { usageError } from "./exit-codes.ts"
import { bytesOf, typedLinesIn } from "./line-reader.ts"

/** All of standard input, as text. */
export const standardInput = async (): Promise<string> => {
  const chunks: Array<Uint8Array> = []
  for await (const part of bytesOf(process.stdin)) chunks.push(part)
  return Buffer.concat(chunks).toString("utf8")
}

/** The JSON of a flag: the text itself, `@FILE`, or `@-` for standard input. Exit 2 where it is no JSON. */
export const jsonArgument = async (given: string | undefined, flag: string): Promise<Json | undefined> => {
  if (given === undefined) return undefined
  const text =
    given === "@-"
      ? await standardInput()
      : given.startsWith("@")
        ? await (await import("node:fs/promises")).readFile(given.slice(1), "utf8")
        : given
  try {
    return parseJson(text.replace(/^\ufeff/, ""))
  } catch (cause) {
    throw usageError(`${flag} is no JSON: ${cause instanceof Error ? cause.message : String(cause)}.`)
  }
}

/** The lines of a file, or of standard input, one by one as they come; blank ones left out. */
export async function* linesOf(file: string | undefined): AsyncGenerator<string> {
  const input = file === undefined || file === "-" ? process.stdin : (await import("node:fs")).createReadStream(file)
  for await (const typed of typedLinesIn(input)) {
    const line = typed.trim()
    if (line !== "") yield line
  }
}

/** A file on this machine that a request sends. */
export interface LocalFile extends UploadedFile {
  readonly path: string
}
/** Its type is told by whoever keeps it. */
export const localFile = async (path: string): Promise<LocalFile> => {
  const [{ createReadStream }, { stat }, { basename }, { createHash }] = await Promise.all([
    import("node:fs"),
    import("node:fs/promises"),
    import("node:path"),
    import("node:crypto")
  ])
  const hash = createHash("sha256")
  for await (const part of createReadStream(path)) hash.update(part)
  return {
    name: basename(path),
    mime_type: "application/octet-stream",
    size_bytes: (await stat(path)).size,
    sha256: hash.digest("hex"),
    path
  }
}

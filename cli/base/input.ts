/** Reads the input of commands from files and standard input. */
import { parseJson, type Json, type UploadedFile } from "../../core/kernel/index.ts"
import { usageError } from "./exit-codes.ts"
import { bytesOf, typedLinesIn } from "./line-reader.ts"

export const standardInput = async (): Promise<string> => {
  const chunks: Array<Uint8Array> = []
  for await (const part of bytesOf(process.stdin)) chunks.push(part)
  return Buffer.concat(chunks).toString("utf8")
}

/** JSON from a flag's value, `@FILE`, or `@-` for standard input. Exit 2 if invalid. */
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

/** Trimmed lines of a file, or of standard input (also for `-`), as they arrive; without blank ones. */
export async function* linesOf(file: string | undefined): AsyncGenerator<string> {
  const input = file === undefined || file === "-" ? process.stdin : (await import("node:fs")).createReadStream(file)
  for await (const typed of typedLinesIn(input)) {
    const line = typed.trim()
    if (line !== "") yield line
  }
}

export interface LocalFile extends UploadedFile {
  readonly path: string
}
/** Reads a local file; its type is detected from its content. Exit 2 if it cannot be read. */
export const localFile = async (path: string): Promise<LocalFile> => {
  const [{ createReadStream }, { basename }, { createHash }, { sample_bytes, typeOfContent }] = await Promise.all([
    import("node:fs"),
    import("node:path"),
    import("node:crypto"),
    import("../../server/files/content-type.ts")
  ])
  const hash = createHash("sha256")
  const sample = new Uint8Array(sample_bytes)
  let size_bytes = 0
  try {
    for await (const part of bytesOf(createReadStream(path))) {
      if (size_bytes < sample_bytes) sample.set(part.subarray(0, sample_bytes - size_bytes), size_bytes)
      size_bytes += part.length
      hash.update(part)
    }
  } catch (cause) {
    throw usageError(unreadable(path, cause), "Give the path of a file that may be read.")
  }
  const mime_type = await typeOfContent(sample.subarray(0, size_bytes))
  return { name: basename(path), mime_type, size_bytes, sha256: hash.digest("hex"), path }
}
const unreadable = (path: string, cause: unknown): string => {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  return code === "ENOENT"
    ? `There is no file ${path}.`
    : code === "EISDIR"
      ? `${path} is a folder, not a file.`
      : `${path} cannot be read (${String(code ?? cause)}).`
}

/** Putting a picture where it was asked for: whole or not at all. */
import { randomBytes } from "node:crypto"
import { realpath, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { CommandContext } from "../context.ts"
import { usageError } from "../exit-codes.ts"

/** Where `--html` may lead: `-` is standard output, which then holds nothing else. */
export const checkOutputPath = (context: CommandContext, file: string, flag = "--html"): void => {
  if (file === "") throw usageError(`${flag}: give a file, or - for standard output.`)
  if (file === "-" && context.options.json === true)
    throw usageError(`${flag} - and --json would both write to standard output.`, `Give ${flag} a file.`)
}

/** `-` goes to standard output. A file is written beside its place and moved there: readers see the old one or the new one. */
export const writeView = async (
  context: CommandContext,
  file: string,
  text: string,
  flag = "--html"
): Promise<void> => {
  if (file === "-") return context.printContent(text)
  try {
    await writeAtomically(file, text)
  } catch (error) {
    const why = error instanceof Error && "code" in error ? reasons[String(error.code)] : undefined
    if (why === undefined) throw error
    throw usageError(`${flag}: ${file} cannot be written: ${why}.`)
  }
  context.note(`Wrote ${file}.`)
}
const reasons: { readonly [code: string]: string } = {
  EISDIR: "it is a folder",
  ENOENT: "its folder does not exist",
  ENOTDIR: "part of its path is a file",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  ENAMETOOLONG: "the name is too long"
}

export const writeAtomically = async (file: string, text: string): Promise<void> => {
  const there = await stat(file).catch(() => undefined)
  // A device or a pipe is written to as it is; a folder says so.
  if (there !== undefined && !there.isFile()) return writeFile(file, text)
  // A link stays a link: what it leads to is replaced.
  const place = there === undefined ? file : await realpath(file)
  const beside = join(dirname(place), `.${randomBytes(6).toString("hex")}.part`)
  try {
    await writeFile(beside, text, {
      flag: "wx",
      flush: true,
      ...(there === undefined ? {} : { mode: there.mode & 0o777 })
    })
    await rename(beside, place)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}

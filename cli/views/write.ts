/** Writes a page to the requested file, completely or not at all. */
import { randomBytes } from "node:crypto"
import { realpath, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { CommandContext } from "../context/context.ts"
import { usageError } from "../base/exit-codes.ts"

/** Exit 2 where a page and JSON would both go to standard output. */
export const checkOutputPath = (context: CommandContext, file: string, flag = "--html"): void => {
  if (file === "") throw usageError(`${flag}: give a file, or - for standard output.`)
  if (file === "-" && context.options.json === true)
    throw usageError(`${flag} - and --json would both write to standard output.`, `Give ${flag} a file.`)
}

/** Writes to standard output for `-`. A file is written under another name and renamed: readers see the old one or the new. */
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
  // A device or a pipe cannot be replaced; a folder fails with EISDIR.
  if (there !== undefined && !there.isFile()) return writeFile(file, text)
  // A link stays; the file it points to is replaced.
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

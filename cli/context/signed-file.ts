/** Waits for jobs at the server; downloads files by their signed URLs, and writes them. */
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import { setTimeout } from "node:timers/promises"
import { shownFileName } from "../../core/values/file-name.ts"
import type { CommandContext } from "./context.ts"
import { type Row, rowIn } from "../base/answers.ts"
import { CliError, exit_codes, usageError } from "../base/exit-codes.ts"
import { progressOf } from "./print.ts"

/**
 * Asks the server for a job until it is done or failed, or `wait_millis` have passed, and returns it. Shows its
 * progress as that of `doing`, out of `total`.
 */
export const endedJob = async (
  context: CommandContext,
  job_id: string,
  { doing, total = 100, wait_millis = Infinity }: { doing?: string; total?: number; wait_millis?: number }
): Promise<Row<"job">> => {
  const progress = progressOf(context)
  const path = `/api/v1/system/jobs/${encodeURIComponent(job_id)}`
  const until = performance.now() + wait_millis
  try {
    for (let pause = 100; ; pause = Math.min(500, pause * 2)) {
      const job = rowIn((await context.askServer({ method: "GET", path })).body, "job")
      if (job.status === "done" || job.status === "failed" || performance.now() > until) return job
      if (doing !== undefined) progress.at(doing, Math.round((job.progress ?? 0) * total), total)
      await setTimeout(pause)
    }
  } finally {
    progress.end()
  }
}

interface SignedFile {
  readonly content: Uint8Array
  /** Name in the response; undefined if it has none. */
  readonly name: string | undefined
}
/** Downloads a file, and checks it against `sha256`, else against the hash in the response. */
export const signedFile = async (context: CommandContext, url: string, sha256?: string): Promise<SignedFile> => {
  const address = new URL(url)
  // Only path and signature are used, as the server may be reached under another URL than its own.
  const query = [...address.searchParams]
  const file = await context.askServer({ method: "GET", path: address.pathname, query })
  const content =
    file.content !== undefined && "text" in file.content ? Buffer.from(file.content.text) : Buffer.alloc(0)
  const wanted = sha256 ?? /"([0-9a-f]{64})"/.exec(file.headers?.etag ?? "")?.[1]
  if (wanted !== undefined && wanted !== createHash("sha256").update(content).digest("hex"))
    throw new CliError(exit_codes.failed, "What arrived is not the file that was kept; nothing was written.", {
      way_out: "Try again; where it stays so, the server's store of files is damaged."
    })
  return { content, name: /filename="([^"]+)"/.exec(file.headers?.["content-disposition"] ?? "")?.[1] }
}

/**
 * Writes a file to the given path, else under its own name in the current folder, if that is free; returns the path.
 */
export const writeAs = async (name: string, content: Uint8Array, given: string | undefined): Promise<string> => {
  const file = given ?? shownFileName(name)
  if (given === undefined && existsSync(file))
    throw usageError(`${file} is here already.`, "Name another file with -o; that one is then written over.")
  if (!existsSync(dirname(file))) throw usageError(`There is no folder ${dirname(file)} to write ${file} to.`)
  await writeFile(file, content, given === undefined ? { flag: "wx" } : {})
  return file
}

/** The files of a business beside its journal: their content, each under its hash. */
import { createHash } from "node:crypto"
import { mkdir, rename, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { objectBody, rowIn, rowsIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import type { Progress } from "../../output/progress.ts"

export const files_folder = "files"

/** The files' entry in the manifest of an export. */
export interface WrittenFiles extends JsonObject {
  readonly folder: string
  readonly files: ReadonlyArray<{ readonly sha256: string; readonly size_bytes: number }>
  /** Hashes that rows name and whose content the server has lost. */
  readonly missing: ReadonlyArray<string>
}

/** Writes every file that the server's rows name. What an earlier export wrote into the folder is not fetched again. */
export const writeFiles = async (
  context: CommandContext,
  folder: string,
  progress: Progress
): Promise<WrittenFiles> => {
  const place = join(folder, files_folder)
  const files: Array<{ readonly sha256: string; readonly size_bytes: number }> = []
  const missing: Array<string> = []
  for (let after = ""; ;) {
    const page = await answered(context, "/api/v1/system/files", [["after", after]])
    // A server of an earlier release keeps no files.
    if (page.status === 404) return { folder: files_folder, files, missing }
    const rows = rowsIn(objectBody(page.body), "files")
    if (rows.length === 0) return { folder: files_folder, files, missing }
    await mkdir(place, { recursive: true })
    for (const row of rows) {
      const sha256 = String(row["sha256"])
      const size_bytes = row["size_bytes"]
      if (typeof size_bytes !== "number" || !(await fetched(context, place, sha256, size_bytes))) missing.push(sha256)
      else files.push({ sha256, size_bytes })
      progress.at("files", files.length, undefined)
    }
    after = String(rowIn(objectBody(page.body), "meta")["after"])
  }
}

const answered = async (
  context: CommandContext,
  path: string,
  query: ReadonlyArray<readonly [string, string]> = []
): ReturnType<CommandContext["requestAtServer"]> => {
  const answer = await context.requestAtServer({ method: "GET", path, query })
  if (answer.status >= 400 && answer.status !== 410 && answer.status !== 404)
    throw (await import("../../response-errors.ts")).responseError(answer)
  return answer
}

/** False where the server has lost the content. */
const fetched = async (
  context: CommandContext,
  place: string,
  sha256: string,
  size_bytes: number
): Promise<boolean> => {
  const path = join(place, sha256)
  const there = await stat(path).catch(() => undefined)
  if (there?.size === size_bytes) return true
  const { content, status } = await answered(context, `/api/v1/system/files/${sha256}`)
  if (status === 410 || status === 404) return false
  const bytes = typeof content?.text === "string" ? Buffer.from(content.text) : (content?.text ?? new Uint8Array())
  if (createHash("sha256").update(bytes).digest("hex") !== sha256)
    throw new CliError(exit_codes.failed, `The file ${sha256} did not arrive as it was sent.`, {
      way_out: "Export again into the same folder; what has arrived is not fetched again."
    })
  await writeFile(`${path}.part`, bytes)
  await rename(`${path}.part`, path)
  return true
}

/** The journal as a file: all that happened, from which an empty server becomes the same again. */
import { createHash } from "node:crypto"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import type { Progress } from "../../output/progress.ts"
import { closeOut, openOut, writeLine } from "./rows.ts"

export const journal_file = "journal.ndjson"

/** Manifest of the journal: what the server said it comes to, and the file's own checksum. */
export interface WrittenJournal extends JsonObject {
  readonly file: string
  readonly sha256: string
  /** What an empty server must come to: positions, tables, counters. */
  readonly manifest: JsonObject
}

/** Why there is none, in words, or what was written. Only the owner may take it, and only from the server. */
export const writeJournal = async (
  context: CommandContext,
  folder: string,
  progress: Progress
): Promise<WrittenJournal | string> => {
  try {
    return await written(context, folder, progress)
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== exit_codes.network) throw error
    await rm(join(folder, journal_file), { force: true })
    return `The journal, from which a server can be made anew, was left out: ${error.message}`
  }
}
const written = async (
  context: CommandContext,
  folder: string,
  progress: Progress
): Promise<WrittenJournal | string> => {
  if (context.offline)
    return "The journal, from which a server can be made anew, was left out: it comes from the server, and --offline forbids to ask it."
  const asked = async (
    path: string,
    query: ReadonlyArray<readonly [string, string]> = []
  ): Promise<JsonObject | string> => {
    const answer = await context.requestAtServer({ method: "GET", path, query })
    if (answer.status === 403 || answer.status === 401)
      return "The journal, from which a server can be made anew, was left out: only the owner may take it."
    if (answer.status >= 400) throw (await import("../../response-errors.ts")).responseError(answer)
    return answer.body as JsonObject
  }
  const told = await asked("/api/v1/system/manifest")
  if (typeof told === "string") return told
  const manifest = told["manifest"]
  if (!isJsonObject(manifest)) throw new CliError(exit_codes.failed, "The server's manifest cannot be read.")
  const last = Number(manifest["position"])
  const hash = createHash("sha256")
  const out = await openOut(join(folder, journal_file))
  for (let after = 0; after < last;) {
    const page = await asked("/api/v1/system/journal", [["after", String(after)]])
    if (typeof page === "string") return page
    // What happened since the manifest was made is not in it.
    for (const event of page["events"] as ReadonlyArray<JsonObject>) {
      if (Number(event["position"]) > last) break
      const line = `${JSON.stringify(event)}\n`
      hash.update(line)
      await writeLine(out, line)
    }
    after = Number((page["meta"] as JsonObject)["position"])
    progress.at("journal", Math.min(after, last), last)
  }
  await closeOut(out)
  return { file: journal_file, sha256: hash.digest("hex"), manifest }
}

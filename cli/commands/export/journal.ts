/** The journal as a file: all events, from which an empty server becomes the same again. */
import { createHash } from "node:crypto"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { objectBody, rowIn, rowsIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import type { Progress } from "../../output/progress.ts"
import { closeOut, openOut, writeLine } from "./rows.ts"

export const journal_file = "journal.ndjson"

/** The journal's entry in the manifest of an export. */
export interface WrittenJournal extends JsonObject {
  readonly file: string
  readonly sha256: string
  /** What a server must hold after the import: positions, tables, counters; as the exporting server gave it. */
  readonly manifest: JsonObject
}

/** Writes the journal, or says in words why there is none. Only the owner may export it, and only from the server. */
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
  const answerOr = async (
    path: string,
    query: ReadonlyArray<readonly [string, string]> = []
  ): Promise<JsonObject | string> => {
    const answer = await context.requestAtServer({ method: "GET", path, query })
    if (answer.status === 403 || answer.status === 401)
      return "The journal, from which a server can be made anew, was left out: only the owner may take it."
    if (answer.status >= 400) throw (await import("../../response-errors.ts")).responseError(answer)
    return objectBody(answer.body)
  }
  const first = await answerOr("/api/v1/system/manifest")
  if (typeof first === "string") return first
  const manifest = first["manifest"]
  if (!isJsonObject(manifest)) throw new CliError(exit_codes.failed, "The server's manifest cannot be read.")
  const last = Number(manifest["position"])
  const hash = createHash("sha256")
  const out = await openOut(join(folder, journal_file))
  for (let after = 0; after < last;) {
    const page = await answerOr("/api/v1/system/journal", [["after", String(after)]])
    if (typeof page === "string") return page
    // Later events are not counted in the manifest.
    for (const event of rowsIn(page, "events")) {
      if (Number(event["position"]) > last) break
      const line = `${JSON.stringify(event)}\n`
      hash.update(line)
      await writeLine(out, line)
    }
    after = Number(rowIn(page, "meta")["position"])
    progress.at("journal", Math.min(after, last), last)
  }
  await closeOut(out)
  return { file: journal_file, sha256: hash.digest("hex"), manifest }
}

/** `usage export`: waits for the server's job that creates the file, and downloads it. */
import { setTimeout } from "node:timers/promises"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { objectBody, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { progressOf } from "../../../context/print.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { signedFile, writeAs } from "../../../context/signed-file.ts"
import { askServer, usageQuery } from "./asked.ts"

export const exportUsage = async (context: CommandContext, flags: Flags): Promise<void> => {
  const given = textFlag(flags, "output")
  const query = await usageQuery(context, flags)
  const job_id = String(objectBody(await askServer(context, "/api/v1/usage/export", query)).job_id)
  const { download_url } = await doneJob(context, job_id)
  if (typeof download_url !== "string")
    throw new CliError(exit_codes.failed, "The file is not kept any more.", { way_out: "Ask for it again." })
  const { content, name } = await signedFile(context, download_url)
  if (given === "-") return context.printContent(content)
  const file = await writeAs(name ?? "usage.csv", content, given)
  if (context.options.json === true) return context.printJson({ usage_export: { job_id, file, bytes: content.length } })
  context.note(`Wrote ${file}, ${content.length} bytes.`)
}

/** Waits for the job and returns it once done. */
const doneJob = async (context: CommandContext, job_id: string): Promise<JsonObject> => {
  const progress = progressOf(context)
  try {
    for (let wait = 100; ; wait = Math.min(2_000, wait * 2)) {
      const job = rowIn(await askServer(context, `/api/v1/system/jobs/${encodeURIComponent(job_id)}`, []), "job")
      const { error, status } = job
      if (status === "done") return job
      if (status === "failed")
        throw new CliError(exit_codes.failed, `The export failed: ${String(error ?? "no reason is known")}`, {
          way_out: "Try it again with a shorter window."
        })
      progress.at("Exporting", Math.round((job.progress ?? 0) * 100), 100)
      await setTimeout(wait)
    }
  } finally {
    progress.end()
  }
}

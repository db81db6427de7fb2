/** What documents need a server for: drawing, files, public pages. */
import type { ServerSlice } from "../server-slice.ts"
import { checkedLayouts } from "./check-layouts.ts"
import { drawing_jobs, drawing_processes } from "./jobs.ts"
import { linkEndpoints } from "./link-api.ts"
import { drawMissing } from "./missing.ts"
import { waitForDocument } from "./waiting.ts"

export const documentsServerSlice: ServerSlice = {
  name: "documents_server",
  endpoints: [...linkEndpoints],
  around: (call, next) => checkedLayouts(call, drawMissing(call, next)),
  jobs: drawing_jobs,
  processes: drawing_processes
}
/** Stands before what keeps answers: whoever waits does so after the command has been recorded. */
export const documentAnswersSlice: ServerSlice = { name: "document_answers", around: waitForDocument }

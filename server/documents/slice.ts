/** What documents need a server for: drawing, files, public pages. */
import { Effect } from "effect"
import type { ServerSlice } from "../server-slice.ts"
import { checkedLayouts } from "./check-layouts.ts"
import { drawing_jobs, drawing_processes } from "./jobs.ts"
import { isPublicPage, linkEndpoints } from "./link-api.ts"
import { mailDocument } from "./links/email-api.ts"
import { certificateFollows, drawCertificate } from "./links/jobs.ts"
import { PublicCall } from "./links/public-call.ts"
import { document_link_pins, document_link_tries } from "./links/schema.ts"
import { drawMissing } from "./missing.ts"
import { waitForDocument } from "./waiting.ts"

export const documentsServerSlice: ServerSlice = {
  name: "documents_server",
  endpoints: [...linkEndpoints],
  server_tables: [document_link_pins, document_link_tries],
  around: (call, next) =>
    isPublicPage(call.endpoint)
      ? Effect.provideService(next, PublicCall, call)
      : checkedLayouts(call, drawMissing(call, next)),
  jobs: [...drawing_jobs, drawCertificate, mailDocument],
  processes: [...drawing_processes, certificateFollows]
}
/** Stands before what keeps answers: whoever waits does so after the command has been recorded. */
export const documentAnswersSlice: ServerSlice = { name: "document_answers", around: waitForDocument }

/** What documents need a server for: drawing, files, public pages. */
import { Effect } from "effect"
import type { ServerSlice } from "../server-slice.ts"
import { drawingJobs } from "./jobs.ts"
import { isPublicPage, linkEndpoints } from "./link-api.ts"
import { mailDocument } from "./links/email-api.ts"
import { certificateFollows, drawCertificate } from "./links/jobs.ts"
import { PublicCall } from "./links/public-call.ts"
import { document_link_pins, document_link_tries } from "./links/schema.ts"
import { drawMissing } from "./missing.ts"
import { waitForDocument } from "./waiting.ts"

const { jobs, processes } = drawingJobs()
export const documentsServerSlice: ServerSlice = {
  name: "documents_server",
  endpoints: [...linkEndpoints],
  server_tables: [document_link_pins, document_link_tries],
  around: (call, next) =>
    isPublicPage(call.endpoint) ? Effect.provideService(next, PublicCall, call) : drawMissing(call, next),
  jobs: [...jobs, drawCertificate, mailDocument],
  processes: [...processes, certificateFollows]
}
/** Stands before what keeps answers: whoever waits does so after the command has been recorded. */
export const documentAnswersSlice: ServerSlice = { name: "document_answers", around: waitForDocument }

/** Jobs that draw documents, by the names the interface tells them under. */
export const draw_kinds = {
  request: "documents.draw",
  job: "documents.draw_queued",
  batch: "documents.draw_batch"
} as const

/**
 * For so long a request waits for its document: longer than drawing takes with its attempts. Then it answers with the
 * job's id instead, and whoever asked is told of the document when it is there.
 */
export const request_waits_millis = 25_000

/** The job that draws a document somebody asked to be queued. */
export const queuedJobId = (document_id: number): string => `${draw_kinds.job}:${document_id}`
/** The job that draws a batch; the first of its documents names it. */
export const batchJobId = (document_id: number): string => `${draw_kinds.batch}:${document_id}`

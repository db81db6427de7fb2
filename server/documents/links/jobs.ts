/** Jobs of public links: the certificate of an acceptance. Loaded whole when one is done. */
import { Effect, Schema } from "effect"
import { documentAccepted } from "../../../core/documents/links/events.ts"
import { jobKind, jobOffer, processOf } from "../../jobs/job-kind.ts"

export const drawCertificate = jobKind({
  kind: "documents.certificate",
  meaning: "draws the certificate of an accepted quotation and sends it to both sides",
  data: Schema.Struct({ acceptance_id: Schema.Int }),
  attempts_max: 8,
  waits_seconds: [5, 60, 300, 1_800, 7_200],
  at_a_time: 1,
  run: ({ acceptance_id }) =>
    Effect.flatMap(
      Effect.promise(() => import("./certificate.ts")),
      ({ certify }) => certify(acceptance_id)
    )
})
export const certificateFollows = processOf({
  on: [documentAccepted],
  jobs: ({ data: { id } }) => [jobOffer(drawCertificate, { acceptance_id: id }, { subject: String(id) })]
})

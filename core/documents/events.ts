/**
 * Events of documents (rules/billing 3). They carry results: the drawn content and its hashes. Replaying draws and
 * sends nothing.
 */
import { Schema } from "effect"
import { type AnyEventType, eventType } from "../kernel/events/event-type.ts"
import { recordEvents } from "../kernel/events/record-events.ts"
import { insertRow, remove } from "../kernel/tables/table.ts"
import { type NewRow, newRow, newRowWith, type SomeColumns } from "../kernel/tables/stored-schema.ts"
import { document_links, document_snapshots, documents } from "./schema.ts"

// Where its file lies is nothing people do.
const records = recordEvents(documents, "uuid", "sha256", "of_draft")
const { changed, shown } = records
export const { change: documentChange, stream: documentStream } = records

/** How its drawing was asked for: `request`: somebody waits for it. */
const drawn_by = ["request", "job", "batch"] as const
export type DrawnBy = (typeof drawn_by)[number]

interface Requested extends SomeColumns<typeof documents> {
  readonly id: number
  readonly drawn_by: DrawnBy
}
export const documentRequested = eventType<Requested, NewRow<typeof documents> & Pick<Requested, "drawn_by">>(
  "document.requested",
  {
    meaning: "A document was requested: its source and its number, null until assigned.",
    data: () => newRowWith(documents, { drawn_by: Schema.Literals(drawn_by) }),
    project: ({ drawn_by: _drawn_by, ...row }, { recorded_at }) => [insertRow(documents, row, recorded_at)],
    activity: ({ drawn_by: _drawn_by, ...row }) => ({ old_values: null, new_values: shown(row) })
  }
)
export const documentsBatched = eventType("document.batched", {
  meaning: "A batch of documents was requested, to be drawn in turn. The stream is the first document's.",
  data: () => Schema.Struct({ id: Schema.Int, document_ids: Schema.Array(Schema.Int) }),
  project: "changes_no_table"
})

export const documentGenerated = changed("document.generated", {
  meaning: "A document was drawn: its PDF and the content it was drawn from, each with its SHA-256.",
  more: () => ({
    documentable_type: Schema.String,
    documentable_id: Schema.Int,
    job_id: Schema.NullOr(Schema.String),
    drawn_from: Schema.Array(newRow(document_snapshots))
  }),
  rows: ({ drawn_from }, at) => drawn_from.map((row) => insertRow(document_snapshots, row, at))
})
export const documentFailed = changed("document.failed", {
  meaning: "A document could not be drawn: the reason, and whether it may be temporary.",
  more: () => ({ may_work_later: Schema.Boolean })
})
export const documentFinalised = changed("document.finalised", {
  meaning: "A document was finalised: its content can no longer change."
})
export const documentVoided = changed("document.voided", {
  meaning: "A document was voided. It keeps its number and content; its public links stopped working.",
  // Its public addresses, which end.
  more: () => ({ link_ids: Schema.Array(Schema.Int) }),
  rows: ({ link_ids }) => link_ids.map((id) => remove(document_links, id))
})

export const documentEvents: ReadonlyArray<AnyEventType> = [
  documentRequested,
  documentsBatched,
  documentGenerated,
  documentFailed,
  documentFinalised,
  documentVoided
]

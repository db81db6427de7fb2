/**
 * What happens to documents (rules/billing 3). Events carry results: what was drawn, under which hash. Reading them
 * again draws nothing and sends nothing.
 */
import { Schema } from "effect"
import {
  type ActivityValues,
  type AnyEventType,
  type EventType,
  eventType,
  type ProjectionContext,
  streamOf
} from "../kernel/events/event-type.ts"
import type { JsonObject } from "../kernel/fields/json.ts"
import { insert, remove, type RowChange, update } from "../kernel/tables/row-change.ts"
import {
  type NewRow,
  newRow,
  newRowWith,
  type SomeColumns,
  someColumns,
  type Stored,
  without
} from "../kernel/tables/stored-schema.ts"
import type { AnyRow, Table } from "../kernel/tables/table.ts"
import { document_links, document_snapshots, type DocumentRow, documents } from "./schema.ts"

export const documentStream = (id: number): string => streamOf("document", id)

type DocumentColumns = SomeColumns<typeof documents>
interface DocumentChange {
  readonly id: number
  readonly set: DocumentColumns
  readonly was: DocumentColumns
}
const changed = { id: Schema.Int, set: someColumns(documents), was: someColumns(documents) }
/** The columns of `set` with what they were before. */
export const documentChange = (row: DocumentRow, set: DocumentColumns): DocumentChange => ({
  id: row.id,
  set,
  was: Object.fromEntries(Object.keys(set).map((name) => [name, (row as AnyRow)[name] ?? null]))
})
const inserted = (table: Table, row: AnyRow, at: string): RowChange =>
  insert(table, { ...row, created_at: at, updated_at: at, deleted_at: null })
const documentSet = (
  { id, set }: Pick<DocumentChange, "id" | "set">,
  { recorded_at }: Pick<ProjectionContext, "recorded_at">
): RowChange => update(documents, id, { ...set, updated_at: recorded_at })
/** Where its file lies is nothing people do. */
const shown = (columns: DocumentColumns): JsonObject => without(columns as JsonObject, "uuid", "sha256", "of_draft")
const values = ({ set, was }: Pick<DocumentChange, "set" | "was">): ActivityValues => ({
  old_values: shown(was),
  new_values: shown(set)
})

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
    meaning:
      "A document was asked for: of what it is to be made, and its number. One that is still null was not given yet.",
    data: () => newRowWith(documents, { drawn_by: Schema.Literals(drawn_by) }),
    project: ({ drawn_by: _drawn_by, ...row }, { recorded_at }) => [inserted(documents, row, recorded_at)],
    activity: ({ drawn_by: _drawn_by, ...row }) => ({ old_values: null, new_values: shown(row) })
  }
)
export const documentsBatched = eventType("document.batched", {
  meaning: "Documents were asked for together, to be drawn one after another. The first of them gives the stream.",
  data: () => Schema.Struct({ id: Schema.Int, document_ids: Schema.Array(Schema.Int) }),
  project: "changes_no_table"
})

interface Generated extends DocumentChange {
  readonly documentable_type: string
  readonly documentable_id: number
  readonly job_id: string | null
  readonly drawn_from: ReadonlyArray<SomeColumns<typeof document_snapshots> & { readonly id: number }>
}
export const documentGenerated = eventType<Generated>("document.generated", {
  meaning: "A document was drawn: its PDF and what that was drawn from, each with its SHA-256.",
  data: (): Stored<Generated> =>
    Schema.Struct({
      ...changed,
      documentable_type: Schema.String,
      documentable_id: Schema.Int,
      job_id: Schema.NullOr(Schema.String),
      drawn_from: Schema.Array(newRow(document_snapshots))
    }),
  project: (data, meta) => [
    documentSet(data, meta),
    ...data.drawn_from.map((row) => inserted(document_snapshots, row, meta.recorded_at))
  ],
  activity: values
})
interface Failed extends DocumentChange {
  readonly may_work_later: boolean
}
export const documentFailed = eventType<Failed>("document.failed", {
  meaning: "A document could not be drawn, and why; whether the reason may pass by itself.",
  data: (): Stored<Failed> => Schema.Struct({ ...changed, may_work_later: Schema.Boolean }),
  project: (data, meta) => [documentSet(data, meta)],
  activity: values
})
const headerEvent = (type: string, meaning: string): EventType<DocumentChange> =>
  eventType<DocumentChange>(type, {
    meaning,
    data: (): Stored<DocumentChange> => Schema.Struct(changed),
    project: (data, meta) => [documentSet(data, meta)],
    activity: values
  })
export const documentFinalised = headerEvent(
  "document.finalised",
  "A document was made final: it is drawn from what it was drawn from, for ever."
)

interface Voided extends DocumentChange {
  /** Its public addresses, which end. */
  readonly link_ids: ReadonlyArray<number>
}
export const documentVoided = eventType<Voided>("document.voided", {
  meaning: "A document was voided. It keeps its number and its content; its addresses open nothing any more.",
  data: (): Stored<Voided> => Schema.Struct({ ...changed, link_ids: Schema.Array(Schema.Int) }),
  project: (data, meta) => [documentSet(data, meta), ...data.link_ids.map((id) => remove(document_links, id))],
  activity: values
})

export const documentEvents: ReadonlyArray<AnyEventType> = [
  documentRequested,
  documentsBatched,
  documentGenerated,
  documentFailed,
  documentFinalised,
  documentVoided
]

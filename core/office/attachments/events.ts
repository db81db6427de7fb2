/** Events of attachments. They belong to the stream of the attachment's subject, and are erased with it. */
import { Schema } from "effect"
import { eventType, streamOf } from "../../kernel/events/event-type.ts"
import { rowMade } from "../../kernel/events/row-events.ts"
import { remove } from "../../kernel/tables/table.ts"
import { attachableOf, type AttachmentRow, attachments } from "./attachables.ts"

/** Stream of the attachment's subject: `member:12`. */
export const attachableStream = (named: { readonly attachable_type?: unknown; readonly attachable_id?: unknown }) =>
  streamOf(attachableOf(named.attachable_type)?.table.entity ?? "attachment", String(named.attachable_id))

export const attachmentCreated = rowMade("attachment.created", attachments, {
  meaning: "A file was attached to the subject of the event's stream: its name, type and SHA-256.",
  stream: attachableStream,
  activity: ({ category = null, description = null, id, original_name = "" }) => ({
    old_values: null,
    new_values: { attachment_id: id, attachment: original_name, category, description }
  })
})

/** Only the id: the deletion is sent to all devices, including those that never saw the row. */
export const attachmentDeleted = eventType("attachment.deleted", {
  meaning: "An attachment was removed, with its file.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }) => [remove(attachments, id)],
  activity: ({ id }) => ({ old_values: { attachment_id: id }, new_values: null })
})
export const deletedAttachment = (row: AttachmentRow) => attachmentDeleted.make({ id: row.id }, attachableStream(row))

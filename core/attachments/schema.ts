/** Attachments: files that belong to a member, an order, a unit (interface 2.13, rules/members-activities 4). */
import { choice, integer, longText, ref, text } from "../kernel/field.ts"
import { type RowOf, table } from "../kernel/table.ts"
import { attachable_types, attachables, seesAttachments } from "./attachables.ts"

export const attachmentFields = {
  attachable_type: choice(attachable_types, {
    required: true,
    any_case: true,
    create_only: true,
    describe: "What it is attached to"
  }),
  attachable_id: integer({
    required: true,
    create_only: true,
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    names: { by: "attachable_type", tables: Object.fromEntries(attachables.map((one) => [one.type, one.table.name])) }
  }),
  category: text({ nullable: true, max: 50, search: true, describe: "Such as photo, contract or damage" }),
  description: longText({ nullable: true, max: 1_000 })
}

export const attachments = table(
  "attachments",
  {
    ...attachmentFields,
    /** What the address of the file names it by. */
    uuid: text({ computed: true, max: 36 }),
    original_name: text({ computed: true, search: true }),
    mime_type: text({ computed: true, search: true }),
    file_size: integer({ computed: true, min: 0 }),
    /** Where the content is found. Whoever knows it may not read the file for that. */
    sha256: text({ computed: true, hidden: true, max: 64 }),
    uploaded_by: ref("users", { computed: true, nullable: true, on_delete: "keep" })
  },
  {
    named_by: ["original_name"],
    file: { uuid: "uuid", sha256: "sha256", name: "original_name", mime_type: "mime_type", size_bytes: "file_size" },
    visibility: { all_columns: [], by_row: seesAttachments, says_by: ["attachable_type"] },
    in_streams_of_references: true,
    references: attachables.map(({ rule, table: { name }, type }) => ({
      column: "attachable_id",
      where: { attachable_type: type },
      table: name,
      rule
    })),
    indexes: [["attachable_type", "attachable_id"], ["uuid"], ["sha256"], ["created_at"]]
  }
)
export type AttachmentRow = RowOf<typeof attachments>

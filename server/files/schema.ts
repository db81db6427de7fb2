/** What the store of files holds, and the files that jobs made: kept on the server alone, outside the journal. */
import { choice, integer, text } from "../../core/kernel/field.ts"
import { plainTable, type RowOf } from "../../core/kernel/table.ts"

export const blobs = plainTable(
  "blobs",
  "sha256",
  {
    sha256: text({ max: 64 }),
    size_bytes: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    mime_type: text({ max: 255 }),
    /** `storing`: on its way into the store; `removing`: on its way out. In neither may a row name it. */
    state: choice({ storing: "Storing", kept: "Kept", removing: "Removing" }),
    stored_at: text({ max: 24 }),
    /** Since when no row names it, or since it came; null while one does. */
    unreferenced_since: text({ max: 24, nullable: true })
  },
  { entity: "blob", indexes: [["unreferenced_since"]] }
)
export type BlobRow = RowOf<typeof blobs>

/** Files made by jobs: exports, sets of labels. They are dropped when their time is over. */
export const downloads = plainTable(
  "downloads",
  "uuid",
  {
    uuid: text({ max: 36 }),
    sha256: text({ max: 64 }),
    name: text({ max: 255 }),
    mime_type: text({ max: 255 }),
    size_bytes: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    /** The user who asked for it; null where nobody did. */
    owner_id: integer({ nullable: true }),
    made_at: text({ max: 24 }),
    expires_at: text({ max: 24 })
  },
  {
    entity: "download",
    indexes: [["expires_at"], ["sha256"]],
    file: { uuid: "uuid", sha256: "sha256", name: "name", mime_type: "mime_type", size_bytes: "size_bytes" }
  }
)
export type DownloadRow = RowOf<typeof downloads>

/** The one store that the files of this database are in, by its mark. */
export const file_stores = plainTable(
  "file_stores",
  "id",
  { id: integer({ min: 1, max: 1 }), mark: text({ max: 64 }), place: text({ max: 1_000 }) },
  { entity: "file_store" }
)

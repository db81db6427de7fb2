/** Rules of attaching a file (rules/members-activities 4). */
import { Result } from "effect"
import type { Decided, UploadedFile } from "../kernel/endpoint.ts"
import type { DecideContext } from "../kernel/decide-context.ts"
import { upload_bytes_max } from "../kernel/body-limits.ts"
import { initialRow } from "../kernel/crud-resource.ts"
import { invalidField } from "../kernel/rejection.ts"
import { shownFileName } from "../values/file-name.ts"
import { attachmentCreated } from "./events.ts"
import { type AttachmentRow, attachmentFields, attachments } from "./schema.ts"

/**
 * A UUID of version 8 (RFC 9562) from the content's SHA-256 and the row's id: the same wherever the command is decided,
 * on a device or on the server.
 */
export const attachmentUuid = (sha256: string, id: number): string => {
  const hash = sha256.slice(0, 15)
  const row = id.toString(16).padStart(15, "0")
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(12)}-8${row.slice(0, 3)}-${row.slice(3)}`
}

const size_max = `${upload_bytes_max / 1_048_576} MB (${upload_bytes_max} bytes)`
/** The reason a file is not taken; undefined for one that is. */
export const fileProblem = (file: Pick<UploadedFile, "size_bytes"> | undefined): string | undefined =>
  file === undefined
    ? "The file field is required: send the file as multipart/form-data."
    : file.size_bytes > upload_bytes_max
      ? `The file must not be larger than ${size_max}; this one has ${file.size_bytes} bytes.`
      : undefined

export const attachFile = (
  file: UploadedFile | undefined,
  values: Partial<AttachmentRow>,
  context: DecideContext
): Decided => {
  const problem = fileProblem(file)
  if (file === undefined || problem !== undefined) return Result.fail(invalidField("file", problem ?? ""))
  const { attachable_id, attachable_type } = values
  if (attachable_id === undefined || attachable_type === undefined)
    return Result.fail(invalidField("attachable_id", "Say what the file is attached to."))
  const id = context.id(attachments)
  const row = {
    ...initialRow(attachments, attachmentFields),
    ...values,
    id,
    attachable_id,
    attachable_type,
    uuid: attachmentUuid(file.sha256, id),
    original_name: shownFileName(file.name),
    mime_type: file.mime_type,
    file_size: file.size_bytes,
    sha256: file.sha256,
    uploaded_by: context.viewer.user_id || null
  }
  return Result.succeed({ events: [attachmentCreated.make(row)], result: { id } })
}

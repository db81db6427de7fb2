/** Endpoints of attachments (rules/members-activities 4). */
import { Effect, Result } from "effect"
import { command, CommandRuntime, created, decided, forbidden, get, initialRow, listOf } from "../../kernel/index.ts"
import { lockStreams, noContent, notFound, ok, oneOf, reaction, reject, renderById } from "../../kernel/index.ts"
import { renderOne, resource, Shown, Store, text, upload_bytes_max, viewContext, wordsOf } from "../../kernel/index.ts"
import type { AnyRow, DecideContext, Decided, Endpoint, Input, Params, Slice, Table } from "../../kernel/index.ts"
import type { UploadedFile, Viewer } from "../../kernel/index.ts"
import { shownFileName } from "../../values/file-name.ts"
import type { Attachable, AttachmentRow } from "./attachables.ts"
import {
  attachableOf,
  attachables,
  attachableStream,
  attachmentCreated,
  attachmentDeleted,
  attachmentFields,
  attachments,
  mayRead,
  mayWrite
} from "./attachables.ts"
import { memberAnonymised, rowsRecordedOf } from "../../people/personal-data/erase.ts"

// Rules of attaching a file (rules/members-activities 4).

/**
 * UUID (version 8, RFC 9562) of an attachment, from the content's SHA-256 and the row's id: devices and the server get
 * the same.
 */
const attachmentUuid = (sha256: string, id: number): string => {
  const hash = sha256.slice(0, 15)
  const row = id.toString(16).padStart(15, "0")
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(12)}-8${row.slice(0, 3)}-${row.slice(3)}`
}

const size_max = `${upload_bytes_max / 1_048_576} MB (${upload_bytes_max} bytes)`
/** Reason a file cannot be attached; undefined if it can. */
const fileProblem = (file: Pick<UploadedFile, "size_bytes"> | undefined): string | undefined =>
  file === undefined
    ? "The file field is required: send the file as multipart/form-data."
    : file.size_bytes > upload_bytes_max
      ? `The file must not be larger than ${size_max}; this one has ${file.size_bytes} bytes.`
      : undefined

const attachFile = (
  file: UploadedFile | undefined,
  values: Partial<AttachmentRow>,
  context: DecideContext
): Decided => {
  const problem = fileProblem(file)
  if (file === undefined || problem !== undefined) return reject("file", problem ?? "")
  const { attachable_id, attachable_type } = values
  if (attachable_id === undefined || attachable_type === undefined)
    return reject("attachable_id", "Say what the file is attached to.")
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
  return decided(id, [attachmentCreated.make(row)])
}

/** Creates signed URLs of files; undefined on devices. */
const addressOf = Effect.map(CommandRuntime.ifAny, (runtime) => runtime?.file_url)
export const attachmentResource = resource({
  singular: "attachment",
  heading: "Deals",
  table: attachments,
  filters: [
    "attachable_type",
    "attachable_id",
    "original_name",
    "mime_type",
    "category",
    "file_size",
    "uploaded_by",
    "created_at",
    "updated_at"
  ],
  sorts: ["original_name", "mime_type", "category", "file_size", "created_at", "updated_at"],
  shows: {
    url: text({
      nullable: true,
      describe: "Signed URL of the file, valid for an hour without a token; null on a device"
    }),
    thumb_url: text({ nullable: true, describe: "Reserved for a thumbnail's URL; always null" })
  },
  load: () => addressOf,
  view: (base, row, _related, { now }, addressAt) => ({
    ...base,
    url: addressAt?.(row.uuid, now) ?? null,
    thumb_url: null
  })
})

const rightsOf = (
  which: "read" | "write"
): { readonly ability: ReadonlyArray<string>; readonly permission: ReadonlyArray<string> } => ({
  ability: [...new Set(attachables.flatMap((one) => one[which].abilities))],
  permission: [...new Set(attachables.flatMap((one) => one[which].permissions))]
})
const reading = rightsOf("read")
const writing = rightsOf("write")
const refused = (kind: Attachable | undefined, right: "read" | "write") => {
  if (kind === undefined) return forbidden("What this is attached to is not known to this release.")
  const { abilities, permissions } = kind[right]
  return forbidden(`This needs the permission ${permissions.join(" or ")}, and the ability ${abilities.join(" or ")}.`)
}
/** Checks that the viewer may read or change the attachment, as decided by its subject. */
const authorise = (row: AttachmentRow, viewer: Viewer, right: "read" | "write") => {
  const kind = attachableOf(row.attachable_type)
  const may = kind !== undefined && (right === "read" ? mayRead(kind, viewer) : mayWrite(kind, viewer))
  return may ? Effect.void : Effect.fail(refused(kind, right))
}

const list = get("/api/v1/attachments", {
  answer: Shown.page(() => attachmentResource),
  name: "attachments.list",
  summary: "List all attachments you may see",
  ...reading,
  run: (input: Input) =>
    listOf(attachmentResource, input, {
      where: { attachable_type: attachables.filter((one) => mayRead(one, input.viewer)).map(({ type }) => type) }
    })
})

const pluralOf = ({ name }: Table): string => name
/** Declares the list of one subject's attachments. */
const listOfOne = (kind: Attachable): Endpoint => {
  const params: Params = { id: { table: kind.table } }
  return get(`/api/v1/${pluralOf(kind.table)}/{id}/attachments`, {
    answer: Shown.page(() => attachmentResource),
    name: `${pluralOf(kind.table)}.attachments`,
    summary: `List the files attached to ${oneOf(kind.table)}`,
    ability: kind.read.abilities,
    permission: kind.read.permissions,
    params,
    run: (input: Input) => {
      const id = input.rows["id"]?.["id"]
      return listOf(attachmentResource, input, { where: { attachable_type: kind.type, attachable_id: Number(id) } })
    }
  })
}

const show = get("/api/v1/attachments/{id}", {
  answer: { attachment: Shown.row(() => attachmentResource) },
  name: "attachments.show",
  summary: "Show one attachment, with a URL of its file that is valid for an hour",
  ...reading,
  params: { id: { table: attachments } },
  authorize: ({ rows, viewer }) => authorise(rows.id, viewer, "read"),
  run: (input) => Effect.map(renderOne(attachmentResource, input.rows.id, input.query, viewContext(input)), ok)
})

const create = command("POST", "/api/v1/attachments", {
  answer: { attachment: Shown.row(() => attachmentResource) },
  error_answers: { 404: null },
  name: "attachments.create",
  summary: "Attach a file to a record, such as a product or an invoice",
  ...writing,
  fields: attachmentFields,
  uploads: true,
  creates: [attachments],
  streams: (_params, body) => [attachableStream(body)],
  facts: ({ values: { attachable_id, attachable_type }, viewer }) =>
    Effect.gen(function* () {
      const kind = attachableOf(attachable_type)
      if (kind === undefined || !mayWrite(kind, viewer)) return yield* refused(kind, "write")
      const target: AnyRow | undefined = yield* Store.get(kind.table, attachable_id ?? 0)
      if (target === undefined || target["deleted_at"] !== null)
        return yield* notFound(`No such ${wordsOf(kind.table)}.`)
    }),
  decide: (_facts, { files, values }, context) => attachFile(files?.["file"], values, context),
  respond: ({ id }, input) => Effect.map(renderById(attachmentResource, id, input.query, viewContext(input)), created)
})

const deletedAttachment = (row: AttachmentRow) => attachmentDeleted.make({ id: row.id }, attachableStream(row))

const deleteAttachment = command("DELETE", "/api/v1/attachments/{id}", {
  name: "attachments.delete",
  summary: "Delete an attachment with its file",
  ...writing,
  params: { id: { table: attachments } },
  authorize: ({ rows, viewer }) => authorise(rows.id, viewer, "write"),
  // Locks the stream of the attachment's subject, to which the event belongs.
  facts: ({ rows }) => lockStreams([attachableStream(rows.id)]),
  decide: (_facts, { rows: { id: row } }) => decided(row.id, [deletedAttachment(row)]),
  respond: () => Effect.succeed(noContent)
})

/** Erasing a person deletes their attachments. */
const erasedWithMember = reaction({
  on: [memberAnonymised],
  facts: ({ events }) =>
    Effect.gen(function* () {
      const store = yield* Store
      const erased_ids = events.flatMap(({ data }) => [data.id, ...data.merged_ids])
      const rows = [
        ...(yield* store.find(attachments, { attachable_type: "Member", attachable_id: erased_ids })),
        ...(yield* rowsRecordedOf(store, attachments, erased_ids))
      ]
      return [...new Map(rows.map((row) => [row.id, row])).values()]
    }),
  decide: (_happened, rows) => Result.succeed(rows.map(deletedAttachment))
})

export const attachmentsSlice: Slice = {
  name: "attachments",
  tables: [attachments],
  resources: [attachmentResource],
  events: [attachmentCreated, attachmentDeleted],
  endpoints: [list, show, create, deleteAttachment, ...attachables.map(listOfOne)],
  react: [erasedWithMember]
}

/** The files of a whole business: its owner takes them away one by one, and brings them in before the journal. */
import { Effect } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { get, type Failure, postQuery } from "../../core/kernel/endpoint.ts"
import { integer, text } from "../../core/kernel/field.ts"
import { invalidField, notFound, type Rejection } from "../../core/kernel/rejection.ts"
import { created, ok } from "../../core/kernel/resource.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { bindings, quote } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import * as Shown from "../../core/kernel/answer-schema.ts"
import { isSha256 } from "../files/blob-store.ts"
import { fileTables, isCurrent } from "../files/lookup.ts"
import { blobs } from "../files/schema.ts"
import { answerOfFile, file_headers } from "../files/serve.ts"
import { restores } from "./schema.ts"

const per_page_max = 1_000
/** Larger than anything that is uploaded: documents may be kept that were made here. */
const file_bytes_max = 4 * 1_024 ** 3

/** Hashes that rows of the journal's tables name, as a table of SQL. */
const namedFiles = (catalogue: Catalogue): string | undefined => {
  const parts = fileTables({ tables: catalogue.tables, server_tables: [] }).map(
    ({ table, file }) =>
      `select distinct ${quote(file.sha256)} as sha256 from ${quote(table.name)} where ${isCurrent(table)} and ${quote(file.sha256)} is not null`
  )
  return parts.length === 0 ? undefined : `(${parts.join(" union ")}) named`
}

interface Draft {
  readonly ability: string
  readonly permission: null
  readonly metering_weight: number
  readonly server_only: true
}
type OwnerOnly = (input: { readonly viewer: Viewer }) => Effect.Effect<void, Rejection>
export const fileEndpoints = (owned: Draft, ownerOnly: OwnerOnly) => [
  listFiles(owned, ownerOnly),
  takeFile(owned, ownerOnly),
  bringFile(owned, ownerOnly)
]

const listFiles = (owned: Draft, ownerOnly: OwnerOnly) =>
  get("/api/v1/system/files", {
    answer: {
      files: Shown.objects({ sha256: text(), size_bytes: integer({ nullable: true }) }),
      meta: Shown.keys({ after: text() })
    },
    name: "system.files",
    summary: "Every file that rows name, in the order of their hashes, for the owner to take away",
    ...owned,
    fields: {
      after: text({ default: "", max: 64 }),
      limit: integer({ default: per_page_max, min: 1, max: per_page_max })
    },
    run: ({ viewer, values }) =>
      Effect.gen(function* () {
        yield* ownerOnly({ viewer })
        const store = yield* Store
        const named = namedFiles((yield* CommandRuntime).catalogue)
        if (named === undefined) return ok({ files: [], meta: { after: "" } })
        const { bind, values: bound } = bindings(store.dialect)
        const rows = yield* store.run<{ sha256: string; size_bytes: number | string | null }>(
          `select named.sha256, blobs.size_bytes from ${named} left join blobs on blobs.sha256 = named.sha256 and blobs.state = 'kept' ` +
            `where named.sha256 > ${bind(values.after ?? "")} order by named.sha256 limit ${values.limit ?? per_page_max}`,
          bound
        )
        const files = rows.map(({ sha256, size_bytes }) => ({
          sha256,
          size_bytes: size_bytes === null ? null : Number(size_bytes)
        }))
        return ok({ files, meta: { after: files.at(-1)?.sha256 ?? "" } })
      })
  })

const takeFile = (owned: Draft, ownerOnly: OwnerOnly) =>
  get("/api/v1/system/files/{sha256}", {
    name: "system.file",
    summary: "The content of a file, for the owner to take away",
    ...owned,
    produces: "application/octet-stream",
    error_answers: { 404: null, 410: null },
    answer_headers: file_headers,
    run: ({ params, viewer }) =>
      Effect.gen(function* () {
        yield* ownerOnly({ viewer })
        const sha256 = params["sha256"] ?? ""
        const row = isSha256(sha256) ? yield* (yield* Store).get(blobs, sha256) : undefined
        if (row === undefined || row.state !== "kept") return yield* notFound("There is no such file.")
        // Bytes to be written down as they are, whatever they hold.
        return yield* answerOfFile({ ...row, mime_type: "application/octet-stream", name: sha256 })
      })
  })

const bringFile = (owned: Draft, ownerOnly: OwnerOnly) =>
  postQuery("/api/v1/system/restores/{id}/files", {
    answer: { file: Shown.keys({ sha256: text(), size_bytes: integer() }) },
    name: "system.restore_file",
    summary: "A file of the business that is being brought in",
    ...owned,
    success_status: 201,
    authorize: ownerOnly,
    uploads: true,
    upload_bytes_max: file_bytes_max,
    params: { id: { table: restores } },
    fields: { sha256: text({ required: true, max: 64, describe: "What the content must come to" }) },
    run: ({ files, values }) =>
      Effect.gen(function* () {
        const file = files?.["file"]
        if (file === undefined) return yield* invalidField("file", "Send the file in a form, as the field file.")
        if (file.sha256 !== values.sha256)
          return yield* invalidField("file", `The content comes to ${file.sha256}, not to the hash it was sent under.`)
        return created({ file: { sha256: file.sha256, size_bytes: file.size_bytes } })
      })
  })

/** Within the import's transaction: the files that its rows name are here and stay, or nothing is brought in. */
export const bringFiles = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  accept_missing: boolean
): Effect.fn.Return<void, Failure, Store> {
  const named = namedFiles(catalogue)
  if (named === undefined) return
  const store = yield* Store
  yield* store.run(
    `update blobs set unreferenced_since = null where state = 'kept' and sha256 in (select named.sha256 from ${named})`
  )
  if (accept_missing) return
  const [lacking] = yield* store.run<{ files: number | string; example: string | null }>(
    `select count(*) as files, min(named.sha256) as example from ${named} where not exists (select 1 from blobs where blobs.sha256 = named.sha256 and blobs.state = 'kept')`
  )
  if (lacking !== undefined && Number(lacking.files) > 0)
    return yield* invalidField(
      "files",
      `${Number(lacking.files)} files that the journal names have not come, such as ${lacking.example}; send them first, or accept that they are missing (accept_missing_files).`
    )
})

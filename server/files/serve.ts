/** `GET /files/{uuid}`: downloads a file by its signed URL. */
import { Clock, Effect } from "effect"
import { type Answer, CommandRuntime, get, type Input } from "../../core/kernel/endpoints/endpoint.ts"
import { notFound, Rejection } from "../../core/kernel/fields/rejection.ts"
import { contentDisposition } from "../../core/values/file-name.ts"
import { instantOf } from "../../core/values/time.ts"
import { serverContext } from "../ports/server-context.ts"
import { isShownInPlace } from "./content-type.ts"
import { filesUnavailable } from "./keep.ts"
import { collectWork, fileOf, type NamedFile } from "./collect.ts"
import type { ServerSlice } from "../ports/server-slice.ts"
import { isSameSignature, signatureOf } from "../ports/secret-box.ts"
import { blobs, downloads, file_stores } from "./downloads.ts"

// Signed URLs of files: valid for an hour without a token.

const address_seconds = 3_600

/** Signs path and expiry only, as scheme, host and port may differ between signer and reader. */
const fileSignature = (key: string, uuid: string, expires: string): string =>
  signatureOf(key, "files", `/files/${uuid}?expires=${expires}`)

export const fileUrl = (public_url: string, key: string, uuid: string, now: string): string => {
  const expires = String(Math.floor(Date.parse(now) / 1_000) + address_seconds)
  return `${public_url}/files/${uuid}?expires=${expires}&signature=${fileSignature(key, uuid, expires)}`
}

/** Whether the query has a valid signature and nothing else: `expires` and `signature`, once each. */
export const isSignedFor = (
  key: string,
  uuid: string,
  query: ReadonlyArray<readonly [string, string]>,
  now_millis: number
): boolean => {
  const given = new Map(query)
  const expires = given.get("expires")
  const signature = given.get("signature")
  if (query.length !== 2 || expires === undefined || signature === undefined) return false
  if (!/^[1-9]\d{0,11}$/.test(expires)) return false
  return isSameSignature(signature, fileSignature(key, uuid, expires)) && Number(expires) * 1_000 > now_millis
}

/** The file's response: inline if its type runs no scripts, otherwise a download; always with the stored type. */
export const answerOfFile = ({ mime_type, name, sha256, size_bytes }: NamedFile): Effect.Effect<Answer<never>> =>
  Effect.map(serverContext, ({ blobs }) => ({
    status: 200,
    streamed: {
      type: mime_type,
      size_bytes,
      open: (range) => Effect.map(Effect.catch(blobs.read(sha256, range), filesUnavailable), ({ content }) => content)
    },
    headers: {
      "content-disposition": contentDisposition(name, isShownInPlace(mime_type) ? "inline" : "attachment"),
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "private, max-age=3600, immutable",
      "accept-ranges": "bytes",
      etag: `"${sha256}"`
    }
  }))

const closed = new Rejection({
  kind: "forbidden",
  message: "This address of a file is not complete or holds no longer; ask for it again where you got it."
})
/** 403 for a wrong signature before 404 for an unknown file, so that the answers do not reveal which files exist. */
const served = Effect.fnUntraced(function* (uuid: string, query: Input["query"]): CommandRuntime.Reads<Answer<never>> {
  const { key } = yield* serverContext
  const now_millis = yield* Clock.currentTimeMillis
  if (!isSignedFor(key, uuid, query, now_millis)) return yield* closed
  const file = yield* fileOf((yield* CommandRuntime).catalogue, uuid, instantOf(now_millis))
  return file === undefined ? yield* notFound("There is no such file any more.") : yield* answerOfFile(file)
})

export const file_headers = {
  "Content-Disposition": "The file's name, and whether it may be shown in place",
  ETag: "SHA-256 of the content",
  "Accept-Ranges": "bytes: ranges may be requested",
  "Content-Range": "Returned range, if one was requested",
  "Content-Security-Policy": "Prevents browsers from running scripts in the file",
  "Cross-Origin-Resource-Policy": "Prevents other sites from embedding the file",
  "Cache-Control": "Its reader may keep it for as long as the address holds"
}

export const showFile = get("/files/{uuid}", {
  name: "files.show",
  summary: "Download a file by its signed URL",
  ability: null,
  permission: null,
  metering_weight: 0,
  public: true,
  server_only: true,
  produces: "application/octet-stream",
  error_answers: { 403: null, 404: null, 410: null },
  answer_headers: file_headers,
  run: ({ params, query }) => served(params["uuid"] ?? "", query)
})

// Files on the server: served by signed addresses, kept in the store while a row names them.

export const filesSlice: ServerSlice = {
  name: "files",
  server_tables: [blobs, downloads, file_stores],
  endpoints: [showFile],
  jobs: [collectWork.kind],
  timed: [collectWork]
}

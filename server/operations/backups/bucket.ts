/** Backups in an S3-compatible bucket: one object each, with its description as metadata. */
import { openAsBlob } from "node:fs"
import { writeFile } from "node:fs/promises"
import { Effect, Result, Stream } from "effect"
import { makeBucket } from "../../files/s3-store.ts"
import type { Credentials } from "../../ports/outside.ts"
import { StartupError } from "../../ports/startup-error.ts"
import { type About, decodeAbout } from "./file.ts"

/** Bytes of an uploaded part; a bucket takes 10,000 parts of one file. */
const part_bytes = 33_554_432
const part_millis = 600_000
const about_header = "x-amz-meta-flightcase"
const sealed_header = "x-amz-meta-flightcase-sealed"

const bodyOf = ({ response }: { readonly response: Response }) => Effect.promise(() => response.text())
const uploadInParts = Effect.fnUntraced(function* (
  { ask, place }: ReturnType<typeof makeBucket>,
  key: string,
  path: string,
  headers: { readonly [name: string]: string }
) {
  const begun = yield* bodyOf(yield* ask({ method: "POST", key, query: "uploads=", headers }))
  const upload = `uploadId=${encodeURIComponent(/<UploadId>([^<]+)<\/UploadId>/.exec(begun)?.[1] ?? "")}`
  const blob = yield* Effect.promise(() => openAsBlob(path))
  const sent = Effect.gen(function* () {
    const parts: Array<string> = []
    for (let from = 0; from < blob.size; from += part_bytes) {
      const body = async () => new Uint8Array(await blob.slice(from, from + part_bytes).arrayBuffer())
      const query = `partNumber=${parts.length + 1}&${upload}`
      const { end, response } = yield* ask({ method: "PUT", key, query, body, patience_millis: part_millis })
      end()
      const etag = response.headers.get("etag") ?? ""
      parts.push(`<Part><PartNumber>${parts.length + 1}</PartNumber><ETag>${etag}</ETag></Part>`)
    }
    const body = async () => `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`
    // The answer is 200 at once, and says at its end whether it failed.
    const answer = yield* bodyOf(yield* ask({ method: "POST", key, query: upload, body, patience_millis: part_millis }))
    if (/<Error>/.test(answer)) return yield* Effect.fail(new Error(`The bucket ${place} refused ${key}.`))
  })
  yield* Effect.onError(sent, () => Effect.ignore(ask({ method: "DELETE", key, query: upload })))
})

/** `url`: `s3://bucket/prefix?endpoint=…&region=…`. */
export const bucketBackups = (url: string, credentials: Credentials | undefined) => {
  if (!URL.canParse(url) || new URL(url).hostname === "")
    throw new StartupError(`${url} is no bucket: write s3://bucket/prefix?endpoint=https://…`)
  if (credentials === undefined)
    throw new StartupError("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set for backups in a bucket.")
  const bucket = makeBucket({ url, credentials })
  const { ask, contentOf, objects, place } = bucket
  /** Rejects with a StartupError that names the bucket and the fault. */
  const run = async <A>(work: Effect.Effect<A, Error>, signal?: AbortSignal): Promise<A> => {
    const result = await Effect.runPromise(Effect.result(work), signal === undefined ? {} : { signal })
    if (Result.isFailure(result)) throw new StartupError(result.failure.message, result.failure)
    return result.success
  }
  const missing = (name: string) => new Error(`There is no ${name} in the bucket ${place}.`)
  return {
    /** Names of the objects, in no order. */
    names: () => run(Effect.map(Stream.runCollect(objects), (all) => all.map(({ key }) => key))),
    /** Description of a backup; undefined if another program put it there. */
    describe: (name: string) =>
      run(
        Effect.flatMap(ask({ method: "HEAD", key: name }), ({ end, response: { headers, status } }) => {
          end()
          if (status === 404) return Effect.fail(missing(name))
          const about = decodeAbout(headers.get(about_header))
          if (Result.isFailure(about)) return Effect.succeed(undefined)
          const is_sealed = headers.get(sealed_header) === "true"
          return Effect.succeed({ ...about.success, is_sealed, size_bytes: Number(headers.get("content-length")) })
        })
      ),
    upload: (name: string, path: string, about: About, is_sealed: boolean, signal?: AbortSignal): Promise<void> =>
      run(
        uploadInParts(bucket, name, path, {
          [about_header]: JSON.stringify(about),
          [sealed_header]: String(is_sealed),
          "content-type": "application/octet-stream"
        }),
        signal
      ),
    download: (name: string, path: string): Promise<void> =>
      run(
        Effect.flatMap(ask({ method: "GET", key: name }), (answered) =>
          answered.response.status === 404
            ? Effect.fail(missing(name))
            : Effect.tryPromise({
                try: () => writeFile(path, Stream.toAsyncIterable(contentOf(answered)), { flag: "wx", mode: 0o600 }),
                catch: (cause) => (cause instanceof Error ? cause : new Error(String(cause)))
              })
        )
      ),
    remove: (name: string): Promise<void> => run(Effect.map(ask({ method: "DELETE", key: name }), ({ end }) => end()))
  }
}

/**
 * Files in an S3-compatible bucket, under the same names as in a folder. Content is written to a temporary file first:
 * its length and its SHA-256 are sent ahead, so that the bucket stores all of it or nothing.
 */
import { openAsBlob } from "node:fs"
import { AwsClient } from "aws4fetch"
import { Effect, Option, Result, Schedule, Stream } from "effect"
import { BlobMissing, type BlobStore, BlobStoreFailure, type BlobStoreFault, isSha256 } from "../ports/blob-store.ts"
import type { Credentials } from "../ports/outside.ts"
import { spool, sweepSpool } from "./spool.ts"

interface S3Options {
  /** Bucket and its options: `s3://bucket?endpoint=https://…&region=…&prefix=…`. */
  readonly url: string
  readonly credentials: Credentials
  readonly folder: string
  readonly alone: boolean
  /** Time limit for the bucket's response, and between two chunks of a file. */
  readonly answer_millis?: number
}

const answer_millis_default = 20_000
/** Time limit for sending a file, as slow connections take ten seconds per megabyte. */
const upload_millis = 300_000
const tries_again = { schedule: Schedule.exponential(200), times: 3 } as const
const abandoned_millis = 3_600_000

interface Asked {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE"
  readonly key: string
  readonly query?: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: () => Promise<Blob | Uint8Array<ArrayBuffer> | string>
  readonly patience_millis?: number
}
/** A response whose body is not yet read; `end` abandons it. */
interface Answered {
  readonly response: Response
  readonly end: () => void
}

export const s3Store = (options: S3Options): BlobStore => {
  const { folder, alone } = options
  const bucket = makeBucket(options)
  const { ask, contentOf, objects, place } = bucket
  const opened_millis = Date.now()
  const pathOf = (sha256: string): string => {
    if (!isSha256(sha256)) throw new TypeError("a blob is named by its SHA-256")
    return `${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`
  }
  const has = (sha256: string): Effect.Effect<boolean, BlobStoreFailure> =>
    Effect.map(ask({ method: "HEAD", key: pathOf(sha256) }), ({ response, end }) => {
      end()
      return response.status !== 404
    })
  return {
    kind: "s3",
    place,
    receive: (bytes_max) =>
      Effect.map(spool(folder, bytes_max), (spooling) => ({
        write: spooling.write,
        end: spooling.end,
        keep: Effect.suspend(() => {
          const { sha256 } = spooling.blob()
          const put: Asked = {
            method: "PUT",
            key: pathOf(sha256),
            headers: { "x-amz-content-sha256": sha256, "content-type": "application/octet-stream" },
            body: () => openAsBlob(spooling.path),
            patience_millis: upload_millis
          }
          // Existing content is equal, as its hash was checked when it was stored.
          return Effect.flatMap(has(sha256), (there) =>
            there ? Effect.void : Effect.map(ask(put), ({ end }) => end())
          )
        })
      })),
    read: (sha256, range) =>
      Effect.flatMap(
        ask({
          method: "GET",
          key: pathOf(sha256),
          ...(range === undefined ? {} : { headers: { range: `bytes=${range.first}-${range.last}` } })
        }),
        ({ response, end }) => {
          if (response.status === 404) return Effect.fail(new BlobMissing({ sha256 }))
          const whole = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1]
          return Effect.succeed({
            size_bytes: Number(whole ?? response.headers.get("content-length")),
            content: contentOf({ response, end })
          })
        }
      ),
    has,
    remove: (sha256) => Effect.map(ask({ method: "DELETE", key: pathOf(sha256) }), ({ end }) => end()),
    list: Stream.filterMap(objects, ({ key, stored_at }) => {
      const sha256 = key.split("/").at(-1) ?? ""
      return isSha256(sha256) ? Result.succeed({ sha256, stored_at }) : Result.failVoid
    }),
    mark: markIn(bucket),
    setMark: (mark) =>
      Effect.map(ask({ method: "PUT", key: "store-id", body: async () => `${mark}\n` }), ({ end }) => end()),
    sweep: attempt(place, () => sweepSpool(folder, alone ? opened_millis : Date.now() - abandoned_millis))
  }
}

const attempt = <A>(place: string, work: () => Promise<A>): Effect.Effect<A, BlobStoreFailure> =>
  Effect.tryPromise({ try: work, catch: (cause) => failureOf(place, "failing", String(cause), cause) })

const markIn = ({ ask, place }: ReturnType<typeof makeBucket>): BlobStore["mark"] =>
  Effect.gen(function* () {
    const { response } = yield* ask({ method: "GET", key: "store-id" })
    const text = yield* attempt(place, () => response.text())
    if (response.status !== 404) return text.trim()
    if (text.includes("NoSuchBucket")) return yield* failureOf(place, "failing", "there is no such bucket")
    return undefined
  })

const failureOf = (place: string, fault: BlobStoreFault, said: string, cause?: unknown): BlobStoreFailure =>
  new BlobStoreFailure({ fault, message: `The bucket ${place} cannot be used: ${said}.`, cause })

/**
 * Signed requests to the bucket under its prefix; temporary faults are retried. 404 is an answer to GET, HEAD and
 * DELETE; other refusals fail.
 */
export const makeBucket = ({
  answer_millis = answer_millis_default,
  credentials,
  url
}: Pick<S3Options, "answer_millis" | "credentials" | "url">) => {
  const { endpoint, bucket, prefix, region } = bucketOf(url, credentials)
  const place = `${bucket}${prefix === "" ? "" : `/${prefix.slice(0, -1)}`} at ${endpoint.host}`
  const aws = new AwsClient({
    accessKeyId: credentials.access_key_id,
    secretAccessKey: credentials.secret_access_key,
    ...(credentials.session_token === undefined ? {} : { sessionToken: credentials.session_token }),
    service: "s3",
    region,
    retries: 0
  })
  const base = `${endpoint.href.replace(/\/+$/, "")}/${bucket}`
  const once = (asked: Asked): Effect.Effect<Answered, BlobStoreFailure> =>
    Effect.tryPromise({
      try: async (interrupted) => {
        const stop = new AbortController()
        const end = (): void => stop.abort()
        interrupted.addEventListener("abort", end)
        const timer = setTimeout(end, asked.patience_millis ?? answer_millis)
        try {
          const body = await asked.body?.()
          const path = asked.key === "" ? "" : `/${prefix}${asked.key}`
          const response = await aws.fetch(`${base}${path}${asked.query === undefined ? "" : `?${asked.query}`}`, {
            method: asked.method,
            headers: { ...asked.headers },
            signal: stop.signal,
            redirect: "manual",
            ...(body === undefined ? {} : { body })
          })
          return { response, end }
        } finally {
          clearTimeout(timer)
          interrupted.removeEventListener("abort", end)
        }
      },
      catch: (cause) => failureOf(place, "unreachable", reasonOf(cause), cause)
    }).pipe(
      Effect.flatMap((answered) =>
        answered.response.ok || answered.response.status === 404 ? Effect.succeed(answered) : refused(place, answered)
      )
    )
  const ask: Ask = (asked) =>
    Effect.retry(once(asked), { ...tries_again, while: ({ fault }) => fault === "unreachable" }).pipe(
      // A 404 for the bucket itself is a failure, not a missing file.
      Effect.flatMap((answered) =>
        answered.response.status === 404 &&
        asked.method !== "GET" &&
        asked.method !== "HEAD" &&
        asked.method !== "DELETE"
          ? refused(place, answered)
          : Effect.succeed(answered)
      )
    )
  const contentOf = ({ end, response }: Answered) =>
    Stream.fromAsyncIterable(partsOf(response, end, answer_millis), (cause) =>
      failureOf(place, "unreachable", "it stopped sending", cause)
    )
  return { ask, contentOf, objects: objectsBy(ask, place, prefix), place, prefix }
}
type Ask = (asked: Asked) => Effect.Effect<Answered, BlobStoreFailure>
/** The objects under the prefix, by their keys without it. */
const objectsBy = (ask: Ask, place: string, prefix: string) =>
  Stream.paginate("", (after: string) => {
    const from = after === "" ? "" : `&continuation-token=${encodeURIComponent(after)}`
    const query = `list-type=2&prefix=${encodeURIComponent(prefix)}${from}`
    return Effect.flatMap(ask({ method: "GET", key: "", query }), ({ response }) =>
      response.status === 404
        ? Effect.fail(failureOf(place, "failing", "there is no such bucket"))
        : Effect.map(
            attempt(place, () => response.text()),
            (xml) => pageOf(xml, prefix)
          )
    )
  })

const refused = (place: string, { response, end }: Answered): Effect.Effect<never, BlobStoreFailure> =>
  Effect.gen(function* () {
    const text = yield* Effect.promise(() => response.text().catch(() => ""))
    end()
    const code = /<Code>([^<]{1,80})<\/Code>/.exec(text)?.[1]
    const passes = response.status >= 500 || response.status === 429
    return yield* failureOf(
      place,
      passes ? "unreachable" : "failing",
      `it answers ${response.status}${code === undefined ? "" : ` ${code}`}`
    )
  })
const reasonOf = (cause: unknown): string => {
  if (cause instanceof Error && cause.name === "AbortError") return "it does not answer in time"
  const inner = cause instanceof Error ? cause.cause : undefined
  return inner instanceof Error ? inner.message : cause instanceof Error ? cause.message : String(cause)
}

/** Parses the URL; its path is the prefix unless a parameter is. Throws if it is malformed. */
const bucketOf = (url: string, { region }: Credentials) => {
  const parsed = new URL(url)
  const prefix = (parsed.searchParams.get("prefix") ?? decodeURIComponent(parsed.pathname)).replace(/^\/+|\/+$/g, "")
  const own_region = parsed.searchParams.get("region") ?? region ?? "us-east-1"
  return {
    endpoint: new URL(parsed.searchParams.get("endpoint") ?? `https://s3.${own_region}.amazonaws.com`),
    bucket: parsed.hostname,
    prefix: prefix === "" ? "" : `${prefix}/`,
    region: own_region
  }
}

async function* partsOf(response: Response, end: () => void, idle_millis: number): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader()
  try {
    while (reader !== undefined) {
      const timer = setTimeout(end, idle_millis)
      const part = await reader.read().finally(() => clearTimeout(timer))
      if (part.done) return
      yield part.value
    }
  } finally {
    end()
  }
}

/** The objects on one page of a listing, and the token of the next page. */
const pageOf = (xml: string, prefix: string) => {
  const found = [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].flatMap(([, entry = ""]) => {
    const key = unescaped(/<Key>([^<]*)<\/Key>/.exec(entry)?.[1] ?? "").slice(prefix.length)
    const stored = /<LastModified>([^<]*)<\/LastModified>/.exec(entry)?.[1] ?? ""
    const size_bytes = Number(/<Size>(\d+)<\/Size>/.exec(entry)?.[1])
    return Number.isNaN(Date.parse(stored)) ? [] : [{ key, size_bytes, stored_at: new Date(stored).toISOString() }]
  })
  const next = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(xml)?.[1]
  return [found, next === undefined ? Option.none() : Option.some(unescaped(next))] as const
}
const unescaped = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&")

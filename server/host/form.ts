/**
 * Reads bodies. Of a form with files as a stream: files go straight into the store, hashed and counted, other fields
 * become the body. A file is stored once the form is complete; an interruption leaves nothing behind.
 */
import { Effect, type Scope } from "effect"
import * as MultipartParser from "effect/http/MultipartParser"
import type { SqlError } from "effect/sql"
import { authorizeCall, invalidField, json_body_bytes_max, Rejection } from "../../core/kernel/index.ts"
import type { CommandRuntime, Json, Store, UploadedFile } from "../../core/kernel/index.ts"
import { shownFileName } from "../../core/values/file-name.ts"
import { filesUnavailable, keepReceived } from "../files/downloads.ts"
import { type BodyBudget, malformed, mediaType, type ReadBody, readBody, tooLarge } from "../http/body.ts"
import { BlobTooLarge, type Receiving } from "../ports/blob-store.ts"
import type { HttpRequest } from "../http/http-message.ts"
import { serverContext } from "../ports/server-context.ts"

const parts_max = 100
const files_max = 10
const field_bytes_max = 65_536

type FormEvent =
  | { readonly kind: "field"; readonly name: string; readonly value: Uint8Array }
  | { readonly kind: "file"; readonly field: string; readonly name: string }
  | { readonly kind: "part"; readonly bytes: Uint8Array }
  | { readonly kind: "file_end" }

interface FileField {
  readonly field: string
  readonly name: string
  readonly receiving: Receiving
}

/** Chunks of a request's body; a body not read from a socket comes as one chunk. */
async function* partsOf(
  asked: HttpRequest,
  upload_bytes_max: number,
  taken: (bytes: number) => void
): AsyncGenerator<Uint8Array> {
  if (asked.parts === undefined) {
    const whole = await asked.body(upload_bytes_max + 2 * json_body_bytes_max)
    if (whole === "too long") return
    taken(whole.length)
    yield whole
    return
  }
  for await (const part of asked.parts()) {
    taken(part.length)
    yield part
  }
}

const noForm = "The form is not valid multipart/form-data."
const too_long = `A form takes ${parts_max} fields, ${files_max} files, ${field_bytes_max} bytes in a field and ${json_body_bytes_max} in all that are not files.`

const readForm = (
  source: AsyncIterable<Uint8Array>,
  content_type: string,
  bytes_max: number
): Effect.Effect<ReadBody, Rejection | SqlError.SqlError, Store> =>
  Effect.scoped(
    Effect.gen(function* () {
      const parser = makeParser(content_type)
      const reading = yield* makeReading(bytes_max)
      const parts = source[Symbol.asyncIterator]()
      yield* Effect.addFinalizer(() => Effect.promise(async () => void (await parts.return?.())))
      while (!parser.done()) {
        // A client that disconnects interrupts its request.
        const next = yield* Effect.tryPromise(() => parts.next()).pipe(Effect.catch(() => Effect.interrupt))
        if (next.done === true) parser.end()
        else parser.write(next.value)
        const fault = parser.fault()
        if (fault !== undefined) return malformed(fault)
        for (const event of parser.events()) {
          const refused = yield* reading.take(event)
          if (refused !== undefined) return refused
        }
        if (next.done === true) break
      }
      return yield* reading.kept
    })
  )

/** A multipart parser. Its callbacks run during writes; their results are collected and read between writes. */
const makeParser = (content_type: string) => {
  let events: Array<FormEvent> = []
  let fault: string | undefined
  let done = false
  const parser = MultipartParser.make({
    headers: { "content-type": content_type },
    maxParts: parts_max,
    maxFieldSize: field_bytes_max,
    onField: ({ name }, value) => void events.push({ kind: "field", name, value }),
    onFile: ({ filename, name }) => {
      events.push({ kind: "file", field: name, name: filename ?? "" })
      return (bytes) => void events.push(bytes === null ? { kind: "file_end" } : { kind: "part", bytes })
    },
    onError: (error) => {
      fault ??= error._tag === "ReachedLimit" ? too_long : noForm
    },
    onDone: () => {
      done = true
    }
  })
  return {
    write: (part: Uint8Array) => parser.write(part),
    /** Ends parts that are incomplete. */
    end: () => {
      if (!done && fault === undefined) parser.end()
    },
    done: () => done,
    fault: () => fault,
    events: () => {
      const said = events
      events = []
      return said
    }
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true })
const textOf = (value: Uint8Array): string | undefined => {
  try {
    return utf8.decode(value)
  } catch {
    return undefined
  }
}

/** Collects the parts read so far. The last value of a repeated field or file counts. */
const makeReading = Effect.fnUntraced(function* (bytes_max: number) {
  const { blobs } = yield* serverContext
  const fields: Array<readonly [string, Json]> = []
  const ended: Array<readonly [string, UploadedFile, Receiving]> = []
  let field_bytes = 0
  let current: FileField | undefined

  const takeField = (name: string, value: Uint8Array): ReadBody | undefined => {
    field_bytes += name.length + value.length
    if (field_bytes > json_body_bytes_max) return malformed(too_long)
    const text = textOf(value)
    if (text === undefined) return { body: undefined, body_fault: invalidField(name, "The text is not valid UTF-8.") }
    fields.push([name, text])
    return undefined
  }
  const take = Effect.fnUntraced(function* (event: FormEvent) {
    if (event.kind === "field") return takeField(event.name, event.value)
    if (event.kind === "file") {
      if (ended.length >= files_max) return malformed(too_long)
      current = { field: event.field, name: event.name, receiving: yield* blobs.receive(bytes_max) }
    } else if (current !== undefined && event.kind === "part") yield* current.receiving.write(event.bytes)
    else if (current !== undefined) {
      const { field, name, receiving } = current
      ended.push([field, { name: shownFileName(name), ...(yield* receiving.end) }, receiving])
      current = undefined
    }
    return undefined
  })
  const kept = Effect.gen(function* () {
    for (const [, file, receiving] of ended) yield* keepReceived(receiving, file)
    // Built from pairs, as assignment would fail for a field called `__proto__`.
    return {
      body: Object.fromEntries(fields),
      files: Object.fromEntries(ended.map(([field, file]) => [field, file] as const))
    }
  })
  return {
    take: (event: FormEvent): Effect.Effect<ReadBody | undefined, Rejection, Scope.Scope> =>
      take(event).pipe(
        Effect.catch((failure) =>
          failure instanceof BlobTooLarge
            ? Effect.succeed({
                body: undefined,
                body_fault: invalidField(
                  current?.field ?? "file",
                  `The file must not be longer than ${Math.floor(bytes_max / 1_024)} kilobytes.`
                )
              })
            : filesUnavailable(failure)
        )
      ),
    kept: Effect.catchTag(kept, "BlobStoreFailure", filesUnavailable)
  }
})

/** A request whose body is read, and what is noted of it. */
interface Reading {
  readonly asked: HttpRequest
  request_bytes: number
  /** Releases the bytes reserved for its body. */
  giveBack: (() => void) | undefined
}
const first = (value: HttpRequest["headers"][string]): string | undefined =>
  typeof value === "string" || value === undefined ? value : value[0]

/**
 * Reads the body: where long ones are allowed, only after the permission check and within their budget; files of a form
 * are streamed into the store.
 */
export const bodyFor = Effect.fnUntraced(function* (
  caller: Parameters<typeof authorizeCall>[0],
  trace: Reading,
  bodies: BodyBudget
): CommandRuntime.Reads<ReadBody> {
  const { endpoint } = caller
  const { asked } = trace
  const content_type = first(asked.headers["content-type"])
  if (endpoint.uploads && mediaType(content_type) === "multipart/form-data") {
    yield* authorizeCall(caller)
    return yield* readForm(
      partsOf(asked, endpoint.upload_bytes_max, (bytes) => (trace.request_bytes += bytes)),
      content_type ?? "",
      endpoint.upload_bytes_max
    )
  }
  const max = endpoint.body_max ?? json_body_bytes_max
  if (max > json_body_bytes_max) {
    yield* authorizeCall(caller)
    const announced = Number(first(asked.headers["content-length"]) ?? max)
    trace.giveBack = bodies.take(Math.min(max, Number.isNaN(announced) ? max : announced))
    if (trace.giveBack === undefined) return yield* tooBusy
  }
  return yield* Effect.promise(async (): Promise<ReadBody> => {
    const bytes = await asked.body(max)
    if (bytes === "too long") return { body: undefined, body_fault: tooLarge(max) }
    trace.request_bytes = bytes.length
    return readBody(bytes, content_type, endpoint)
  })
})
const tooBusy = new Rejection({
  kind: "unavailable",
  message: "The server is busy with other long requests; try again.",
  headers: { "retry-after": "2" }
})

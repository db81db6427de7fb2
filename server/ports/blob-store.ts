/**
 * The file store: content by its SHA-256, in a folder or an S3 bucket. A blob is written once and never changed; rows
 * that reference it decide who may read it. `downloads.ts` adds content with its row in `blobs`, and `serve.ts` removes
 * both.
 */
import { Data, Effect, type Scope, Stream } from "effect"

export interface StoredBlob {
  /** SHA-256 in lower-case hex. */
  readonly sha256: string
  readonly size_bytes: number
  /** Media type detected from the content; `application/octet-stream` if unknown. */
  readonly mime_type: string
}
export class BlobTooLarge extends Data.TaggedError("BlobTooLarge")<{ readonly bytes_max: number }> {}
export class BlobMissing extends Data.TaggedError("BlobMissing")<{ readonly sha256: string }> {}
export type BlobStoreFault = "full" | "read_only" | "failing" | "unreachable"
/** The folder or bucket cannot be used. */
export class BlobStoreFailure extends Data.TaggedError("BlobStoreFailure")<{
  readonly fault: BlobStoreFault
  readonly message: string
  readonly cause?: unknown
}> {}

/** A range of bytes, counted from 0; both ends are included. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}
interface ReadBlob {
  /** Size of the complete blob, whatever range is requested. */
  readonly size_bytes: number
  readonly content: Stream.Stream<Uint8Array, BlobStoreFailure>
}

/** Incoming content, in a temporary file until `keep`. */
export interface Receiving {
  readonly write: (part: Uint8Array) => Effect.Effect<void, BlobTooLarge | BlobStoreFailure>
  /** Ends the content, which is then on disk but not yet readable from the store. */
  readonly end: Effect.Effect<StoredBlob, BlobStoreFailure>
  /** Moves the content into the store, after `end`; durable when it returns. Equal content is stored once. */
  readonly keep: Effect.Effect<void, BlobStoreFailure>
}

export interface BlobStore {
  readonly kind: "folder" | "s3"
  /** The folder or bucket, for messages. */
  readonly place: string
  /** Opens a temporary file; it is deleted with the scope, unless `keep` moved it. */
  readonly receive: (bytes_max: number) => Effect.Effect<Receiving, BlobStoreFailure, Scope.Scope>
  readonly read: (sha256: string, range?: ByteRange) => Effect.Effect<ReadBlob, BlobMissing | BlobStoreFailure>
  readonly has: (sha256: string) => Effect.Effect<boolean, BlobStoreFailure>
  /** Removes a blob; does nothing if it does not exist. */
  readonly remove: (sha256: string) => Effect.Effect<void, BlobStoreFailure>
  readonly list: Stream.Stream<{ readonly sha256: string; readonly stored_at: string }, BlobStoreFailure>
  /** Identifies the store for its database; undefined if it has no mark yet. */
  readonly mark: Effect.Effect<string | undefined, BlobStoreFailure>
  readonly setMark: (mark: string) => Effect.Effect<void, BlobStoreFailure>
  /** Removes abandoned temporary files. */
  readonly sweep: Effect.Effect<void, BlobStoreFailure>
}

export const isSha256 = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

/** Receives a complete stream; the caller must still `keep` it. */
export const receiveAll = <E, R>(
  store: BlobStore,
  content: Stream.Stream<Uint8Array, E, R>,
  bytes_max: number
): Effect.Effect<Receiving & { readonly blob: StoredBlob }, E | BlobTooLarge | BlobStoreFailure, R | Scope.Scope> =>
  Effect.gen(function* () {
    const receiving = yield* store.receive(bytes_max)
    yield* Stream.runForEach(content, receiving.write)
    return { ...receiving, blob: yield* receiving.end }
  })

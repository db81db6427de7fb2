/**
 * The file store: by the SHA-256 of content, in a folder or an S3 bucket. A blob is written once and never changed; the
 * rows that name it decide who may read it, and as what. Rows of the table `blobs` list the store's content: `keep.ts`
 * adds content with its row, and `collect.ts` removes both.
 */
import { Data, Effect, type Scope, Stream } from "effect"

export interface StoredBlob {
  /** Lower-case hex. */
  readonly sha256: string
  readonly size_bytes: number
  /** Detected from the content; `application/octet-stream` if unrecognised. */
  readonly mime_type: string
}
export class BlobTooLarge extends Data.TaggedError("BlobTooLarge")<{ readonly bytes_max: number }> {}
export class BlobMissing extends Data.TaggedError("BlobMissing")<{ readonly sha256: string }> {}
export type BlobStoreFault = "full" | "read_only" | "failing" | "unreachable"
/** The folder or the bucket does not work. */
export class BlobStoreFailure extends Data.TaggedError("BlobStoreFailure")<{
  readonly fault: BlobStoreFault
  readonly message: string
  readonly cause?: unknown
}> {}

/** From the first byte to the last, both counted from 0 and both included. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}
interface ReadBlob {
  /** Size of the complete blob, whatever range is requested. */
  readonly size_bytes: number
  readonly content: Stream.Stream<Uint8Array, BlobStoreFailure>
}

/** Content on its way in, in a temporary file until it is kept. */
export interface Receiving {
  readonly write: (part: Uint8Array) => Effect.Effect<void, BlobTooLarge | BlobStoreFailure>
  /** Nothing more comes. The content is on disk, but not yet where it is read from. */
  readonly end: Effect.Effect<StoredBlob, BlobStoreFailure>
  /** After `end`: durable once it answers; the same content twice is one blob. */
  readonly keep: Effect.Effect<void, BlobStoreFailure>
}

export interface BlobStore {
  readonly kind: "folder" | "s3"
  /** For people: the folder, or the bucket. */
  readonly place: string
  /** Content not stored when the scope closes is removed. */
  readonly receive: (bytes_max: number) => Effect.Effect<Receiving, BlobStoreFailure, Scope.Scope>
  readonly read: (sha256: string, range?: ByteRange) => Effect.Effect<ReadBlob, BlobMissing | BlobStoreFailure>
  readonly has: (sha256: string) => Effect.Effect<boolean, BlobStoreFailure>
  /** Nothing happens where it is gone already. */
  readonly remove: (sha256: string) => Effect.Effect<void, BlobStoreFailure>
  readonly list: Stream.Stream<{ readonly sha256: string; readonly stored_at: string }, BlobStoreFailure>
  /** The mark by which a database knows the store again; undefined where it has none yet. */
  readonly mark: Effect.Effect<string | undefined, BlobStoreFailure>
  readonly setMark: (mark: string) => Effect.Effect<void, BlobStoreFailure>
  /** Removes abandoned temporary files. */
  readonly sweep: Effect.Effect<void, BlobStoreFailure>
}

export const isSha256 = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

/** Writes all of a stream and ends it; to be kept by the caller. */
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

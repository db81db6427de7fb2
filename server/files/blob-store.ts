/**
 * Where files are kept: by the SHA-256 of their content, in a folder or an S3 bucket. A blob is written once and never
 * changed; who may read it, and as what, is known to the rows that name it.
 */
import { Data, type Effect, type Stream } from "effect"

export interface StoredBlob {
  /** Lower-case hex. */
  readonly sha256: string
  readonly size_bytes: number
  /** By content; `application/octet-stream` where that does not tell. */
  readonly mime_type: string
}
export class BlobTooLarge extends Data.TaggedError("BlobTooLarge")<{ readonly bytes_max: number }> {}
export class BlobMissing extends Data.TaggedError("BlobMissing")<{ readonly sha256: string }> {}
/** The folder or the bucket does not work: full, read-only, unreachable. */
export class BlobStoreFailure extends Data.TaggedError("BlobStoreFailure")<{
  readonly message: string
  readonly cause?: unknown
}> {}

export interface BlobStore {
  readonly kind: "folder" | "s3"
  /** Durable once it answers; the same content twice is one blob. Leaves nothing behind when it fails or is interrupted. */
  readonly put: <E>(
    content: Stream.Stream<Uint8Array, E>,
    bytes_max: number
  ) => Effect.Effect<StoredBlob, E | BlobTooLarge | BlobStoreFailure>
  readonly read: (
    sha256: string
  ) => Effect.Effect<
    { readonly size_bytes: number; readonly content: Stream.Stream<Uint8Array, BlobStoreFailure> },
    BlobMissing | BlobStoreFailure
  >
  readonly has: (sha256: string) => Effect.Effect<boolean, BlobStoreFailure>
  readonly remove: (sha256: string) => Effect.Effect<void, BlobStoreFailure>
  readonly list: Stream.Stream<{ readonly sha256: string; readonly stored_at: string }, BlobStoreFailure>
}

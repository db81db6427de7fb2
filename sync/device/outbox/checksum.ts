/** A command's checksum: what was acknowledged is what is read, or it is told that it is not. */
import { createHash } from "node:crypto"

/** The parts as the outbox holds them: numbers and texts of one row. */
export interface ChecksummedParts {
  readonly n: unknown
  readonly id: unknown
  readonly name: unknown
  readonly payload: unknown
  readonly ids: unknown
  readonly issued_at: unknown
}

export const checksumOf = ({ n, id, name, payload, ids, issued_at }: ChecksummedParts): string =>
  createHash("sha256")
    .update(JSON.stringify([Number(n), id, name, payload, ids, issued_at]))
    .digest("hex")
/** A command kept by a release that knew no checksums has none. */
export const isIntact = (row: ChecksummedParts & { readonly checksum: unknown }): boolean =>
  row.checksum === null || row.checksum === undefined || row.checksum === checksumOf(row)

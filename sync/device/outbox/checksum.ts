/** A command's checksum: a row that is not what was acknowledged is reported as damaged. */
import { createHash } from "node:crypto"

/** The columns a checksum covers, as the outbox holds them. */
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
/** Rows without a checksum, of releases before it was added, count as intact. */
export const isIntact = (row: ChecksummedParts & { readonly checksum: unknown }): boolean =>
  row.checksum === null || row.checksum === undefined || row.checksum === checksumOf(row)

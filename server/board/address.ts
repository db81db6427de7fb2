/** Signed addresses of boards: as secret as a token that may read the day, and nothing else. */
import { createHmac, timingSafeEqual } from "node:crypto"

/** Boards sign with a key of their own, so that no other signature of this server opens one. */
const boardKey = (key: string): Buffer => createHmac("sha256", key).update("flightcase boards").digest()
export interface BoardAddress {
  readonly id: number
  /** Which of its addresses: each one that is made ends those before it. */
  readonly address_no: number
}
const signature = (key: string, { address_no, id }: BoardAddress): string =>
  createHmac("sha256", boardKey(key)).update(`board ${id} ${address_no}`).digest("base64url")

/** Ids are never given twice: the address of a board that was removed opens nothing. */
export const boardUrl = (public_url: string, key: string, { address_no, id }: BoardAddress): string =>
  `${public_url}/board/${id}-${address_no}-${signature(key, { id, address_no })}`
/** The board and address that a token names; undefined where the signature is not its own. */
export const boardAddressIn = (key: string, token: string): BoardAddress | undefined => {
  const [, id, address_no, given = ""] = /^([1-9]\d{0,14})-([1-9]\d{0,8})-([\w-]{43})$/.exec(token) ?? []
  if (id === undefined || address_no === undefined) return undefined
  const named = { id: Number(id), address_no: Number(address_no) }
  const right = Buffer.from(signature(key, named))
  const other = Buffer.from(given)
  return right.length === other.length && timingSafeEqual(right, other) ? named : undefined
}

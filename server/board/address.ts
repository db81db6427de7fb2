/** Signed addresses of boards: as secret as a token that may read the day, and nothing else. */
import { createHmac, timingSafeEqual } from "node:crypto"

/** Boards sign with a key of their own, so that no other signature of this server opens one. */
const boardKey = (key: string): Buffer => createHmac("sha256", key).update("flightcase boards").digest()
export interface BoardAddress {
  readonly id: number
  /** Which of its addresses: each one that is made ends those before it. */
  readonly address_no: number
}
interface MarkedAddress extends BoardAddress {
  readonly mark: string | null
}
const signature = (key: string, { address_no, id, mark }: MarkedAddress): string =>
  createHmac("sha256", boardKey(key))
    .update(`board ${id} ${address_no}${mark === null ? "" : ` ${mark}`}`)
    .digest("base64url")

/** Neither its id nor its mark is given twice: the address of a board that was removed opens nothing. */
export const boardUrl = (public_url: string, key: string, address: MarkedAddress): string =>
  `${public_url}/board/${address.id}-${address.address_no}-${signature(key, address)}`
/** As somebody gave it: whether its signature is right is seen beside the board's mark. */
export interface GivenAddress extends BoardAddress {
  readonly signature: string
}
export const boardAddressIn = (token: string): GivenAddress | undefined => {
  const [, id, address_no, given = ""] = /^([1-9]\d{0,14})-([1-9]\d{0,8})-([\w-]{43})$/.exec(token) ?? []
  if (id === undefined || address_no === undefined) return undefined
  return { id: Number(id), address_no: Number(address_no), signature: given }
}
export const isSigned = (key: string, { signature: given, ...named }: GivenAddress, mark: string | null): boolean => {
  const right = Buffer.from(signature(key, { ...named, mark }))
  const other = Buffer.from(given)
  return right.length === other.length && timingSafeEqual(right, other)
}

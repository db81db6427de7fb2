/** Signed addresses of files: they open without a token, for an hour. */
import { createHmac, timingSafeEqual } from "node:crypto"

export const address_seconds = 3_600

/** Files sign with a key of their own, so that no other signature of this server opens one. */
const fileKey = (key: string): Buffer => createHmac("sha256", key).update("flightcase files").digest()
/** Of the path alone, as scheme, host and port may change between the signer and the reader. */
const signatureOf = (key: string, uuid: string, expires: string): string =>
  createHmac("sha256", fileKey(key)).update(`/files/${uuid}?expires=${expires}`).digest("hex")

export const fileUrl = (public_url: string, key: string, uuid: string, now: string): string => {
  const expires = String(Math.floor(Date.parse(now) / 1_000) + address_seconds)
  return `${public_url}/files/${uuid}?expires=${expires}&signature=${signatureOf(key, uuid, expires)}`
}

/** Exactly `expires` and `signature`, once each: anything beside them makes the address invalid. */
export const isSignedFor = (
  key: string,
  uuid: string,
  query: ReadonlyArray<readonly [string, string]>,
  now_millis: number
): boolean => {
  const given = new Map(query)
  const expires = given.get("expires")
  const signature = given.get("signature")
  if (query.length !== 2 || expires === undefined || signature === undefined) return false
  if (!/^[1-9]\d{0,11}$/.test(expires)) return false
  const right = Buffer.from(signatureOf(key, uuid, expires), "utf8")
  const sent = Buffer.from(signature, "utf8")
  return sent.length === right.length && timingSafeEqual(sent, right) && Number(expires) * 1_000 > now_millis
}

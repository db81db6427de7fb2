/** Signed feed addresses (members-activities 7): they open without a token, so they are as secret as one. */
import { createHmac, timingSafeEqual } from "node:crypto"

/** Whose calendar: everybody's, or one user's. */
export type FeedOf = { readonly scope: "all" } | { readonly scope: "user"; readonly user_id: number }

/** `/calendar/feed.ics`, `/calendar/feed/7.ics`. */
export const feedPath = (of: FeedOf): string => of.scope === "all" ? "/calendar/feed.ics" : `/calendar/feed/${of.user_id}.ics`

/** Feeds sign with a key of their own, so that no other signature of this server opens one. */
const feedKey = (key: string): Buffer => createHmac("sha256", key).update("flightcase calendar feeds").digest()

/** Hex HMAC-SHA256 of the path alone: scheme, host and port may change between the signer and the reader. */
export const feedSignature = (key: string, path: string): string => createHmac("sha256", feedKey(key)).update(path).digest("hex")

/** Compared in constant time. Any query parameter beside `signature`, or a second one, makes it invalid. */
export const isSigned = (key: string, path: string, query: ReadonlyArray<readonly [string, string]>): boolean => {
  const [parameter, ...more] = query
  if (parameter === undefined || more.length > 0 || parameter[0] !== "signature") return false
  const given = Buffer.from(parameter[1], "utf8"), right = Buffer.from(feedSignature(key, path), "utf8")
  return given.length === right.length && timingSafeEqual(given, right)
}

/** The whole address to subscribe to. */
export const feedUrl = (public_url: string, key: string, of: FeedOf): string => `${public_url}${feedPath(of)}?signature=${feedSignature(key, feedPath(of))}`

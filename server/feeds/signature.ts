/** Signed feed addresses (rules/members-activities 7): they open without a token, so they are as secret as one. */
import { createHmac, timingSafeEqual } from "node:crypto"

/** Whose calendar: everybody's, or one user's. */
export type FeedOf = { readonly scope: "all" } | { readonly scope: "user"; readonly user_id: number }

/** `/calendar/feed.ics`, `/calendar/feed/7.ics`. */
export const feedPath = (of: FeedOf): string =>
  of.scope === "all" ? "/calendar/feed.ics" : `/calendar/feed/${of.user_id}.ics`

/** Feeds sign with a key of their own, so that no other signature of this server opens one. */
const feedKey = (key: string): Buffer => createHmac("sha256", key).update("flightcase calendar feeds").digest()

/**
 * Hex HMAC-SHA256 of the path alone, as scheme, host and port may change between the signer and the reader. One
 * person's calendar is that person's link; of everybody's calendar each person who may have it gets a link of their
 * own.
 */
export const feedSignature = (key: string, of: FeedOf, person_id: number): string =>
  createHmac("sha256", feedKey(key))
    .update(of.scope === "all" ? `${feedPath(of)} for ${person_id}` : feedPath(of))
    .digest("hex")

/** The one signature of a query. Any parameter beside it, or a second one, makes the address invalid. */
export const signatureIn = (query: ReadonlyArray<readonly [string, string]>): string | undefined => {
  const [parameter, ...more] = query
  return parameter === undefined || more.length > 0 || parameter[0] !== "signature" ? undefined : parameter[1]
}
/** Compared in constant time. */
export const isSignedFor = (key: string, of: FeedOf, person_id: number, signature: string): boolean => {
  const given = Buffer.from(signature, "utf8"),
    right = Buffer.from(feedSignature(key, of, person_id), "utf8")
  return given.length === right.length && timingSafeEqual(given, right)
}

/** The whole address to subscribe to. */
export const feedUrl = (public_url: string, key: string, of: FeedOf, person_id: number): string =>
  `${public_url}${feedPath(of)}?signature=${feedSignature(key, of, person_id)}`

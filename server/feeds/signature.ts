/** Signed feed addresses (rules/members-activities 7): they open without a token, so they are as secret as one. */
import { createHmac, timingSafeEqual } from "node:crypto"
import { type CalendarKind, chosenKinds, kindsIn, kindsText } from "../../core/calendar/kinds.ts"

/** Whose calendar, everybody's or one user's, and what it holds: activities alone where nothing is said. */
export type FeedOf = ({ readonly scope: "all" } | { readonly scope: "user"; readonly user_id: number }) & {
  readonly kinds: ReadonlyArray<CalendarKind>
}

const bare = (of: FeedOf): string => (of.scope === "all" ? "/calendar/feed.ics" : `/calendar/feed/${of.user_id}.ics`)
/** `/calendar/feed.ics`, `/calendar/feed/7.ics`, `/calendar/feed/7.ics?with=orders,returns`. */
export const feedPath = (of: FeedOf): string => {
  const chosen = kindsText(of.kinds)
  return chosen === undefined ? bare(of) : `${bare(of)}?with=${chosen}`
}

/** Feeds sign with a key of their own, so that no other signature of this server opens one. */
const feedKey = (key: string): Buffer => createHmac("sha256", key).update("flightcase calendar feeds").digest()

/**
 * Hex HMAC-SHA256 of path and choice alone, as scheme, host and port may change between the signer and the reader. One
 * person's calendar is that person's link; of everybody's calendar each person who may have it gets a link of their
 * own.
 */
export const feedSignature = (key: string, of: FeedOf, person_id: number): string =>
  createHmac("sha256", feedKey(key))
    .update(of.scope === "all" ? `${feedPath(of)} for ${person_id}` : feedPath(of))
    .digest("hex")

/**
 * The one signature of a query, and what was chosen before it. Any other parameter, or a second one of these, makes the
 * address invalid.
 */
export const signedQuery = (
  query: ReadonlyArray<readonly [string, string]>
): { readonly signature: string; readonly kinds: ReadonlyArray<CalendarKind> } | undefined => {
  const given = new Map(query)
  const signature = given.get("signature"),
    chosen = given.get("with")
  if (signature === undefined || query.length > (chosen === undefined ? 1 : 2)) return undefined
  const kinds = chosen === undefined ? chosenKinds(undefined) : kindsIn(chosen)
  return kinds === undefined ? undefined : { signature, kinds }
}
/** Compared in constant time. */
export const isSignedFor = (key: string, of: FeedOf, person_id: number, signature: string): boolean => {
  const given = Buffer.from(signature, "utf8"),
    right = Buffer.from(feedSignature(key, of, person_id), "utf8")
  return given.length === right.length && timingSafeEqual(given, right)
}

/** The whole address to subscribe to. */
export const feedUrl = (public_url: string, key: string, of: FeedOf, person_id: number): string =>
  [
    public_url,
    feedPath(of),
    kindsText(of.kinds) === undefined ? "?" : "&",
    `signature=${feedSignature(key, of, person_id)}`
  ].join("")

/**
 * Calendar feeds for phones and mail programs (rules/members-activities 7): opened by a signature instead of a token,
 * and not sent again while unchanged.
 */
import { createHash } from "node:crypto"
import {
  calendar_access,
  type CalendarKind,
  chosenKinds,
  feedHeaders,
  feedName,
  kindsIn,
  kindsText,
  missingPermission,
  requireKinds,
  with_field
} from "../../../core/overview/calendar/kinds.ts"
import { Clock, Effect } from "effect"
import { feedText, uid_host_setting, uidHost } from "../../../core/overview/calendar/api.ts"
import { choice, get, integer, list, notFound, ok, Rejection, settings_table } from "../../../core/kernel/index.ts"
import { settingsUpdated, Shown, Store, text, unpagedMeta } from "../../../core/kernel/index.ts"
import type { Answer, CommandRuntime, Failure, Input, SharedDraft } from "../../../core/kernel/index.ts"
import { lockDatabase } from "../../../core/kernel/runtime/schema.ts"
import { isAdministrator, roles, type UserRow, users, viewerOf } from "../../../core/people/users/permissions.ts"
import { isSameSignature, signatureOf } from "../../ports/secret-box.ts"
import { instantOf } from "../../../core/values/time.ts"
import { recordByServer, ServerContext, serverContext, open_access } from "../../ports/server-context.ts"
import type { ServerSlice } from "../../ports/server-slice.ts"

// Signed feed addresses (rules/members-activities 7): they open without a token, so they are as secret as one.

/** Calendar of all users or of one, and the kinds of entries in it. */
type FeedOf = ({ readonly scope: "all" } | { readonly scope: "user"; readonly user_id: number }) & {
  readonly kinds: ReadonlyArray<CalendarKind>
}

const bare = (of: FeedOf): string => (of.scope === "all" ? "/calendar/feed.ics" : `/calendar/feed/${of.user_id}.ics`)
/** Path of a feed: `/calendar/feed.ics`, `/calendar/feed/7.ics`, `/calendar/feed/7.ics?with=orders,returns`. */
const feedPath = (of: FeedOf): string => {
  const chosen = kindsText(of.kinds)
  return chosen === undefined ? bare(of) : `${bare(of)}?with=${chosen}`
}

/**
 * Signature over path, contents and user, as scheme, host and port may change. A user's calendar has one link; the
 * calendar of all users has a separate link for each user who may see it.
 */
const feedSignature = (key: string, of: FeedOf, person_id: number): string =>
  signatureOf(key, "calendar feeds", of.scope === "all" ? `${feedPath(of)} for ${person_id}` : feedPath(of))

/** Signature and kinds in the query; undefined without a signature, and for unknown or repeated parameters or kinds. */
const signedQuery = (
  query: ReadonlyArray<readonly [string, string]>
): { readonly signature: string; readonly kinds: ReadonlyArray<CalendarKind> } | undefined => {
  const given = new Map(query)
  const signature = given.get("signature"),
    chosen = given.get("with")
  if (signature === undefined || query.length > (chosen === undefined ? 1 : 2)) return undefined
  const kinds = chosen === undefined ? chosenKinds(undefined) : kindsIn(chosen)
  return kinds === undefined ? undefined : { signature, kinds }
}
const isSignedFor = (key: string, of: FeedOf, person_id: number, signature: string): boolean =>
  isSameSignature(signature, feedSignature(key, of, person_id))

export const feedUrl = (public_url: string, key: string, of: FeedOf, person_id: number): string =>
  [
    public_url,
    feedPath(of),
    kindsText(of.kinds) === undefined ? "?" : "&",
    `signature=${feedSignature(key, of, person_id)}`
  ].join("")

/** ETag of a calendar without its DTSTAMP, the time of writing, which differs although no event changed. */
const tagOf = (text: string): string =>
  `W/"${createHash("sha256")
    .update(text.replace(/^DTSTAMP:.*\r\n/gm, ""))
    .digest("base64url")}"`

const feedSays = {
  "Content-Disposition": "Name of the file",
  ETag: "Version of the calendar, ignoring its time of writing"
}
const open = {
  ...open_access,
  produces: "text/calendar",
  error_answers: { 403: null },
  answer_headers: feedSays
} as const satisfies SharedDraft

/**
 * Feeds a user may currently subscribe to; links to others do not open. Users who may see orders see everyone's orders;
 * everyone's activities are for administrators.
 */
const feedsOf = Effect.fnUntraced(function* (
  user: UserRow,
  kinds: ReadonlyArray<CalendarKind>
): Store.Reads<ReadonlyArray<FeedOf>> {
  const held = yield* Store.getMany(roles, user.role_ids)
  if (!user.is_active || missingPermission(viewerOf(user, held, null), kinds) !== undefined) return []
  const sees_all = !kinds.includes("activities") || isAdministrator(user, held)
  return [{ scope: "user", user_id: user.id, kinds }, ...(sees_all ? [{ scope: "all", kinds } as const] : [])]
})
const mayHave = (user: UserRow, of: FeedOf) =>
  Effect.map(feedsOf(user, of.kinds), (feeds) => feeds.some((feed) => feedPath(feed) === feedPath(of)))

/**
 * User of a link: the calendar's user or, for the calendar of all users, the active user whose signature it has;
 * undefined if the signature is wrong. Permissions are checked by {@link mayHave}.
 */
const personOf = Effect.fnUntraced(function* (
  key: string,
  of: FeedOf,
  signature: string
): Store.Reads<UserRow | undefined> {
  if (of.scope === "user") {
    if (!isSignedFor(key, of, of.user_id, signature)) return undefined
    const user = yield* Store.get(users, of.user_id)
    return user ?? (yield* notFound("No such user."))
  }
  return (yield* Store.find(users, { is_active: true })).find((user) => isSignedFor(key, of, user.id, signature))
})

const closed = new Rejection({
  kind: "forbidden",
  message:
    "This address of a calendar is not complete or holds no longer; ask for it again (GET /api/v1/calendar_feeds)."
})
/** Responds with 403 to a wrong signature before 404 for an unknown user, so that users cannot be enumerated. */
const served = Effect.fnUntraced(function* (
  whose: { readonly scope: "all" } | { readonly scope: "user"; readonly user_id: number },
  query: Input["query"]
): Effect.fn.Return<Answer<never>, Failure, Store | CommandRuntime> {
  const { key } = yield* serverContext
  const signed = signedQuery(query)
  if (signed === undefined) return yield* closed
  const of: FeedOf = { ...whose, kinds: signed.kinds }
  const person = yield* personOf(key, of, signed.signature)
  if (person === undefined || !(yield* mayHave(person, of))) return yield* closed
  const held = yield* Store.getMany(roles, person.role_ids)
  const text = yield* feedText({
    user_id: of.scope === "user" ? of.user_id : undefined,
    kinds: of.kinds,
    reader: viewerOf(person, held, null)
  })
  return {
    status: 200,
    content: { type: feedHeaders["content-type"], text },
    headers: {
      "content-disposition": feedHeaders["content-disposition"],
      "cache-control": "private, no-cache",
      etag: tagOf(text)
    }
  }
})
const entry = (server: ServerContext["Service"], of: FeedOf, person: UserRow) => ({
  scope: of.scope,
  user_id: of.scope === "user" ? of.user_id : null,
  with: [...of.kinds],
  name: feedName(of.scope === "user" ? person.name : null, of.kinds),
  url: feedUrl(server.public_url(), server.key, of, person.id)
})

export const feedsSlice: ServerSlice = {
  name: "feeds",
  endpoints: [
    get("/calendar/feed.ics", {
      name: "calendar.feed",
      summary: "Show the calendar feed of all activities, or of the kinds in the signed URL",
      ...open,
      run: ({ query }) => served({ scope: "all" }, query)
    }),
    get("/calendar/feed/{user}.ics", {
      name: "calendar.user_feed",
      summary: "Show the calendar feed of one user's activities, or of the kinds in the signed URL",
      ...open,
      run: ({ params, query }) => {
        const user_id = /^([1-9]\d{0,14})\.ics$/.exec(params["user"] ?? "")?.[1]
        return user_id === undefined
          ? Effect.fail(notFound())
          : served({ scope: "user", user_id: Number(user_id) }, query)
      }
    }),
    get("/api/v1/calendar_feeds", {
      answer: {
        calendar_feeds: Shown.objects({
          scope: choice({ all: "Everybody's", user: "One user's" }),
          user_id: integer({ nullable: true }),
          with: list(text(), { describe: "Kinds of entries in the feed" }),
          name: text(),
          url: text()
        }),
        meta: Shown.meta
      },
      name: "calendar_feeds.list",
      summary: "List calendar feed URLs: yours, and everyone's if you may see them",
      ...calendar_access,
      metering_weight: 0,
      server_only: true,
      fields: { with: with_field },
      run: Effect.fnUntraced(function* ({ query, values, viewer }) {
        const kinds = chosenKinds(values.with)
        yield* requireKinds(viewer, kinds)
        const server = yield* serverContext
        const user = yield* Store.get(users, viewer.user_id)
        const feeds = user === undefined ? [] : (yield* feedsOf(user, kinds)).map((of) => entry(server, of, user))
        return ok({ calendar_feeds: feeds, meta: unpagedMeta(feeds.length, query) })
      })
    })
  ]
}

/**
 * Stores the host in the UIDs of calendar entries unless one is stored: that of the server's first URL, even if it
 * changes. Concurrent starts wait for each other.
 */
export const keepUidHost = Effect.fnUntraced(function* (public_url: string) {
  if ((yield* Store.get(settings_table, uid_host_setting)) !== undefined) return
  yield* Store.transaction(
    Effect.gen(function* () {
      yield* lockDatabase
      if ((yield* Store.get(settings_table, uid_host_setting)) !== undefined) return
      const recorded_at = instantOf(yield* Clock.currentTimeMillis)
      const [group = "", key = ""] = uid_host_setting.split(".")
      yield* recordByServer([settingsUpdated.make({ group, values: { [key]: uidHost(public_url) } })], recorded_at)
    })
  )
})

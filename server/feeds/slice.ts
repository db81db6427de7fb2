/**
 * Calendar feeds as phones and mail programs subscribe to them (spec 4.17, members-activities 7): opened by a signature
 * instead of a token, and not sent again while nothing in them changed.
 */
import { createHash } from "node:crypto"
import { Effect, Option } from "effect"
import { feedText } from "../../core/calendar/api.ts"
import { feedHeaders, feedName } from "../../core/calendar/feed.ts"
import { type Answer, get, type Fault, type Input } from "../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { notFound, Rejection } from "../../core/kernel/rejection.ts"
import { ok, unpagedMeta } from "../../core/kernel/resource.ts"
import type { Site } from "../../core/kernel/site.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { roles, users } from "../../core/users/schema.ts"
import { rolesOf } from "../../core/users/viewer.ts"
import { Hosting } from "../hosting.ts"
import type { ServerSlice } from "../server-slice.ts"
import { type FeedOf, feedPath, feedUrl, isSigned } from "./signature.ts"

/** What a reader compares: every line but the moment of writing, which is all that differs while nothing happens. */
const tagOf = (text: string): string => `W/"${createHash("sha256").update(text.replace(/^DTSTAMP:.*\r\n/gm, "")).digest("base64url")}"`

const open = { ability: null, permission: null, weight: 0, public: true, server_only: true, produces: "text/calendar" } as const

/** The key to sign with and the public address; there wherever these endpoints are asked, as they are a server's own. */
const hosted = Effect.map(Effect.serviceOption(Hosting), Option.getOrThrow)

/** 403 for a wrong signature before 404 for an unknown user, so that nobody counts users by trying. */
const served = (of: FeedOf, query: Input["query"]): Effect.Effect<Answer, Fault, Store | Site> => Effect.gen(function*() {
  const hosting = yield* hosted
  if (!isSigned(hosting.key, feedPath(of), query)) {
    return yield* new Rejection({ kind: "forbidden", message: "This address of a calendar is not complete or holds no longer; ask for it again (GET /api/v1/calendar_feeds)." })
  }
  const text = yield* feedText(of.scope === "user" ? of.user_id : undefined)
  return {
    status: 200, content: { type: feedHeaders["content-type"]!, text },
    headers: { "content-disposition": feedHeaders["content-disposition"]!, etag: tagOf(text), "cache-control": "private, no-cache" }
  }
})
const entry = (hosting: Hosting["Service"], of: FeedOf, name: string): JsonObject =>
  ({ scope: of.scope, user_id: of.scope === "user" ? of.user_id : null, name, url: feedUrl(hosting.public_url(), hosting.key, of) })

export const feedsSlice: ServerSlice = {
  name: "feeds",
  endpoints: [
    get("/calendar/feed.ics", {
      name: "calendar.feed", summary: "Every scheduled activity as iCalendar, for whoever has the signed address", ...open,
      run: ({ query }) => served({ scope: "all" }, query)
    }),
    get("/calendar/feed/{user}.ics", {
      name: "calendar.user_feed", summary: "One user's activities as iCalendar, for whoever has the signed address", ...open,
      run: ({ params, query }) => {
        const user_id = /^([1-9]\d{0,14})\.ics$/.exec(params["user"]!)?.[1]
        return user_id === undefined ? Effect.fail(notFound()) : served({ scope: "user", user_id: Number(user_id) }, query)
      }
    }),
    get("/api/v1/calendar_feeds", {
      name: "calendar_feeds.list", summary: "Addresses to subscribe to: your own calendar's and, for administrators, everybody's",
      ability: "activities:read", permission: "activities.view", weight: 0, server_only: true,
      run: ({ viewer }) => Effect.gen(function*() {
        const store = yield* Store
        const hosting = yield* hosted
        const user = yield* store.get(users, viewer.user_id)
        const oversees = user !== undefined && (user.is_owner || rolesOf(user, yield* store.find(roles, {})).some(({ name }) => name === "Admin"))
        const feeds = [entry(hosting, { scope: "user", user_id: viewer.user_id }, feedName(viewer.name)), ...oversees ? [entry(hosting, { scope: "all" }, feedName(null))] : []]
        return ok({ calendar_feeds: feeds, meta: unpagedMeta(feeds.length) })
      })
    })
  ]
}

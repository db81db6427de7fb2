/** The calendar as iCalendar text (rules/members-activities 7), for signed feeds and users who may see activities. */
import { Clock, Effect } from "effect"
import { activities } from "../activities/schema.ts"
import type { Slice } from "../kernel/catalogue.ts"
import { type Failure, get } from "../kernel/endpoint.ts"
import { integer } from "../kernel/field.ts"
import { notFound } from "../kernel/rejection.ts"
import { settings_table } from "../kernel/settings.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import { columnList } from "../kernel/store/statement.ts"
import { Store } from "../kernel/store/store.ts"
import { users } from "../users/schema.ts"
import { instantOf } from "../values/time.ts"
import { zoneOf } from "../values/zone.ts"
import { feedHeaders, feedName } from "./headers.ts"

/** The feed as of now: one user's activities, or everybody's. 404 for an unknown user. Four queries. */
export const feedText = (user_id: number | undefined): Effect.Effect<string, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const { calendarFeed, feedStart, uidHost } = yield* Effect.promise(() => import("./feed.ts"))
    const store = yield* Store
    // The server's address on replicas as well: with other UIDs, a reader of both feeds would show everything twice.
    const { public_url } = yield* CommandRuntime
    const generated_at = instantOf(yield* Clock.currentTimeMillis)
    const user = user_id === undefined ? undefined : yield* store.get(users, user_id)
    if (user_id !== undefined && user === undefined) return yield* notFound("No such user.")
    const [since, owned] = store.dialect === "pg" ? ["$1", "$2"] : ["?", "?"]
    const rows = (yield* store.run(
      `select ${columnList(activities)} from "activities" where "starts_at" >= ${since}` +
        `${user === undefined ? "" : ` and "owned_by" = ${owned}`} order by "starts_at", "id"`,
      [feedStart(generated_at), ...(user === undefined ? [] : [user.id])]
    )).map((row) => store.decode(activities, row))
    const owners = new Map(
      (yield* store.getMany(
        users,
        rows.flatMap((row) => row.owned_by ?? [])
      )).map((one) => [one.id, one])
    )
    const timezone = (yield* store.get(settings_table, "company.timezone"))?.value
    return calendarFeed(
      rows.map((row) => ({ ...row, owner: owners.get(row.owned_by ?? 0) ?? null })),
      {
        generated_at,
        host: uidHost(public_url?.() ?? ""),
        calendar_name: feedName(user?.name ?? null),
        zone: zoneOf(timezone as string | null | undefined)
      }
    )
  })

export const calendarSlice: Slice = {
  name: "calendar_feeds",
  endpoints: [
    get("/api/v1/calendar_feeds/export", {
      error_answers: { 404: null },
      answer_headers: { "Content-Disposition": "The name of the file" },
      name: "calendar_feeds.export",
      summary: "The calendar as iCalendar text: everybody's, or one user's",
      ability: "activities:read",
      permission: "activities.view",
      produces: "text/calendar",
      fields: { user_id: integer({ nullable: true, min: 1 }) },
      run: ({ values }) =>
        Effect.map(feedText(values.user_id ?? undefined), (text) => ({
          status: 200,
          content: { type: feedHeaders["content-type"], text },
          headers: { "content-disposition": feedHeaders["content-disposition"] }
        }))
    })
  ]
}

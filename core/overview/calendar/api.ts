/**
 * The calendar as iCalendar text (rules/members-activities 7), for signed feeds and for users who may see its entries.
 */
import { CommandRuntime, get, hasOnePermission, integer, later, notFound, referredRows } from "../../kernel/index.ts"
import { settings_table, Store, text, visibleColumnsOf } from "../../kernel/index.ts"
import type { Failure, SettingGroups, Slice, Viewer } from "../../kernel/index.ts"
import { Clock, Effect } from "effect"
import { activities } from "../../office/activities/schema.ts"
import { restrictToToken } from "../../kernel/endpoints/token-permissions.ts"
import { addresses, members } from "../../people/members/schema.ts"
import { opportunities, order, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { stores } from "../../setup/stores.ts"
import { type UserRow, users } from "../../people/users/permissions.ts"
import { instantOf, zoneOf } from "../../values/time.ts"
import type { FeedActivity, FeedEntry } from "./feed.ts"
import type { CalendarKind } from "./kinds.ts"
import { calendar_access, chosenKinds, feedHeaders, feedName, requireKinds, with_field } from "./kinds.ts"

// Setting for the host in UIDs of calendar entries.

/** Recorded at a server's first start with an address, so that UIDs stay when the address changes. */
const calendarSettings = {
  calendar: {
    uid_host: text({
      nullable: true,
      max: 253,
      describe: "Host in calendar UIDs; default: that of the server's first URL"
    })
  }
} satisfies SettingGroups
export const uid_host_setting = "calendar.uid_host"

/** Host of the server's address; `flightcase` if it has none, so that UIDs stay stable. */
export const uidHost = (address: string): string => {
  const host = URL.canParse(address) ? new URL(address).hostname : ""
  return host === "" ? "flightcase" : host
}

const feeds = later(() => import("./feed.ts"))

/** The requested feed and its reader. */
interface FeedAsked {
  /** User whose calendar it is; undefined for everybody's. */
  readonly user_id: number | undefined
  readonly kinds: ReadonlyArray<CalendarKind>
  /** The reader, whose permissions decide the content. Access to the kinds was checked before. */
  readonly reader: Viewer
}
/** Text of the feed as of now; 404 for an unknown user. Five queries, and four more with orders. */
export const feedText = Effect.fnUntraced(function* ({
  kinds,
  reader,
  user_id
}: FeedAsked): Effect.fn.Return<string, Failure, Store | CommandRuntime> {
  const { calendarFeed, feedStart } = yield* feeds
  // Replicas use the server's address, too: with other UIDs, a reader of both feeds would show every entry twice.
  const { public_url } = yield* CommandRuntime
  const generated_at = instantOf(yield* Clock.currentTimeMillis)
  const user = user_id === undefined ? undefined : yield* Store.get(users, user_id)
  if (user_id !== undefined && user === undefined) return yield* notFound("No such user.")
  const since = feedStart(generated_at)
  const timezone = (yield* Store.get(settings_table, "company.timezone"))?.value
  const kept_host = (yield* Store.get(settings_table, uid_host_setting))?.value
  const url = public_url?.() ?? ""
  const zone = zoneOf(typeof timezone === "string" ? timezone : null)
  return calendarFeed(
    kinds.includes("activities") ? yield* activitiesSince(since, user, reader) : [],
    {
      generated_at,
      host: typeof kept_host === "string" && kept_host !== "" ? kept_host : uidHost(url),
      url,
      calendar_name: feedName(user?.name ?? null, kinds),
      zone
    },
    kinds.every((kind) => kind === "activities") ? [] : yield* ordersSince(since, user, kinds, reader, zone)
  )
})

const activitiesSince = Effect.fnUntraced(function* (
  since: string,
  user: UserRow | undefined,
  reader: Viewer
): Store.Reads<ReadonlyArray<FeedActivity>> {
  const rows = yield* Store.select(
    activities,
    (sql) => sql`where starts_at >= ${since} ${user === undefined ? sql.literal("") : sql`and owned_by = ${user.id}`}
    order by starts_at, id`
  )
  const owners = yield* referredRows(users, rows, "owned_by")
  // Devices without the right to see colleagues' e-mail addresses hold placeholders, so those owners are omitted.
  const seen = visibleColumnsOf(users, reader)
  const sees_all = seen === "whole" || seen?.has("email") === true
  return rows.map((row) => {
    const sees_email = sees_all || row.owned_by === reader.user_id
    return { ...row, owner: sees_email ? (owners.get(row.owned_by ?? 0) ?? null) : null }
  })
})

/** Entries of orders that begin or end at or after `since`; with `user`, of those owned by the user's member record. */
const ordersSince = Effect.fnUntraced(function* (
  since: string,
  user: UserRow | undefined,
  kinds: ReadonlyArray<CalendarKind>,
  reader: Viewer,
  company_zone: string
): Store.Reads<ReadonlyArray<FeedEntry>> {
  const { orderEntries } = yield* feeds
  const rows = yield* Store.select(
    opportunities,
    (sql) => sql`where deleted_at is null and state = ${sql.literal(String(order))}
    and (starts_at >= ${since} or ends_at >= ${since})
    ${user === undefined ? sql.literal("") : sql`and owned_by = ${user.member_id}`} order by starts_at, id`
  )
  const named = yield* namesOf(rows, reader)
  return rows.flatMap((row) => {
    const { zone, ...names } = named(row)
    return orderEntries(row, { ...names, zone: zone || company_zone }, kinds, since)
  })
})

const namesOf = Effect.fnUntraced(function* (rows: ReadonlyArray<OpportunityRow>, reader: Viewer) {
  const idsIn = (of: (row: OpportunityRow) => ReadonlyArray<number | null>): ReadonlyArray<number> =>
    rows.flatMap(of).filter((id) => id !== null)
  const people = new Map(
    (yield* Store.getMany(
      members,
      idsIn((row) => [row.member_id, row.venue_id])
    )).map((row) => [row.id, row.name])
  )
  const places = yield* Store.byId(
    stores,
    idsIn((row) => [row.store_id])
  )
  // Only users who may see members get address texts; other devices hold addresses with an empty street.
  const addressed = new Map(
    hasOnePermission(reader, "members.view")
      ? (yield* Store.getMany(
          addresses,
          idsIn((row) => [row.delivery_address_id, row.collection_address_id])
        ))
          .filter(({ street }) => street !== "")
          .map((row) => [
            row.id,
            [row.street, row.postcode, row.city].filter((part) => part !== null && part !== "").join(", ")
          ])
      : []
  )
  return (row: OpportunityRow) => ({
    customer: people.get(row.member_id ?? 0) ?? null,
    venue: people.get(row.venue_id ?? 0) ?? null,
    store: places.get(row.store_id ?? 0)?.name ?? null,
    delivery_address: addressed.get(row.delivery_address_id ?? 0) ?? null,
    collection_address: addressed.get(row.collection_address_id ?? 0) ?? null,
    zone: places.get(row.store_id ?? 0)?.timezone ?? ""
  })
})

export const calendarSlice: Slice = {
  name: "calendar_feeds",
  settings: calendarSettings,
  endpoints: [
    get("/api/v1/calendar_feeds/export", {
      error_answers: { 404: null },
      answer_headers: { "Content-Disposition": "Name of the file" },
      name: "calendar_feeds.export",
      summary: "Export everyone's or one user's activities, and orders on request, as iCalendar",
      ...calendar_access,
      produces: "text/calendar",
      fields: {
        user_id: integer({ nullable: true, min: 1, describe: "User whose calendar to export; default: everyone's" }),
        with: with_field
      },
      run: Effect.fnUntraced(function* ({ values, viewer }) {
        const kinds = chosenKinds(values.with)
        yield* requireKinds(viewer, kinds)
        const { catalogue } = yield* CommandRuntime
        const reader = restrictToToken(catalogue, viewer)
        const text = yield* feedText({ user_id: values.user_id ?? undefined, kinds, reader })
        return {
          status: 200,
          content: { type: feedHeaders["content-type"], text },
          headers: { "content-disposition": feedHeaders["content-disposition"] }
        }
      })
    })
  ]
}

/** Kinds of calendar entries, and who may see them; the time zone in which people read a row's times. */
import { Effect } from "effect"
import { choice, forbidden, hasAbility, hasOnePermission, list, Store } from "../../kernel/index.ts"
import type { AnyRow, Rejection, Viewer } from "../../kernel/index.ts"
import { stores } from "../../setup/stores.ts"
import { zoneOf } from "../../values/time.ts"

const labels = {
  activities: "Activities",
  orders: "Orders, from start to end of the hire",
  dispatch: "Dispatches of orders",
  returns: "Returns of orders"
} as const
export type CalendarKind = keyof typeof labels
const all: ReadonlyArray<CalendarKind> = ["activities", "orders", "dispatch", "returns"]
const isKind = (text: string): text is CalendarKind => Object.hasOwn(labels, text)

/** The query parameter for kinds of entries: `with=orders,returns`. */
export const with_field = list(choice(labels), {
  nullable: true,
  describe: "Kinds of entries; default: activities only"
})
/** Requested kinds without duplicates, in declared order; activities by default. */
export const chosenKinds = (given: ReadonlyArray<string> | null | undefined): ReadonlyArray<CalendarKind> => {
  const chosen = all.filter((kind) => given?.includes(kind) === true)
  return chosen.length === 0 ? ["activities"] : chosen
}
/** Kinds as text for URLs; undefined for the default, activities only. */
export const kindsText = (kinds: ReadonlyArray<CalendarKind>): string | undefined =>
  kinds.length === 1 && kinds[0] === "activities" ? undefined : kinds.join(",")
/** Parses kinds from a URL; undefined unless they are written as by `kindsText`. */
export const kindsIn = (text: string): ReadonlyArray<CalendarKind> | undefined => {
  const kinds = chosenKinds(text.split(",").filter(isKind))
  return kindsText(kinds) === text ? kinds : undefined
}

const areaOf = (kind: CalendarKind): "activities" | "opportunities" =>
  kind === "activities" ? "activities" : "opportunities"
export const calendar_access = {
  ability: ["activities:read", "opportunities:read"],
  permission: ["activities.view", "opportunities.view"]
} as const
/** First missing permission for these kinds; undefined if the viewer has all. */
export const missingPermission = (viewer: Viewer, kinds: ReadonlyArray<CalendarKind>): string | undefined =>
  kinds.map((kind) => `${areaOf(kind)}.view`).find((permission) => !hasOnePermission(viewer, permission))
/** 403 if the viewer lacks a permission, or the token an ability, for one of the kinds. */
export const requireKinds = (viewer: Viewer, kinds: ReadonlyArray<CalendarKind>): Effect.Effect<void, Rejection> => {
  const permission = missingPermission(viewer, kinds)
  if (permission !== undefined) return Effect.fail(forbidden(`This needs the permission ${permission}.`))
  const ability = kinds.map((kind) => `${areaOf(kind)}:read`).find((one) => !hasAbility(viewer, one))
  return ability === undefined ? Effect.void : Effect.fail(forbidden(`The token lacks the ability ${ability}.`))
}

/** File name and headers of a feed; feed.ts, loaded on demand, writes its text. */
const feedFileName = "flightcase-calendar.ics"
export const feedHeaders = {
  "content-type": "text/calendar; charset=utf-8",
  "content-disposition": `inline; filename=${feedFileName}`
}

const titles: { readonly [K in CalendarKind]: string } = {
  activities: "Activities",
  orders: "Orders",
  dispatch: "Dispatch",
  returns: "Returns"
}
/** Name of the calendar: `Flightcase — All Activities`, or a person's name, with the kinds if not the default. */
export const feedName = (user_name: string | null, kinds: ReadonlyArray<CalendarKind> = ["activities"]): string => {
  const held = kinds.map((kind) => titles[kind]).join(", ")
  const is_plain = kindsText(kinds) === undefined
  return `Flightcase — ${user_name === null ? `All ${held}` : is_plain ? user_name : `${user_name}: ${held}`}`
}

/** Time zone of the row's store; without one the company's, given as `timezone`. */
export const zoneOfRow = Effect.fnUntraced(function* ({ store_id }: AnyRow, timezone: string | null) {
  const store = typeof store_id === "number" ? yield* Store.get(stores, store_id) : undefined
  return zoneOf(store?.timezone || timezone)
})

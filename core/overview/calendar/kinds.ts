/** Kinds of calendar entries, and who may see them. */
import { Effect } from "effect"
import { choice, list } from "../../kernel/fields/field.ts"
import { forbidden, hasAbility, hasOnePermission, type Rejection, type Viewer } from "../../kernel/fields/rejection.ts"

const labels = {
  activities: "Activities",
  orders: "Orders, from start to end of the hire",
  dispatch: "Dispatches of orders",
  returns: "Returns of orders"
} as const
export type CalendarKind = keyof typeof labels
const all: ReadonlyArray<CalendarKind> = ["activities", "orders", "dispatch", "returns"]
const isKind = (text: string): text is CalendarKind => Object.hasOwn(labels, text)

/** The query parameter that chooses: `with=orders,returns`. */
export const with_field = list(choice(labels), {
  nullable: true,
  describe: "Kinds of entries; default: activities only"
})
/** The kinds that were chosen, each once and in one order; activities alone where none was. */
export const chosenKinds = (given: ReadonlyArray<string> | null | undefined): ReadonlyArray<CalendarKind> => {
  const chosen = all.filter((kind) => given?.includes(kind) === true)
  return chosen.length === 0 ? ["activities"] : chosen
}
/** As addresses carry them; undefined of activities alone. */
export const kindsText = (kinds: ReadonlyArray<CalendarKind>): string | undefined =>
  kinds.length === 1 && kinds[0] === "activities" ? undefined : kinds.join(",")
/** The kinds of an address; undefined unless they are spelt as `kindsText` does. */
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
/** The first permission a user lacks for these kinds. */
export const missingPermission = (viewer: Viewer, kinds: ReadonlyArray<CalendarKind>): string | undefined =>
  kinds.map((kind) => `${areaOf(kind)}.view`).find((permission) => !hasOnePermission(viewer, permission))
/** 403 where the viewer may not see one of the kinds, or their token does not open it. */
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
/** The calendar's name: everybody's, or one person's, and its kinds besides activities. */
export const feedName = (user_name: string | null, kinds: ReadonlyArray<CalendarKind> = ["activities"]): string => {
  const held = kinds.map((kind) => titles[kind]).join(", ")
  const is_plain = kindsText(kinds) === undefined
  return `Flightcase — ${user_name === null ? `All ${held}` : is_plain ? user_name : `${user_name}: ${held}`}`
}

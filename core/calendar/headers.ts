import { type CalendarKind, kindsText } from "./kinds.ts"

/** What a feed is called and sent as; its text is made in feed.ts, which is loaded for it. */
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
/** The calendar's name: everybody's, or one person's, and what it holds beside activities. */
export const feedName = (user_name: string | null, kinds: ReadonlyArray<CalendarKind> = ["activities"]): string => {
  const held = kinds.map((kind) => titles[kind]).join(", ")
  const is_plain = kindsText(kinds) === undefined
  return `Flightcase — ${user_name === null ? `All ${held}` : is_plain ? user_name : `${user_name}: ${held}`}`
}

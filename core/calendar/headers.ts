/** What a feed is called and sent as; its text is made in feed.ts, which is loaded for it. */
const feedFileName = "flightcase-calendar.ics"
export const feedHeaders = {
  "content-type": "text/calendar; charset=utf-8",
  "content-disposition": `inline; filename=${feedFileName}`
}

/** The calendar's name: everybody's, or one person's. */
export const feedName = (user_name: string | null): string => `Flightcase — ${user_name ?? "All Activities"}`

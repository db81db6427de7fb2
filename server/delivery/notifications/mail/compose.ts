/** Composes the mail of a user's notifications, as text and as HTML for small screens. */
import { escaped } from "../../../../core/pricing/print/html.ts"
import type { NotificationCategory } from "../../../../core/office/notifications/types.ts"
import { notification_categories, notificationType } from "../../../../core/office/notifications/types.ts"
import { wallOf } from "../../../../core/values/time.ts"
import type { NotificationText } from "../api.ts"

/** Maximum number of lines; further ones are counted. */
export const lines_max = 50

export interface Told extends NotificationText {
  readonly notification_type: string
  readonly created_at: string
}
interface Composed {
  readonly subject: string
  readonly text: string
  readonly html: string
}
interface About {
  /** The server's URL without a trailing slash. */
  readonly public_url: string
  /** Time zone of displayed times. */
  readonly zone: string
  readonly now_millis: number
  /** Whether the mail may wait to be gathered; account mail may not. */
  readonly is_gathered: boolean
}

const categories = Object.keys(notification_categories) as ReadonlyArray<NotificationCategory>
const categoryOf = ({ notification_type }: Told): NotificationCategory =>
  notificationType(notification_type)?.category ?? "system"

interface Line {
  readonly at: string
  readonly title: string
  readonly body: string | null
}
interface Part {
  readonly heading: string
  readonly lines: ReadonlyArray<Line>
}

/** Time of an instant, with the date unless it is today. */
const momentOf = (instant: string, { now_millis, zone }: About): string => {
  const shown = (millis: number): string => new Date(wallOf(millis, zone)).toISOString()
  const at = shown(Date.parse(instant))
  const time = at.slice(11, 16)
  return at.slice(0, 10) === shown(now_millis).slice(0, 10) ? time : `${at.slice(0, 10)} ${time}`
}

const partsOf = (told: ReadonlyArray<Told>, about: About): ReadonlyArray<Part> => {
  const by_category = Map.groupBy(told, categoryOf)
  return categories.flatMap((category) => {
    const own = by_category.get(category)
    if (own === undefined) return []
    const lines = own.map(({ body, created_at, title }) => ({ at: momentOf(created_at, about), title, body }))
    return [{ heading: notification_categories[category], lines }]
  })
}

const others = (count: number): string => (count === 1 ? "1 more" : `${count} more`)
const subjectOf = ([first, ...rest]: ReadonlyArray<Told>): string =>
  `${first?.title ?? ""}${rest.length === 0 ? "" : `, and ${others(rest.length)}`}`.slice(0, 300)

/** Last paragraph: the server's URL and, for types that can be turned off, the command for it. */
const endingOf = (told: ReadonlyArray<Told>, { is_gathered, public_url }: About): ReadonlyArray<string> => {
  const changeable = [...new Set(told.map(({ notification_type }) => notification_type))].filter(
    (key) => notificationType(key)?.is_system !== true
  )
  return [
    is_gathered ? `You were told of this at ${public_url}.` : `This was sent by ${public_url}.`,
    ...(changeable.length === 0
      ? []
      : [
          changeable.length === 1
            ? "To get no such e-mail any more:"
            : "To get no such e-mail any more, of one kind or all of these:",
          `flightcase notifications set ${changeable.join(" ")} --no-email`
        ])
  ]
}

const textOf = (parts: ReadonlyArray<Part>, beyond: number, ending: ReadonlyArray<string>): string =>
  [
    ...parts.flatMap(({ heading, lines }) => [
      heading,
      ...lines.flatMap(({ at, body, title }) => [
        `- ${at}  ${title}`,
        ...(body === null ? [] : body.split("\n").map((line) => `  ${line}`))
      ]),
      ""
    ]),
    ...(beyond === 0 ? [] : [`And ${others(beyond)}: flightcase inbox`, ""]),
    "-- ",
    ...ending,
    ""
  ].join("\n")

const htmlLine = ({ at, body, title }: Line): string => {
  const more = body === null ? "" : `<br><span style="color:#444">${escaped(body).replaceAll("\n", "<br>")}</span>`
  return `<li style="margin:0 0 10px"><span style="color:#555">${escaped(at)}</span> ${escaped(title)}${more}</li>`
}
const htmlOf = (subject: string, parts: ReadonlyArray<Part>, beyond: number, ending: ReadonlyArray<string>): string =>
  [
    `<!doctype html><html lang="en"><head><meta charset="utf-8">`,
    `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(subject)}</title></head>`,
    `<body style="margin:0 auto;padding:16px;max-width:600px;font:16px/1.45 sans-serif;color:#111;background:#fff">`,
    ...parts.map(
      ({ heading, lines }) =>
        `<h2 style="font-size:17px;margin:18px 0 8px">${escaped(heading)}</h2>` +
        `<ul style="margin:0;padding:0 0 0 18px">${lines.map(htmlLine).join("")}</ul>`
    ),
    ...(beyond === 0 ? [] : [`<p>And ${others(beyond)}: <code>flightcase inbox</code></p>`]),
    `<p style="margin:24px 0 0;font-size:14px;color:#555">${ending.map(escaped).join("<br>")}</p></body></html>`,
    ""
  ].join("\n")

/** Composes the mail. `told`: the notifications, oldest first, at least one. */
export const composeNotice = (told: ReadonlyArray<Told>, about: About): Composed => {
  const shown = told.slice(0, lines_max)
  const parts = partsOf(shown, about)
  const beyond = told.length - shown.length
  const ending = endingOf(shown, about)
  const subject = subjectOf(told)
  return { subject, text: textOf(parts, beyond, ending), html: htmlOf(subject, parts, beyond, ending) }
}

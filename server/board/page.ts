/**
 * The page of a board. Its script only puts in place what the server sends, and says when it has heard nothing. Sizes
 * follow the screen: on one of 1920 pixels a capital letter is as high as four metres ask for.
 */
import { escaped } from "../../core/print/escape.ts"
import { leftText, order_list_names, order_lists, type OrderList, replaceText } from "../../core/today/words.ts"
import type { Today } from "../../core/today/today.ts"
import { wallText, dayText, numberText } from "../../core/values/short-text.ts"
import { columnsFor } from "./columns.ts"
import { board_script } from "./script.ts"
import { board_style } from "./style.ts"

export interface BoardDay {
  readonly name: string
  readonly today: Today
}
export type BoardTheme = "light" | "dark" | undefined

type OrderRow = Today["going_out"]["orders"][number]
const rowHtml = (list: OrderList, row: OrderRow, date: string): string => {
  const goes = list === "going_out" || list === "to_prepare"
  // A wall has room for one thing: a unit that cannot go comes before how many are packed.
  const replaced = goes || list === "short" ? replaceText(row.to_replace) : ""
  const left = replaced === "" && list !== "short" ? leftText(list, row) : replaced
  const is_done = goes && replaced === "" && row.packed >= row.wanted
  const name = row.member_name ?? row.subject
  return (
    `<li${row.is_late && list !== "late" ? ' class="late"' : ""}>` +
    `<b>${escaped(wallText(row.at, row.timezone, date))}</b>` +
    `<span><span><strong>${escaped(name)}</strong><small>${escaped(numberText(row.number, row.id))}</small></span>` +
    `${row.member_name === null ? "" : `<small>${escaped(row.subject)}</small>`}</span>` +
    (left === "" ? "" : `<em${is_done ? ' class="done"' : ""}>${escaped(left)}</em>`) +
    "</li>"
  )
}
interface Listed extends Pick<Today["going_out"], "count" | "more" | "orders"> {
  readonly list: OrderList
}
const listHtml = ({ count, list, more, orders }: Listed, rows: number, date: string): string =>
  `<section class="${list}"><h2>${order_lists[list]} <i>${count}${more ? "+" : ""}</i></h2><ul>` +
  orders
    .slice(0, rows)
    .map((row) => rowHtml(list, row, date))
    .join("") +
  (count > rows ? `<li class="more">and ${count - rows}${more ? " or" : ""} more</li>` : "") +
  "</ul></section>"
/** In two columns where the screen is wide enough for them, one below the other where it is not. */
const listsHtml = (today: Today): string => {
  const lists: ReadonlyArray<Listed> = order_list_names
    .map((list) => ({ list, ...today[list] }))
    .filter(({ count }) => count > 0)
  if (lists.length === 0) return '<p class="nothing">Nothing to do.</p>'
  const { first, rows } = columnsFor(lists.map(({ count }) => count))
  const shown = lists.map((list, at) => listHtml(list, rows[at] ?? 0, today.date))
  return [shown.slice(0, first), shown.slice(first)]
    .filter((column) => column.length > 0)
    .map((column) => `<div>${column.join("")}</div>`)
    .join("")
}

const counted = (title: string, count: number | undefined): string =>
  count === undefined || count === 0 ? "" : `<p>${title} <i>${count}</i></p>`

/** Where it hangs, and whose day it shows where that is something else. */
const titleOf = ({ name, today }: BoardDay): string =>
  today.store === null || today.store.name === name ? name : `${today.store.name} · ${name}`
/** What changes: the heading's day and the lists. */
export const dayHtml = ({ name, today }: BoardDay): string => {
  const others = [
    counted("Due back at suppliers", today.sub_hire_back?.count),
    counted("Due in", today.sub_hire_in?.count),
    counted("Unpaid", today.unpaid?.count)
  ].join("")
  return (
    `<header><h1>${escaped(titleOf({ name, today }))}</h1>` +
    `<p>${escaped(dayText(today.date))}</p><p id="clock"></p></header>` +
    `<main>${listsHtml(today)}</main>` +
    (others === "" ? "" : `<footer>${others}</footer>`)
  )
}

const document = (title: string, theme: BoardTheme, body: string): string =>
  `<!doctype html><html lang="en"${theme === undefined ? "" : ` data-theme="${theme}"`}><head><meta charset="utf-8">` +
  `<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">` +
  `<link rel="icon" href="data:,"><title>${escaped(title)}</title><style>${board_style}</style></head>${body}</html>`

/** `zone`: by whose clock the page tells the time. */
export const boardPage = (day: BoardDay, zone: string, theme: BoardTheme, nonce: string): string =>
  document(
    day.name,
    theme,
    `<body data-zone="${escaped(zone)}"><div id="lost" role="status" hidden></div><div id="day">${dayHtml(day)}</div>` +
      `<script nonce="${nonce}">${board_script}</script></body>`
  )
/** Instead of a board that is none any more. */
export const endedHtml =
  '<p class="nothing">This board has ended.' +
  "<small>Make another one with flightcase board, and open its address here.</small></p>"
export const endedPage = (theme: BoardTheme): string =>
  document("Board", theme, `<body><div id="day">${endedHtml}</div></body>`)

/**
 * Boards: their signed addresses, table, page and content. Sizes of the page scale with the screen: at 1920 pixels,
 * capital letters are legible from four metres.
 */
import { boolean, CommandRuntime, integer, later, ref, Store, table, text } from "../../../core/kernel/index.ts"
import { timestamp } from "../../../core/kernel/index.ts"
import { addColumn, type TableMigration } from "../../../core/kernel/store/table-migration.ts"
import { escaped } from "../../../core/pricing/print/html.ts"
import type { OrderList } from "../../../core/overview/today/words.ts"
import { leftText, order_list_names, order_lists, replaceText } from "../../../core/overview/today/words.ts"
import type { Today } from "../../../core/overview/today/today.ts"
import { numberText } from "../../../core/values/text.ts"
import { isSameSignature, signatureOf } from "../../ports/secret-box.ts"
import { Clock, Effect } from "effect"
import { mayAsk } from "../../../core/kernel/endpoints/may-ask.ts"
import { dayText, instantOf, millisOf, wallText } from "../../../core/values/time.ts"
import { roles, users, viewerOf } from "../../../core/people/users/permissions.ts"

// Signed addresses of boards: as secret as a token that may read the day, and nothing else.

interface BoardAddress {
  readonly id: number
  /** Number of the address: creating one invalidates the earlier ones. */
  readonly address_no: number
}
interface MarkedAddress extends BoardAddress {
  readonly mark: string | null
}
const signature = (key: string, { address_no, id, mark }: MarkedAddress): string =>
  signatureOf(key, "boards", `board ${id} ${address_no}${mark === null ? "" : ` ${mark}`}`, "base64url")

/** Public URL of a board. Neither ids nor marks are reused, so that a deleted board's URL stays invalid. */
export const boardUrl = (public_url: string, key: string, address: MarkedAddress): string =>
  `${public_url}/board/${address.id}-${address.address_no}-${signature(key, address)}`
/** Address from a URL; its signature is verified later, with the board's mark. */
export interface GivenAddress extends BoardAddress {
  readonly signature: string
}
export const boardAddressIn = (token: string): GivenAddress | undefined => {
  const [, id, address_no, given = ""] = /^([1-9]\d{0,14})-([1-9]\d{0,8})-([\w-]{43})$/.exec(token) ?? []
  if (id === undefined || address_no === undefined) return undefined
  return { id: Number(id), address_no: Number(address_no), signature: given }
}
const isSigned = (key: string, { signature: given, ...named }: GivenAddress, mark: string | null): boolean =>
  isSameSignature(given, signature(key, { ...named, mark }))

// Distributes lists and rows over two columns, so that a screen shows all without scrolling. Pure.

/**
 * Room for lists in a column, in rem: a screen is 100 / 3.6 rem high (see `html` in the style sheet), less heading,
 * foot and margins.
 */
const column_height = 23.4
const list_height = 2.2
const row_height = 2.3

const heightOfAll = (rows: ReadonlyArray<number>): number =>
  rows.reduce((sum, count) => sum + list_height + count * row_height, 0)

/** Rows to show of each list in a column: one more for each in turn while there is room. */
const rowsOfColumn = (counts: ReadonlyArray<number>): ReadonlyArray<number> => {
  let rows = counts.map((count) => Math.min(1, count))
  for (let has_changed = true; has_changed;) {
    has_changed = false
    for (const [at, count] of counts.entries()) {
      const more = rows.map((row, of) => (of === at ? row + 1 : row))
      if ((rows[at] ?? 0) >= count || heightOfAll(more) > column_height) continue
      rows = more
      has_changed = true
    }
  }
  return rows
}

interface BoardColumns {
  /** Number of lists in the first column. */
  readonly first: number
  readonly rows: ReadonlyArray<number>
}
/**
 * Splits the lists into two columns: maximises the shortest truncated list, then minimises hidden rows, then balances
 * the columns.
 */
export const columnsFor = (counts: ReadonlyArray<number>): BoardColumns => {
  const ways = Array.from({ length: Math.max(1, counts.length - 1) }, (_, at) => at + 1).map((first) => {
    const columns = [counts.slice(0, first), counts.slice(first)]
    const rows = columns.map(rowsOfColumn)
    const heights = rows.map(heightOfAll)
    const hidden = counts.reduce((sum, count, at) => sum + count - (rows.flat()[at] ?? 0), 0)
    const cut = rows.flat().filter((row, at) => row < (counts[at] ?? 0))
    const least = cut.length === 0 ? Infinity : Math.min(...cut)
    return { first, rows: rows.flat(), least, hidden, uneven: Math.abs((heights[0] ?? 0) - (heights[1] ?? 0)) }
  })
  const [best] = ways.toSorted(
    (one, other) =>
      (one.least === other.least ? 0 : other.least - one.least) ||
      one.hidden - other.hidden ||
      one.uneven - other.uneven
  )
  return { first: best?.first ?? 1, rows: best?.rows ?? [] }
}

// Boards: the day of a store on a screen on the wall, at an address that needs no login (rules/today 5).

export const board_fields = {
  name: text({ required: true, max: 100, describe: "Name of the board, such as the place where it hangs" }),
  store_id: ref("stores", {
    nullable: true,
    on_delete: "keep",
    describe: "Store whose day to show; default: all stores"
  }),
  shows_money: boolean({ default: false, describe: "Whether the board shows the number of unpaid invoices" }),
  expires_at: timestamp({ nullable: true, describe: "Expiry of the link; default: never" })
}
export const boards = table(
  "boards",
  {
    ...board_fields,
    /** Id of the creator: the board shows what this user may see, while they may see it. */
    user_id: integer({ computed: true, min: 1, max: Number.MAX_SAFE_INTEGER }),
    /** Incremented with each new address; only the last one is valid. */
    address_no: integer({ computed: true, min: 1, default: 1 }),
    /**
     * Random part of the signature. A server set up again with the same key numbers its boards from 1 again. Null for
     * boards of earlier releases, whose addresses stay valid.
     */
    mark: text({ nullable: true, computed: true, hidden: true })
  },
  { indexes: [["user_id"]] }
)
export const boards_with_marks: TableMigration = {
  id: 3,
  name: "marks_of_boards",
  table: boards,
  up: addColumn("boards", "mark", text({ nullable: true }), "null")
}
/** Time without a message after which the page shows that the connection is lost. */
const silent_after_millis = 40_000
/**
 * The script of a board. It inserts HTML that the server built from escaped texts; the page's policy runs no other
 * script. It reconnects by itself, and shows the data's age once the connection is lost.
 */
const board_script = `"use strict";
(() => {
  const day = document.getElementById("day"), lost = document.getElementById("lost");
  const zone = document.body.dataset.zone;
  const time = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", timeZone: zone});
  let heard = Date.now(), shown = Date.now(), tries = 0, source, ended = false, timer;
  const tick = () => {
    const clock = document.getElementById("clock");
    if (clock !== null) clock.textContent = time.format(new Date());
    const silent = Date.now() - heard > ${silent_after_millis};
    lost.hidden = ended || !silent;
    const minutes = Math.floor((Date.now() - heard) / 60000);
    if (silent) lost.textContent = "No connection. As of " + time.format(heard) +
      (minutes < 1 ? "" : ", " + minutes + (minutes === 1 ? " minute" : " minutes") + " ago");
  };
  const hear = () => { heard = Date.now(); tries = 0; tick(); };
  const open = () => {
    clearTimeout(timer);
    source = new EventSource(location.pathname + "/stream");
    source.addEventListener("day", (event) => {
      day.innerHTML = JSON.parse(event.data);
      if (shown !== 0 && Date.now() - shown > 2000) {
        day.classList.remove("new"); void day.offsetWidth; day.classList.add("new");
      }
      shown = Date.now();
      hear();
    });
    source.addEventListener("alive", hear);
    source.addEventListener("ended", (event) => {
      ended = true; day.innerHTML = JSON.parse(event.data); source.close(); again(); tick();
    });
    source.addEventListener("open", () => { ended = false; hear(); });
    source.onerror = () => { if (source.readyState === 2) again(); tick(); };
  };
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(open, Math.min(60000, 2000 * 2 ** Math.min(5, tries++)) * (0.5 + Math.random() / 2));
  };
  setInterval(tick, 1000);
  tick();
  open();
})();`

/** Colours of the light scheme. The screen's setting selects light or dark, unless the address names one. */
const light =
  "--ink:#10161d;--dim:#4a5563;--ground:#eef1f4;--panel:#fff;--line:#d5dbe1;" +
  "--bad:#b3140a;--out:#0a56a6;--back:#0b5d3b;--none:#7a8694"
const dark =
  "--ink:#f3f5f7;--dim:#b4bdc7;--ground:#0b0f13;--panel:#171d24;--line:#2c3540;" +
  "--bad:#ff8b80;--out:#86c1ff;--back:#79dcae;--none:#8793a0"
/** The style sheet. Heights of rows and lists must match `row_height` and `list_height`. */
export const board_style = `:root{color-scheme:light dark;${light}}
@media(prefers-color-scheme:dark){:root{${dark}}}
:root[data-theme=light]{color-scheme:light;${light}}
:root[data-theme=dark]{color-scheme:dark;${dark}}
*{box-sizing:border-box;margin:0;padding:0}
html{font-size:17px}
body{background:var(--ground);color:var(--ink);font:1rem/1.2 -apple-system,"Segoe UI",Roboto,"Helvetica Neue",
Arial,"Noto Sans",sans-serif;padding:.5rem .7rem;font-variant-numeric:tabular-nums}
#day{display:flex;flex-direction:column;min-height:calc(100vh - 1rem)}
header{display:flex;gap:.2rem 1.2rem;align-items:baseline;justify-content:space-between}
h1{font-size:1.25rem;min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;flex:1 1 auto}
header p{font-size:1.1rem;white-space:nowrap}#clock{font-weight:700;min-width:5ch;text-align:right}
main{margin:.4rem 0;display:grid;gap:0 .6rem;align-items:start;flex:1 0 auto;align-content:start}
main>div{min-width:0}
section{--mark:var(--none);background:var(--panel);border:1px solid var(--line);border-left:.22rem solid var(--mark);
border-radius:.3rem;padding:.2rem .5rem .2rem .45rem;margin-bottom:.5rem}
.late,.short{--mark:var(--bad)}.going_out,.to_prepare{--mark:var(--out)}.coming_back{--mark:var(--back)}
h2{font-size:1rem;display:flex;justify-content:space-between;color:var(--mark)}
i{font-style:normal;font-weight:800}
ul{list-style:none}
li{display:grid;grid-template-columns:auto minmax(0,1fr) auto;gap:0 .6rem;align-items:baseline;
border-top:1px solid var(--line);padding:.12rem 0}
li span{min-width:0}li span+span{text-align:right}
li strong,li small{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
li strong{font-weight:600}li small{font-size:.68rem;color:var(--dim)}
li em+small{margin-top:.04rem}li span+span small{color:var(--bad);font-weight:700}
li em{display:block;font-style:normal;font-size:.8rem;white-space:nowrap}
.done{color:var(--back)}
li.late b,section.late li b{color:var(--bad)}
.nothing{white-space:normal;
font-size:1.8rem;font-weight:600;margin:auto;padding:2rem 0;text-align:center;color:var(--dim)}
.nothing small{display:block;font-size:1rem;font-weight:400;margin-top:.5rem}
main:has(.nothing){align-content:center}
footer{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;color:var(--dim);font-size:.8rem}
footer i{color:var(--ink)}
#lost{position:fixed;inset:auto .7rem .5rem;background:var(--bad);color:var(--ground);font-weight:700;
padding:.2rem .6rem;border-radius:.3rem;z-index:1}
@media(min-width:600px){html{font-size:clamp(17px,min(2.2vw,3.6vh),92px)}}
@media(min-width:900px){main:has(div+div){grid-template-columns:minmax(0,1fr) minmax(0,1fr)}}
@media(max-width:599px){header{flex-wrap:wrap}h1{flex-basis:100%;white-space:normal;overflow-wrap:anywhere}
li{grid-template-columns:auto minmax(0,1fr)}li span+span{grid-column:2;text-align:left}
li strong,li small{white-space:normal;overflow-wrap:anywhere}li em+small{margin-top:0}
li small{font-size:.75rem}}
@media(prefers-reduced-motion:no-preference){#day.new{animation:seen .6s}@keyframes seen{from{opacity:.35}}}`

interface BoardDay {
  readonly name: string
  readonly today: Today
}
export type BoardTheme = "light" | "dark" | undefined

const rowHtml = (list: OrderList, row: Today["going_out"]["orders"][number], date: string): string => {
  const goes = list === "going_out" || list === "to_prepare"
  // There is room for one note: a unit to replace takes precedence over packing progress.
  const replaced = goes || list === "short" ? replaceText(row.to_replace) : ""
  const warnings = [row.is_late && list !== "late" ? "late" : "", row.has_shortage && goes ? "short" : ""].filter(
    (word) => word !== ""
  )
  const left = replaced === "" && list !== "short" ? leftText(list, row) : replaced
  const is_done = goes && replaced === "" && row.packed >= row.wanted
  const name = row.member_name ?? row.subject
  const event = row.member_name === null ? "" : ` · ${row.subject}`
  return (
    `<li data-order="${row.id}"${row.is_late && list !== "late" ? ' class="late"' : ""}>` +
    `<b>${escaped(wallText(row.at, row.timezone, date))}</b>` +
    `<span><strong>${escaped(name)}</strong>` +
    `<small>${escaped(numberText(row.number, row.id) + event)}</small></span>` +
    "<span>" +
    (left === "" ? "" : `<em${is_done ? ' class="done"' : ""}>${escaped(left)}</em>`) +
    (warnings.length === 0 ? "" : `<small>${warnings.join(", ")}</small>`) +
    "</span></li>"
  )
}
interface Listed extends Pick<Today["going_out"], "count" | "more" | "orders"> {
  readonly list: OrderList
  /** Whether some of the list's orders are left out, as they are in an earlier list. */
  readonly is_rest: boolean
}
const listHtml = ({ count, is_rest, list, more, orders }: Listed, rows: number, date: string): string => {
  const name = order_lists[list]
  const title = is_rest ? `Also ${name.toLowerCase()}` : name
  const counted = `${count > rows ? `${rows} of ` : ""}${count}${more ? "+" : ""}`
  const shown = orders.slice(0, rows).map((row) => rowHtml(list, row, date))
  return `<section class="${list}"><h2>${title} <i>${counted}</i></h2><ul>${shown.join("")}</ul></section>`
}
/** Lists of the day; an order in several lists of pending work is shown in the first one only. */
const listsOf = (today: Today): ReadonlyArray<Listed> => {
  const listed = new Set<number>()
  return order_list_names.map((list) => {
    const { count, more, orders } = today[list]
    const is_of_leaving = list === "going_out" || list === "to_prepare" || list === "short"
    const rest = is_of_leaving ? orders.filter(({ id }) => !listed.has(id)) : orders
    if (is_of_leaving) for (const { id } of rest) listed.add(id)
    const is_rest = rest.length < orders.length
    return { list, count: count - orders.length + rest.length, more, orders: rest, is_rest }
  })
}
/** HTML of the lists: two columns on wide screens, otherwise one. */
const listsHtml = (today: Today): string => {
  const lists = listsOf(today).filter(({ count }) => count > 0)
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

/** Title: the board's name, after the store's if that is different. */
const titleOf = ({ name, today }: BoardDay): string =>
  today.store === null || today.store.name === name ? name : `${today.store.name} · ${name}`
/** HTML of the parts that change: heading with day, lists, and counts in the footer. */
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

/** The complete page. `zone`: time zone of the displayed clock. */
export const boardPage = (day: BoardDay, zone: string, theme: BoardTheme, nonce: string): string =>
  document(
    day.name,
    theme,
    `<body data-zone="${escaped(zone)}"><div id="lost" role="status" hidden></div><div id="day">${dayHtml(day)}</div>` +
      `<script nonce="${nonce}">${board_script}</script></body>`
  )
/** HTML that replaces a board whose address is no longer valid. */
export const endedHtml =
  '<main><h1 class="nothing">This board has ended.' +
  "<small>Make another one with flightcase board, and open its address here.</small></h1></main>"
export const endedPage = (theme: BoardTheme): string =>
  document("Board", theme, `<body><div id="day">${endedHtml}</div></body>`)

// Content of a board at a moment, by its user's present permissions.

const reading = later(() => import("../../../core/overview/today/today.ts"))

/**
 * Content of a board; undefined if the signature is wrong, the board was deleted, its address was replaced or has
 * expired, or its user is deactivated or may no longer see orders.
 */
export const boardShown = Effect.fnUntraced(function* (
  key: string,
  address: GivenAddress
): CommandRuntime.Reads<BoardDay | undefined> {
  const { catalogue, settings } = yield* CommandRuntime
  const board = yield* Store.get(boards, address.id)
  if (board === undefined || !isSigned(key, address, board.mark)) return undefined
  const user = yield* Store.get(users, board.user_id)
  if (user === undefined || !user.is_active) return undefined
  const now = yield* Clock.currentTimeMillis
  const has_expired = board.expires_at !== null && millisOf(board.expires_at) <= now
  if (board.address_no !== address.address_no || has_expired) return undefined
  const viewer = viewerOf(user, yield* Store.getMany(roles, user.role_ids), null)
  if (!mayAsk(catalogue, "today.show", viewer)) return undefined
  const { todayFor } = yield* reading
  const today = yield* todayFor({
    store_id: board.store_id ?? undefined,
    date: undefined,
    now: instantOf(now),
    settings: yield* settings,
    viewer
  })
  return { name: board.name, today: board.shows_money ? today : { ...today, unpaid: null } }
})

import { Schema } from "effect"
import { type AnyEventType, eventType } from "../../../core/kernel/events/event-type.ts"

// Journal events of boards: who made a day visible without a login. They never contain addresses.

const what = () =>
  Schema.Struct({
    id: Schema.Int,
    name: Schema.String,
    store_id: Schema.NullOr(Schema.Int),
    shows_money: Schema.Boolean,
    expires_at: Schema.NullOr(Schema.String),
    user_id: Schema.Int
  })
const which = () => Schema.Struct({ id: Schema.Int, name: Schema.String, user_id: Schema.Int })
export const boardCreated = eventType("board.created", {
  meaning: "A board was created: a link that shows the day without a login.",
  data: what,
  project: "changes_no_table"
})
export const boardReaddressed = eventType("board.address_changed", {
  meaning: "A board got a new link; the earlier one stopped working.",
  data: which,
  project: "changes_no_table"
})
export const boardDeleted = eventType("board.deleted", {
  meaning: "A board was removed: its link stopped working.",
  data: which,
  project: "changes_no_table"
})
export const boardEvents: ReadonlyArray<AnyEventType> = [boardCreated, boardReaddressed, boardDeleted]

/** Colours of the light scheme. The screen's setting selects light or dark, unless the address names one. */
const light =
  "--ink:#10161d;--dim:#4a5563;--ground:#eef1f4;--panel:#fff;--line:#d5dbe1;" +
  "--bad:#b3140a;--out:#0a56a6;--back:#0b5d3b;--none:#7a8694"
const dark =
  "--ink:#f3f5f7;--dim:#b4bdc7;--ground:#0b0f13;--panel:#171d24;--line:#2c3540;" +
  "--bad:#ff8b80;--out:#86c1ff;--back:#79dcae;--none:#8793a0"
/** The style sheet. Heights of rows and lists must match those in `columnsFor`. */
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

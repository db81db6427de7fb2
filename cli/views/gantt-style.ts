/** How the chart of claims looks: fills, hatches and its legend. */
import { html, type Markup } from "./markup.ts"

const hatch = (id: string, turn: number, ground: string): Markup =>
  html`<pattern id="${id}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(${turn})"><rect width="6" height="6" class="${ground}"/><rect width="2" height="6" class="${ground}-line"/></pattern>`
/** Fills that say what they are without colour. */
export const patterns = html`<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>${hatch("prep", 45, "g-buffer")}${hatch("back", -45, "g-buffer")}${hatch("late", 45, "g-late")}${hatch("missing", 45, "g-missing")}</defs></svg>
`
const swatch = (kind: string, mark = ""): Markup =>
  html`<svg width="30" height="18" aria-hidden="true"><rect class="${kind}" x="1" y="1" width="28" height="16"/><text class="on-${kind}" x="8" y="13">${mark}</text></svg>`
export const legend = html`<ul class="legend" aria-label="Legend">
<li>${swatch("held", "?")} held by a quotation</li><li>${swatch("reserved")} reserved</li><li>${swatch("out", "→")} on hire</li><li>${swatch("late", "!")} overdue</li>
<li>${swatch("prep")} preparation</li><li>${swatch("back")} turnaround</li><li>${swatch("missing")} short</li><li>${swatch("we")} weekend</li><li><span class="now-key"></span> now</li>
</ul>`

const kinds = ["held", "reserved", "out", "other"]
/** Both columns shrink alike on paper: their drawings keep one scale. */
export const ganttStyle = (label_px: number, width_px: number): string => `.patterns { position: absolute; }
.verdict { margin: 8px 0 0; max-width: 110ch; }
.region { flex: 0 1 auto; max-height: 72vh; min-height: 180px; }
.chart { display: grid; grid-template-columns: ${label_px}px ${width_px}px; width: ${label_px + width_px}px; }
.chart svg { display: block; }
.corner, .axis { position: sticky; top: 0; z-index: 2; background: var(--band); border-bottom: 1px solid var(--edge); }
.corner { left: 0; z-index: 3; display: flex; align-items: end; padding: 0 10px 4px 20px; font-size: 12px; color: var(--quiet); border-right: 1px solid var(--edge); }
.labels { position: sticky; left: 0; z-index: 1; background: var(--paper); border-right: 1px solid var(--edge); }
text { font: 12px system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif; fill: var(--ink); font-variant-numeric: tabular-nums; }
.unit { font-weight: 600; } .more { font-weight: 400; fill: var(--quiet); }
.of-month { font-weight: 600; } .weekday, .date, .count { text-anchor: middle; } .weekday { font-size: 10px; fill: var(--quiet); } .count { font-weight: 600; }
.is-today { fill: var(--today); } .weekday.today, .date.today { fill: var(--paper); font-weight: 700; }
.cell { stroke: var(--paper); stroke-width: 1; } .cell.narrow { stroke: none; } .cell.free { fill: var(--free); } .cell.none { fill: var(--none); } .cell.short { fill: var(--short); }
.free-ink { fill: var(--free-ink); } .none-ink { fill: var(--none-ink); } .short-ink { fill: var(--short-ink); }
.we { fill: var(--rest); }
line { stroke: var(--line); stroke-width: 1; } line.month { stroke: var(--edge); stroke-width: 1.5; } line.now { stroke: var(--today); stroke-width: 2; }
.g-buffer { fill: var(--paper); } .g-buffer-line { fill: var(--edge); }
.g-late { fill: var(--late); } .g-late-line { fill: var(--late-line); }
.g-missing { fill: none; } .g-missing-line { fill: var(--short); opacity: .6; }
.prep, .back, .late { stroke: var(--edge); stroke-width: 1; } .prep { fill: url(#prep); } .back { fill: url(#back); } .late { fill: url(#late); stroke: var(--late-line); } .missing { fill: url(#missing); }
${kinds.map((kind) => `.bar .${kind}, .legend .${kind} { fill: var(--${kind}); stroke: var(--${kind}-line); stroke-width: 1; } .on-${kind} { fill: var(--${kind}-ink); }`).join("\n")}
.bar .held, .legend .held { stroke-dasharray: 4 3; stroke-width: 1.5; }
.on-late { fill: var(--late-ink); font-weight: 600; }
.bar:hover rect { stroke: var(--ink); stroke-width: 2; }
.goes { fill: var(--paper); stroke: var(--ink); stroke-width: 1; }
.now-key { display: inline-block; width: 0; height: 16px; border-left: 2px solid var(--today); }
main { padding: 16px 20px 28px; overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; font-size: 15px; padding-bottom: 6px; }
th, td { text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; font-weight: 400; }
tbody th { font-weight: 600; max-width: 36ch; } td { max-width: 30ch; } th, td { overflow-wrap: break-word; } td.whole { white-space: nowrap; }
thead th { color: var(--quiet); border-bottom: 1px solid var(--edge); white-space: nowrap; } .right { text-align: right; }
.phase { border-left: 4px solid var(--other); padding-left: 6px; white-space: nowrap; }
.is-held { border-left-style: dashed; border-color: var(--held-line); } .is-reserved { border-color: var(--reserved); } .is-out { border-color: var(--out); } .is-late { border-color: var(--late); font-weight: 700; }
@media print {
  .region { max-height: none; }
  .chart { grid-template-columns: ${label_px}fr ${width_px}fr; width: 100%; max-width: ${label_px + width_px}px; }
  .chart svg { max-width: 100%; height: auto; }
  .chart svg svg { max-width: none; }
  .corner, .axis, .labels { position: static; }
  main { padding: 4mm 0 0; overflow: visible; }
  table { font-size: 7.5pt; width: 100%; } th, td { padding: 1mm 2mm 1mm 0; overflow-wrap: anywhere; } td.whole { overflow-wrap: break-word; } tr { break-inside: avoid; }
  .corner { font-size: 7pt; line-height: 1.1; padding: 0 1mm 1mm 3mm; }
}
`

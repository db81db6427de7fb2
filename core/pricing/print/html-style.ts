/** Styles of documents as HTML, by name; pages use the names as classes. */
export type Look = keyof typeof looks

const badge = "border:2px solid #b3261e;color:#b3261e;font-weight:700;letter-spacing:2px"
const title = "font-weight:600;text-align:START;unicode-bidi:plaintext"
const box = "padding:6px 6px;border-bottom:1px solid #d5dae1"
const font = `font-family:-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif`
/** Styles by name; `ACCENT`, `START` and `END` are replaced. */
const looks = {
  document: `${font};font-size:15px;line-height:1.45;color:#1c2430;text-align:START`,
  mark: `display:inline-block;margin:0 0 12px;padding:2px 10px;${badge}`,
  header: "margin:0 0 16px;color:#5a6675;font-size:13px",
  footer: "margin:28px 0 0;padding:10px 0 0;border-top:1px solid #d5dae1;color:#5a6675;font-size:13px",
  footer_line: "margin:0;unicode-bidi:plaintext",
  h1: `margin:18px 0 10px;color:ACCENT;font-size:25px;line-height:1.25;${title}`,
  h2: `margin:20px 0 6px;color:ACCENT;font-size:18px;line-height:1.3;${title}`,
  h3: `margin:16px 0 4px;color:ACCENT;font-size:15px;line-height:1.3;${title}`,
  paragraph: "margin:0 0 10px;text-align:START;overflow-wrap:anywhere;unicode-bidi:plaintext",
  small: "margin:0 0 10px;text-align:START;overflow-wrap:anywhere;unicode-bidi:plaintext;font-size:13px;color:#5a6675",
  link: "color:ACCENT",
  columns: "width:100%;border-collapse:collapse",
  column: "vertical-align:top;padding:0 0 8px;text-align:START",
  values: "margin:0 0 10px;border-collapse:collapse;width:100%",
  value_label: "padding:1px 12px 1px 0;color:#5a6675;font-weight:400;text-align:START;vertical-align:top;width:35%",
  value: "padding:1px 0;text-align:START;vertical-align:top;overflow-wrap:break-word",
  table: "margin:8px 0 12px;width:100%;border-collapse:collapse",
  caption: "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)",
  head: `padding:6px 6px;border-bottom:2px solid ACCENT;color:ACCENT;font-size:13px;${title};vertical-align:bottom`,
  cell: `${box};text-align:START;vertical-align:top;overflow-wrap:break-word`,
  group: `${box};background-color:#e9edf2;overflow-wrap:anywhere;${title}`,
  text: "unicode-bidi:plaintext",
  name: "unicode-bidi:plaintext;overflow-wrap:anywhere",
  note: "display:block;font-size:13px;font-weight:400;color:#5a6675;unicode-bidi:plaintext;overflow-wrap:anywhere",
  totals: "margin:8px 0 16px auto;border-collapse:collapse;width:100%;max-width:380px",
  total_label: `${box};font-weight:400;text-align:START`,
  total: `${box};text-align:END;white-space:nowrap`,
  figure: "margin:0 0 12px",
  picture: "max-width:100%;height:auto",
  code_caption: "margin:2px 0 0;font-size:13px;color:#5a6675;white-space:pre-line;overflow-wrap:anywhere",
  signature: "margin:20px 0 12px",
  signature_line: "max-width:320px;min-height:44px;margin:0 0 4px;border-bottom:1px solid #1c2430",
  signature_text: "margin:0",
  // Last, as these override others.
  center: "text-align:center",
  end: "text-align:END",
  striped: "background-color:#f4f6f8",
  strong: "border-top:2px solid ACCENT;border-bottom:2px solid ACCENT;color:ACCENT;font-size:17px;font-weight:700"
} as const

/** Style sheet for an accent color and a direction of text. */
export const sheetFor = (accent: string, is_rtl: boolean): string =>
  Object.entries(looks)
    .map(([name, rules]) => {
      const [start, end] = is_rtl ? ["right", "left"] : ["left", "right"]
      return `.${name}{${rules.replaceAll("ACCENT", accent).replaceAll("START", start).replaceAll("END", end)}}`
    })
    .concat(narrow, paper)
    .join("\n")

/** Style for phones: each table row is a small list, with its first cell on top and column titles for the others. */
const narrow = `@media (max-width:600px){
.h1{font-size:21px!important}
.columns,.columns>tbody,.columns>tbody>tr,.columns>tbody>tr>td{display:block!important;width:auto!important}
.table,.table>tbody,.table>tbody>tr,.table>tbody>tr>td,.table>tbody>tr>th{display:block!important;width:auto!important}
.table>thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.table>tbody>tr{padding:6px 0!important;border-bottom:1px solid #d5dae1!important}
.table>tbody>tr>.cell{display:flex!important;justify-content:space-between;gap:12px}
.table>tbody>tr>.cell{padding-top:1px!important;padding-bottom:1px!important}
.table>tbody>tr>.cell{border:0!important;background:none!important}
.table>tbody>tr>.cell:empty{display:none!important}
.table>tbody>tr>.cell:first-child{display:block!important;font-weight:600}
.table .cell[data-title]:not(:first-child)::before{content:attr(data-title);color:#5a6675}
.table>tbody>tr>.group{display:flex!important;justify-content:space-between;border:0!important}
.totals{max-width:none!important}
}`
const paper = `@media print{
.page{max-width:none!important;padding:0!important}
.table>thead{display:table-header-group}
tr,.figure,.signature{break-inside:avoid}
.group{break-after:avoid}
.h1,.h2,.h3{break-after:avoid}
.totals{break-before:avoid;break-inside:avoid}
.page_break{break-after:page}
}`

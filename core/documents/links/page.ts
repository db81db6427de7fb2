/**
 * Pages behind public links to documents. They work without a script, except for drawing a signature. Links and forms
 * contain only the token, so that the pages work below any prefix, and no PIN is ever in a URL.
 */
import { type Block, isRightToLeft, type PrintDocument } from "../../pricing/print/blocks.ts"
import { escaped, type HtmlOptions, htmlPart, htmlSheet } from "../../pricing/print/html.ts"
import { board } from "./acceptance.ts"
import { type LinkWords, linkWords } from "./words.ts"
import { withValues } from "../../values/text.ts"

const frame_sheet = `:root{color-scheme:light dark;--ink:#1c2430;--dim:#55606e;--ground:#eef1f5;--panel:#fff;
--line:#8b96a5;--accent:#1d4f91;--on-accent:#fff;--bad:#a3190f}
@media(prefers-color-scheme:dark){:root{--ink:#e8ebef;--dim:#a9b2bd;--ground:#14181d;--panel:#1e242b;
--line:#76818e;--accent:#8ab8f5;--on-accent:#0d1a2b;--bad:#ff9d94}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 -apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,"Noto Sans",sans-serif}
.bar{display:flex;flex-wrap:wrap;gap:12px;align-items:center;justify-content:space-between;max-width:940px;
margin:0 auto;padding:16px 20px}
.bar p{margin:0;font-weight:600;overflow-wrap:anywhere}
.sheet{max-width:940px;margin:0 auto;padding:24px;background:#fff;color:#1c2430;color-scheme:light;
border-radius:6px;overflow-x:auto}
.panel{max-width:940px;margin:20px auto;padding:20px 24px;background:var(--panel);border-radius:6px}
.small-panel{max-width:460px;margin-top:12vh}
.panel h1,.panel h2{margin:0 0 8px;font-size:21px;line-height:1.3}
.panel p{margin:0 0 14px}
label,.label{display:block;font-weight:600;margin:14px 0 4px}
.hint{color:var(--dim);font-size:14px;margin:4px 0 0}
input[type=text],input[type=email],input[type=password]{width:100%;max-width:420px;min-height:44px;
padding:8px 10px;font:inherit;color:inherit;background:var(--panel);border:1px solid var(--line);border-radius:4px}
.tick{display:flex;gap:10px;align-items:flex-start;font-weight:400}
.tick input{width:22px;height:22px;margin:1px 0 0;flex:none;accent-color:var(--accent)}
.button{display:inline-block;min-height:44px;padding:9px 20px;font:inherit;font-weight:600;
border:1px solid var(--accent);border-radius:4px;background:var(--accent);color:var(--on-accent);
text-decoration:none;cursor:pointer}
.quiet{background:transparent;color:var(--accent)}
form .button{margin-top:18px}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.panel .hint{margin:6px 0 0}
.panel .wrong{color:var(--bad);margin:8px 0 0;font-weight:600}
.problem{border-left:4px solid var(--bad);padding:4px 0 4px 12px}
.done{border-left:4px solid var(--accent)}
[hidden]{display:none!important}
canvas{display:block;width:100%;max-width:${board.width}px;height:auto;aspect-ratio:${board.width}/${board.height}
;background:#fff;border:1px solid var(--line);border-radius:4px;touch-action:none}
@media(max-width:600px){.sheet{padding:16px;border-radius:0}.panel{border-radius:0;padding:20px 16px}
.bar{padding:12px 16px}form>.button{width:100%}}
@media print{body{background:#fff}.bar,.panel{display:none}.sheet{padding:0;max-width:none}}
`
const accent_of = "#1d3f66"

const { height, width } = board
/** The page's only script: draws strokes and stores them in a form field. */
const signature_script = `
(() => {
const byId = (id) => document.getElementById(id)
const part = byId("signing"), board = byId("board"), field = byId("signature"), pen = board.getContext("2d")
let strokes = [], open = null
const within = (at, size, max) => Math.max(0, Math.min(max, Math.round((at * max) / size)))
const at = ({ clientX, clientY }) => {
  const { height, left, top, width } = board.getBoundingClientRect()
  return [within(clientX - left, width, ${width}), within(clientY - top, height, ${height})]
}
const draw = () => {
  pen.clearRect(0, 0, ${width}, ${height})
  pen.lineWidth = 3
  pen.lineCap = pen.lineJoin = "round"
  pen.strokeStyle = "#1c2430"
  for (const points of strokes) {
    pen.beginPath()
    pen.moveTo(...points[0])
    for (const point of [...points, points.at(-1)]) pen.lineTo(...point)
    pen.stroke()
  }
  const path = (points) => "M" + (points.length > 1 ? points : [points[0], points[0]]).map((p) => p.join(" ")).join("L")
  field.value = strokes.map(path).join("")
}
board.addEventListener("pointerdown", (event) => {
  event.preventDefault()
  board.setPointerCapture(event.pointerId)
  strokes.push((open = [at(event)]))
  draw()
})
board.addEventListener("pointermove", (event) => {
  if (open === null || field.value.length > 90000) return
  const [x, y] = at(event), [last_x, last_y] = open.at(-1)
  if (x === last_x && y === last_y) return
  open.push([x, y])
  draw()
})
for (const name of ["pointerup", "pointercancel"]) board.addEventListener(name, () => { open = null })
byId("clear").addEventListener("click", () => { strokes = []; draw() })
part.hidden = false
})()
`

export interface Page {
  readonly html: string
  /** Text of the inline style sheet; the Content Security Policy allows it by its hash. */
  readonly style: string
  readonly has_script: boolean
}
interface Framed {
  readonly language: string
  readonly title: string
  readonly sheet?: string
  readonly body: string
  readonly script_nonce?: string
}
const framed = ({ body, language, script_nonce, sheet = "", title }: Framed): Page => {
  const style = sheet === "" ? frame_sheet : `${sheet}\n${frame_sheet}`
  return {
    html: `<!doctype html>
<html lang="${escaped(language)}" dir="${isRightToLeft(language) ? "rtl" : "ltr"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex, nofollow, noarchive">
<link rel="icon" href="data:,">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
${body}
</body>
</html>
`,
    style,
    has_script: script_nonce !== undefined
  }
}

const plainPage = (language: string, title: string, lead: string, more = ""): Page =>
  framed({
    language,
    title,
    body: `<main class="panel small-panel">\n<h1>${escaped(title)}</h1>\n<p>${escaped(lead)}</p>${more}\n</main>`
  })
/** Page that asks for the PIN. It reveals nothing of the document, neither name nor owner. */
export const pinPage = (language: string, token: string, was_wrong: boolean): Page => {
  const words = linkWords(language)
  const alert = `\n<p class="wrong" id="pin-wrong" role="alert">${escaped(words.pin_wrong)}</p>`
  const wrong = was_wrong ? alert : ""
  const told = was_wrong ? ' aria-invalid="true" aria-describedby="pin-wrong"' : ""
  return plainPage(
    language,
    words.pin_title,
    words.pin_lead,
    `
<form method="post" action="${token}">
<label for="pin">${escaped(words.pin)}</label>
<input type="password" id="pin" name="pin" autocomplete="off" autocapitalize="off" maxlength="12"
required autofocus${told}>${wrong}
<button class="button" type="submit">${escaped(words.pin_send)}</button>
</form>`
  )
}
export const gonePage = (language: string): Page =>
  plainPage(language, linkWords(language).gone_title, linkWords(language).gone_lead)
export const expiredPage = (language: string): Page =>
  plainPage(language, linkWords(language).expired_title, linkWords(language).expired_lead)
export const triesPage = (language: string, seconds: number): Page => {
  const words = linkWords(language)
  return plainPage(
    language,
    words.tries_title,
    withValues(words.tries_lead, { minutes: String(Math.max(1, Math.ceil(seconds / 60))) })
  )
}

type FormField = "name" | "email" | "accept" | "signature"
/** Submitted form values and their errors. */
export interface Sent {
  readonly name: string
  readonly email: string
  readonly is_ticked: boolean
  readonly errors: { readonly [F in FormField]?: string }
}
export interface Shown {
  readonly document: PrintDocument
  readonly token: string
  readonly html?: HtmlOptions
  /** The acceptance section below the document's text. */
  readonly part:
    | { readonly kind: "none" }
    /** `text_sha256`: hash of the displayed text, submitted with the acceptance. */
    | { readonly kind: "form"; readonly text_sha256: string; readonly sent?: Sent; readonly script_nonce: string }
    | { readonly kind: "refused"; readonly text: string }
    | {
        readonly kind: "accepted"
        readonly name: string
        readonly date: string
        readonly has_certificate: boolean
        readonly has_copy: boolean
      }
}
/** Page with a document's text, a link to its PDF, and the acceptance section. */
export const documentPage = ({ document, html = {}, part, token }: Shown): Page => {
  const words = linkWords(document.language)
  const below = belowText(words, document, token, part)
  const first = part.kind === "accepted" || part.kind === "refused" || (part.kind === "form" && part.sent !== undefined)
  const read = part.kind === "none" ? document : { ...document, blocks: withoutSigning(document.blocks) }
  const sheet = `<div class="sheet">\n${htmlPart(read, html)}\n</div>`
  return framed({
    language: document.language,
    title: document.title,
    sheet: htmlSheet({ ...document, accent: document.accent ?? accent_of }),
    ...(part.kind === "form" ? { script_nonce: part.script_nonce } : {}),
    body: `<header class="bar">
<p>${escaped(document.title)}</p>
<a class="button quiet" href="${token}?format=pdf" type="application/pdf">${escaped(words.open_pdf)}</a>
</header>
<main>
${first ? `${below}\n${sheet}` : `${sheet}\n${below}`}
</main>`
  })
}
/** Removes the signature line for paper: quotations are accepted by the form below. */
const withoutSigning = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> =>
  blocks.flatMap((block): ReadonlyArray<Block> =>
    block.kind === "signature"
      ? []
      : block.kind === "together"
        ? [{ ...block, blocks: withoutSigning(block.blocks) }]
        : [block]
  )
const section = (look: string, role: string, title: string, body: string): string =>
  `<section class="panel ${look}" role="${role}">\n<h2>${escaped(title)}</h2>\n${body}\n</section>`
const belowText = (words: LinkWords, document: PrintDocument, token: string, part: Shown["part"]): string => {
  switch (part.kind) {
    case "none":
      return ""
    case "refused":
      return section("problem", "alert", words.problem, `<p>${escaped(part.text)}</p>`)
    case "accepted": {
      const lead = withValues(words.accepted_lead, { name: part.name, date: part.date })
      const address = `${token}?format=certificate`
      const more = part.has_certificate
        ? `<a class="button quiet" href="${address}" type="application/pdf">${escaped(words.certificate)}</a>`
        : part.has_copy
          ? `<p>${escaped(words.copy_follows)}</p>`
          : ""
      return section("done", "status", words.accepted_title, `<p>${escaped(lead)}</p>\n${more}`)
    }
    case "form":
      return formHtml(words, document, token, part)
  }
}

const formHtml = (
  words: LinkWords,
  document: PrintDocument,
  token: string,
  { script_nonce, sent, text_sha256 }: Extract<Shown["part"], { readonly kind: "form" }>
): string => {
  const wrong = (field: FormField): string =>
    sent?.errors[field] === undefined
      ? ""
      : `\n<p class="wrong" id="${field}-wrong" role="alert">${escaped(sent.errors[field])}</p>`
  const told = (field: FormField, hint = ""): string => {
    const ids = [sent?.errors[field] === undefined ? "" : `${field}-wrong`, hint].filter((id) => id !== "").join(" ")
    return (
      (ids === "" ? "" : ` aria-describedby="${ids}"`) +
      (sent?.errors[field] === undefined ? "" : ' aria-invalid="true"')
    )
  }
  const problem =
    sent === undefined ? "" : `\n<p class="problem" role="alert">${escaped(words.problem.replace(/\s*:$/, "."))}</p>`
  return `<section class="panel" aria-labelledby="accepting">
<h2 id="accepting">${escaped(words.accept_title)}</h2>
<p>${escaped(withValues(words.accept_lead, { document: document.title }))}</p>${problem}
<form method="post" action="${token}">
<input type="hidden" name="text_sha256" value="${text_sha256}">
<label for="name">${escaped(words.name)}</label>
<input type="text" id="name" name="name" autocomplete="name" maxlength="255" required
value="${escaped(sent?.name ?? "")}"${told("name")}>${wrong("name")}
<label for="email">${escaped(words.email)}</label>
<input type="email" id="email" name="email" autocomplete="email" maxlength="255"
value="${escaped(sent?.email ?? "")}"${told("email", "email-hint")}>
<p class="hint" id="email-hint">${escaped(words.email_hint)}</p>${wrong("email")}
<div id="signing" hidden>
<span class="label" id="sign-label">${escaped(words.sign)}</span>
<canvas id="board" width="${board.width}" height="${board.height}" role="img" aria-labelledby="sign-label"></canvas>
<p class="hint">${escaped(words.sign_hint)}
<button class="quiet button" type="button" id="clear">${escaped(words.sign_clear)}</button></p>
</div>
<input type="hidden" id="signature" name="signature" value="">${wrong("signature")}
<label class="tick"><input type="checkbox" id="accept" name="accept" value="1" required
${sent?.is_ticked === true ? " checked" : ""}${told("accept")}>
<span>${escaped(words.tick)}</span></label>${wrong("accept")}
<button class="button" type="submit">${escaped(words.accept)}</button>
</form>
</section>
<script nonce="${script_nonce}">${signature_script}</script>`
}

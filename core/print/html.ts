/**
 * A document as HTML, from the same blocks as its PDF: as a page of its own, as a part of one, or as a mail. Everything
 * in it is text and is escaped; it has no script and fetches nothing.
 */
import { isRightToLeft, type PrintDocument } from "./blocks.ts"
import { escaped } from "./escape.ts"
import { blocksHtml, type HtmlOptions, runsHtml, tag, textHtml, type Writing } from "./html-blocks.ts"
import { type Look, type Looks, looksFor, narrow } from "./html-style.ts"

export type { HtmlOptions } from "./html-blocks.ts"

const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

/** A page that stands alone: good on a telephone, a desk and paper. */
export const htmlPage = (document: PrintDocument, options: HtmlOptions = {}): string => {
  const looks = looksOf(document)
  const { margins_mm, size, landscape } = document.page
  const { top, right, bottom, left } = margins_mm ?? { top: 18, right: 18, bottom: 16, left: 18 }
  const margins = [top, right, bottom, left].map((margin) => `${margin}mm`).join(" ")
  const sheet = [
    ":root{color-scheme:light}",
    "body{margin:0;background:#fff}",
    ".page{box-sizing:border-box;max-width:900px;margin:0 auto;padding:24px 20px 40px}",
    looks.sheet(),
    `@page{size:${size === "A4" ? "A4" : "letter"}${landscape === true ? " landscape" : ""};margin:${margins}}`
  ].join("\n")
  return `<!doctype html>
<html lang="${escaped(document.language)}"${directionOf(document)}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escaped(document.title)}</title>
<style>
${sheet}
</style>
</head>
<body>
<main class="page">
${htmlPart(document, options)}
</main>
</body>
</html>
`
}
/** The style sheet that {@link htmlPart} needs. */
export const htmlSheet = (document: PrintDocument): string => looksOf(document).sheet()
/** The document without a page around it: one element. */
export const htmlPart = (document: PrintDocument, options: HtmlOptions = {}): string =>
  whole(document, { look: (...names) => ` class="${names.join(" ")}"`, options, is_mail: false })

/** A mail: every element carries its own style, nothing lies outside the tables that mail programs understand. */
export const htmlMail = (document: PrintDocument, options: HtmlOptions = {}): string => {
  const looks = looksOf(document)
  const look = (...names: ReadonlyArray<Look>): string =>
    ` class="${names.join(" ")}" style="${escaped(names.map(looks.of).join(";"))}"`
  return `<!doctype html>
<html lang="${escaped(document.language)}"${directionOf(document)}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(document.title)}</title>
<style>
${narrow}
</style>
</head>
<body style="margin:0;padding:16px;background-color:#ffffff">
<table role="presentation" style="width:100%;max-width:720px;margin:0 auto;border-collapse:collapse"><tr><td>
${whole(document, { look, options, is_mail: true })}
</td></tr></table>
</body>
</html>
`
}

const looksOf = (document: PrintDocument): Looks =>
  looksFor(document.accent ?? "#1d3f66", isRightToLeft(document.language))
const directionOf = ({ language }: PrintDocument): string => (isRightToLeft(language) ? ' dir="rtl"' : ' dir="ltr"')

const whole = (document: PrintDocument, writing: Writing): string => {
  const { look } = writing
  const { header, watermark } = document
  const foot = document.footer?.lines ?? []
  const head = [header?.start, header?.end].flatMap((part) => {
    const text = part === undefined ? "" : runsHtml(writing, part)
    return text === "" ? [] : [text]
  })
  return [
    `<article${look("document")} lang="${escaped(document.language)}"${directionOf(document)}>`,
    ...(watermark === undefined ? [] : [`<p${look("mark")}>${watermark}</p>`]),
    ...(head.length === 0 ? [] : [`<p${look("header")}>${head.join(" · ")}</p>`]),
    blocksHtml(writing, document.blocks),
    ...(foot.length === 0
      ? []
      : [tag("footer", look("footer"), foot.map((line) => tag("p", look("footer_line"), textHtml(line))).join(""))]),
    "</article>"
  ].join("\n")
}

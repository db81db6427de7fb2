/** Common parts of pages, such as calendars, manifests and count sheets: heading, colors, and writing to a file. */
import { randomBytes } from "node:crypto"
import { html, type Markup, nothing, words } from "../../server/print/markup.ts"
import { momentText } from "../output/days.ts"
import { realpath, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { CommandContext } from "../context/context.ts"
import { usageError } from "../base/exit-codes.ts"

/** Store, time zone, time and source of a page. */
export interface Scene {
  readonly store: string
  readonly zone: string
  /** Time of drawing, in milliseconds. */
  readonly now: number
  /** Source of the numbers, such as "the server"; undefined to omit it. */
  readonly source: string | undefined
}

export const heading = (title: Markup, window: string, scene: Scene, more: Markup = nothing): Markup => html`<header>
<h1>${title}</h1>
<p class="scene"><span>${words(scene.store)}</span> <span>${window}</span> <span>Days of ${scene.zone}</span> <span>As of <time datetime="${new Date(scene.now).toISOString()}">${momentText(scene.now, scene.zone)}</time>${scene.source === undefined ? "" : `, by ${scene.source}`}</span></p>
${more}</header>`

/** Colors that color-blind people can distinguish, also by lightness; numbers and marks repeat their meaning. */
export const palette = `:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1a2026; --quiet: #57626d; --line: #d5dbe1; --edge: #8b97a3; --band: #f5f7f9; --rest: #eceff2; --today: #0b6bcb;
  --free: #e4f1fa; --free-ink: #0c3a58; --few: #fcf0b8; --few-ink: #544200; --none: #f5bf7f; --none-ink: #4d2600; --short: #b8390e; --short-ink: #ffffff; --short-line: #8f2a07;
  --held: #f7e08a; --held-ink: #4a3a00; --held-line: #a98600; --reserved: #2f7fc1; --reserved-ink: #ffffff; --reserved-line: #1c5f98;
  --out: #14805e; --out-ink: #ffffff; --out-line: #0c5a41; --late: #b8390e; --late-ink: #ffffff; --late-line: #8f2a07; --other: #8792a0; --other-ink: #ffffff; --other-line: #5d6873;
}
@media (prefers-color-scheme: dark) { @media screen { :root {
  --paper: #13171b; --ink: #e7eaee; --quiet: #a3adb8; --line: #2d343c; --edge: #6b7682; --band: #1a1f25; --rest: #20262d; --today: #62b0ff;
  --free: #14303f; --free-ink: #bfe3f7; --few: #4d4216; --few-ink: #fbeaa6; --none: #7d4a12; --none-ink: #ffe7c7; --short: #ff8a5c; --short-ink: #2a0b00; --short-line: #ffc4ab;
  --held: #5f5118; --held-ink: #fdf0bb; --held-line: #d0b23c; --reserved: #2a6ba3; --reserved-ink: #ffffff; --reserved-line: #7fbdf0;
  --out: #136b50; --out-ink: #ffffff; --out-line: #5fd0aa; --late: #b5431a; --late-ink: #ffffff; --late-line: #7d2a0c; --other: #56616d; --other-ink: #ffffff; --other-line: #9aa5b1;
} } }
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); font: 14px/1.4 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif; }
body { margin: 0; display: flex; flex-direction: column; min-height: 100vh; }
header { padding: 16px 20px 10px; }
h1 { font-size: 20px; line-height: 1.25; margin: 0 0 4px; text-wrap: balance; overflow-wrap: anywhere; }
h2 { font-size: 15px; margin: 0 0 6px; }
.scene { margin: 0; color: var(--quiet); }
.scene > span + span::before { content: "·"; margin: 0 6px 0 2px; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 10px 0 0; padding: 0; list-style: none; font-size: 13px; color: var(--quiet); }
.legend li { display: flex; align-items: center; gap: 6px; }
.region { flex: 1 1 auto; overflow: auto; border-top: 1px solid var(--line); }
.region:focus-visible { outline: 2px solid var(--today); outline-offset: -2px; }
.said { padding: 28px 20px; color: var(--quiet); }
a { color: inherit; }
@media screen { body.fixed { height: 100vh; } body.fixed > .region { min-height: 320px; } }
@media print {
  @page { size: A4 landscape; margin: 9mm; }
  html { font-size: 9pt; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  body { display: block; }
  header { padding: 0 0 3mm; }
  h1 { font-size: 13pt; }
  .scene, .legend, .verdict { font-size: 8pt; } .legend { gap: 1mm 4mm; margin-top: 1.5mm; }
  .region { overflow: visible; border: 0; }
}
`

// Writes a page to a file, all or nothing.

/** Exit 2 for an empty file name, or if page and JSON would both be written to standard output. */
export const checkOutputPath = (context: CommandContext, file: string, flag = "--html"): void => {
  if (file === "") throw usageError(`${flag}: give a file, or - for standard output.`)
  if (file === "-" && context.options.json === true)
    throw usageError(`${flag} - and --json would both write to standard output.`, `Give ${flag} a file.`)
}

/**
 * Writes a page to a file, or standard output for `-`. Renames a temporary file, so that readers see the old or the new
 * one. Exit 2 if it cannot be written.
 */
export const writeView = async (
  context: CommandContext,
  file: string,
  text: string,
  flag = "--html"
): Promise<void> => {
  if (file === "-") return context.printContent(text)
  try {
    await writeAtomically(file, text)
  } catch (error) {
    const why = error instanceof Error && "code" in error ? reasons[String(error.code)] : undefined
    if (why === undefined) throw error
    throw usageError(`${flag}: ${file} cannot be written: ${why}.`)
  }
  context.note(`Wrote ${file}.`)
}
const reasons: { readonly [code: string]: string } = {
  EISDIR: "it is a folder",
  ENOENT: "its folder does not exist",
  ENOTDIR: "part of its path is a file",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  ENAMETOOLONG: "the name is too long"
}

export const writeAtomically = async (file: string, text: string): Promise<void> => {
  const there = await stat(file).catch(() => undefined)
  // Devices and pipes cannot be replaced by renaming; folders fail with EISDIR.
  if (there !== undefined && !there.isFile()) return writeFile(file, text)
  // For a link, the file it points to is replaced.
  const place = there === undefined ? file : await realpath(file)
  const beside = join(dirname(place), `.${randomBytes(6).toString("hex")}.part`)
  try {
    await writeFile(beside, text, {
      flag: "wx",
      flush: true,
      ...(there === undefined ? {} : { mode: there.mode & 0o777 })
    })
    await rename(beside, place)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}

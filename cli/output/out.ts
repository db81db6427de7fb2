/**
 * The one place that writes to the terminal. Control characters and direction overrides, which could control the
 * terminal, are made visible here. In JSON they are escaped, so that data stay exact; a file's content stays exact
 * unless written to a terminal.
 */
import type { Json } from "../../core/kernel/index.ts"
import { printable, printableJson, printableLine } from "../../core/values/text.ts"

/** Mark of styles inside text: random, so that other text cannot contain it; created on first use. */
let style_mark: string | undefined
export const styleMark = (code: number): string => `${(style_mark ??= `\ufdd0${crypto.randomUUID()}\ufdd1`)}${code}m`

/** Text for the terminal, with our own styles and no other escape sequences. */
export const escapeForTerminal = (text: string): string => {
  if (style_mark === undefined) return printable(text)
  const [begin = "", ...styled_parts] = text.split(style_mark)
  return (
    printable(begin) +
    styled_parts
      .map((part) => {
        const end = part.indexOf("m")
        return `\u001b[${Number(part.slice(0, end))}m${printable(part.slice(end + 1))}`
      })
      .join("")
  )
}

/** Prints data on standard output. */
export const printOut = (text: string): void => {
  process.stdout.write(escapeForTerminal(text))
}
/** Prints messages on standard error. */
export const printErr = (text: string): void => {
  process.stderr.write(escapeForTerminal(text))
}
/** Prints JSON in one line, or indented in several. */
export const printJsonOut = (value: Json, indent?: number): void => {
  process.stdout.write(`${printableJson(JSON.stringify(value, null, indent))}\n`)
}
export const printJsonErr = (value: Json): void => {
  process.stderr.write(`${printableJson(JSON.stringify(value))}\n`)
}
/** Prints a file's content, exactly unless `seen` on a terminal. */
export const printContent = (content: string | Uint8Array, seen: boolean): void => {
  process.stdout.write(
    seen ? escapeForTerminal(typeof content === "string" ? content : new TextDecoder().decode(content)) : content
  )
}

/** Whether all output was written. */
export const isPrinted = (): boolean => process.stdout.writableLength === 0 && process.stderr.writableLength === 0

/** Replaces the current line on standard error. */
export const showMoving = (text: string): void => {
  process.stderr.write(`\r\u001b[K${printableLine(text)}`)
}
/** Clears the screen, and prints the text at its top. */
export const showInPlace = (text: string): void => {
  process.stdout.write(`\u001b[H\u001b[2J${escapeForTerminal(text)}`)
}
export const clearMoving = (): void => {
  process.stderr.write("\r\u001b[K")
}
/** Rings the terminal's bell. */
export const ringBell = (): void => {
  process.stderr.write("\u0007")
}

/** Stream for prompts; callers make their texts printable. */
export const questions: NodeJS.WriteStream = process.stderr
/** Calls `end` when the reader of standard output (head, less) has closed it. */
export const onStdoutClosed = (end: () => never): void => {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") end()
    throw error
  })
  process.stderr.on("error", () => {})
}

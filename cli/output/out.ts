/**
 * The one place that writes to the terminal. What others wrote cannot steer it from here: control characters and overrides
 * of the direction of text are made visible, whatever way they came. JSON has them escaped, so that data stay exact; a file's
 * content stays exact where nobody looks at it.
 */
import type { Json } from "../../core/kernel/json.ts"
import { printable, printableJson, printableLine } from "../../core/values/printable.ts"

/** Begins an ink in text that is on its way here. Nobody else can know it, so no text can ink itself. Made when there is ink. */
let ink_mark: string | undefined
export const styleMark = (code: number): string => `${(ink_mark ??= `\ufdd0${crypto.randomUUID()}\ufdd1`)}${code}m`

/** Text as a terminal is given it: our own inks, and no other sequence. */
export const escapeForTerminal = (text: string): string => {
  if (ink_mark === undefined) return printable(text)
  const [begin = "", ...inked] = text.split(ink_mark)
  return (
    printable(begin) +
    inked
      .map((part) => {
        const end = part.indexOf("m")
        return `\u001b[${Number(part.slice(0, end))}m${printable(part.slice(end + 1))}`
      })
      .join("")
  )
}

/** Data for people, on standard output. */
export const printOut = (text: string): void => {
  process.stdout.write(escapeForTerminal(text))
}
/** Anything but data, on standard error. */
export const printErr = (text: string): void => {
  process.stderr.write(escapeForTerminal(text))
}
/** A line of JSON, or several. */
export const printJsonOut = (value: Json, indent?: number): void => {
  process.stdout.write(`${printableJson(JSON.stringify(value, null, indent))}\n`)
}
export const printJsonErr = (value: Json): void => {
  process.stderr.write(`${printableJson(JSON.stringify(value))}\n`)
}
/** A file's content: byte for byte, unless a person looks at it. */
export const printContent = (content: string | Uint8Array, seen: boolean): void => {
  process.stdout.write(
    seen ? escapeForTerminal(typeof content === "string" ? content : new TextDecoder().decode(content)) : content
  )
}

/** Whether the system has taken all that was printed. */
export const isPrinted = (): boolean => process.stdout.writableLength === 0 && process.stderr.writableLength === 0

/** A line that takes the place of the one before it. */
export const showMoving = (text: string): void => {
  process.stderr.write(`\r\u001b[K${printableLine(text)}`)
}
export const clearMoving = (): void => {
  process.stderr.write("\r\u001b[K")
}
/** A sound for somebody who looks elsewhere. */
export const ringBell = (): void => {
  process.stderr.write("\u0007")
}

/** Where questions are asked; what is said in them has to be made printable by whoever asks. */
export const questions: NodeJS.WriteStream = process.stderr
/** A reader that has seen enough (head, less) ends us quietly. */
export const onStdoutClosed = (end: () => never): void => {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") end()
    throw error
  })
  process.stderr.on("error", () => {})
}

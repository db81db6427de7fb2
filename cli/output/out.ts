/**
 * The one place that writes to the terminal. Control characters and direction overrides, which could control the
 * terminal, are made visible here. In JSON they are escaped, so that data stay exact; a file's content stays exact
 * unless written to a terminal.
 */
import { fstatSync, writeSync } from "node:fs"
import type { Json } from "../../core/kernel/index.ts"
import { exit_codes } from "../base/exit-codes.ts"
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

/** Standard output or standard error. */
interface Output {
  readonly write: (content: string | Uint8Array) => void
  readonly isPrinted: () => boolean
  /** Its stream; undefined where that was not made, as for a file or pipe. */
  readonly stream: () => NodeJS.WriteStream | undefined
  /** Makes the stream, by which all else is written from now on. */
  readonly asStream: () => NodeJS.WriteStream
}
const byStream = (stream: () => NodeJS.WriteStream): Output => ({
  write: (content) => void stream().write(content),
  isPrinted: () => stream().writableLength === 0,
  stream,
  asStream: stream
})
/** Files and pipes are written at once: making a stream for them takes longer than some commands. */
const atOnce = (fd: 1 | 2, later: Output, onError: (error: unknown) => void): Output => {
  let next: Output | undefined
  let failed = false
  let room = fstatSync(fd).isFile() ? Number.POSITIVE_INFINITY : 65_536
  const asStream = (): NodeJS.WriteStream => (next ??= withErrors(later, onError)).asStream()
  return {
    write: (content) => {
      if (failed) return
      if (next !== undefined) return next.write(content)
      const bytes = Buffer.from(content)
      // A full pipe would hold the process, which signals then could not end: a stream waits for its reader.
      room -= bytes.length
      if (room < 0) return void asStream().write(bytes)
      let written = 0
      try {
        while (written < bytes.length) written += writeSync(fd, bytes, written)
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "EAGAIN") {
          // A pipe that another process made non-blocking, and that is full: a stream waits for its reader.
          return void asStream().write(bytes.subarray(written))
        }
        failed = true
        // As a stream does, after what runs now.
        process.nextTick(onError, error)
      }
    },
    isPrinted: () => next?.isPrinted() ?? true,
    stream: () => next?.stream(),
    asStream
  }
}
const withErrors = (output: Output, onError: (error: unknown) => void): Output => {
  output.stream()?.on("error", onError)
  return output
}
const isFileOrPipe = (fd: 1 | 2): boolean => {
  if (process.platform === "win32") return false
  try {
    const found = fstatSync(fd)
    return found.isFile() || found.isFIFO() || found.isSocket()
  } catch {
    return false
  }
}
const output = { out: byStream(() => process.stdout), err: byStream(() => process.stderr) }
/** Streams that may be terminals, and that of a protocol that writes standard output itself. */
export const terminals = {
  protocol: (): NodeJS.WriteStream => output.out.asStream(),
  out: (): NodeJS.WriteStream | undefined => output.out.stream(),
  err: (): NodeJS.WriteStream | undefined => output.err.stream()
}
/**
 * Prepares the output of a program, which ends where standard output cannot be written: without an error if its reader
 * (head, less) has closed it. The result says whether nothing is left to write.
 */
export const openOutput = (): (() => boolean) => {
  const onError = (error: unknown): never => {
    if (error instanceof Error && "code" in error && error.code === "EPIPE") process.exit(exit_codes.ok)
    printErr(`flightcase: ${String(error)}\n`)
    process.exit(exit_codes.failed)
  }
  output.out = isFileOrPipe(1) ? atOnce(1, output.out, onError) : withErrors(output.out, onError)
  output.err = isFileOrPipe(2) ? atOnce(2, output.err, () => {}) : withErrors(output.err, () => {})
  return () => output.out.isPrinted() && output.err.isPrinted()
}

export const printOut = (text: string): void => {
  output.out.write(escapeForTerminal(text))
}
/** Prints messages on standard error. */
export const printErr = (text: string): void => {
  output.err.write(escapeForTerminal(text))
}
/** Prints JSON in one line, or indented in several. */
export const printJsonOut = (value: Json, indent?: number): void => {
  output.out.write(`${printableJson(JSON.stringify(value, null, indent))}\n`)
}
export const printJsonErr = (value: Json): void => {
  output.err.write(`${printableJson(JSON.stringify(value))}\n`)
}
/** Prints a file's content, exactly unless `seen` on a terminal. */
export const printContent = (content: string | Uint8Array, seen: boolean): void => {
  output.out.write(
    seen ? escapeForTerminal(typeof content === "string" ? content : new TextDecoder().decode(content)) : content
  )
}

/** Replaces the current line on standard error. */
export const showMoving = (text: string): void => {
  output.err.write(`\r\u001b[K${printableLine(text)}`)
}
/** Clears the screen, and prints the text at its top. */
export const showInPlace = (text: string): void => {
  output.out.write(`\u001b[H\u001b[2J${escapeForTerminal(text)}`)
}
export const clearMoving = (): void => {
  output.err.write("\r\u001b[K")
}
export const ringBell = (): void => {
  output.err.write("\u0007")
}

/** Stream for prompts; callers make their texts printable. */
export const questions = (): NodeJS.WriteStream => process.stderr

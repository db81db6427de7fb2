/** The server's log: one JSON line per event, or text for a person at a terminal. */
import { readFileSync } from "node:fs"
import { SourceMap } from "node:module"
import { fileURLToPath } from "node:url"

// Maps stacks of the bundled program to source lines. Node's own support keeps all source maps in memory (35 MB).

const mapBeside = (url: string): SourceMap | undefined => {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, "utf8")))
  } catch {
    return undefined
  }
}
/** Mapped lines, cached so that a repeated error does not read the source maps again. */
const known = new Map<string, string>()

const mappedStack = (stack: string): string => {
  const maps = new Map<string, SourceMap | undefined>()
  const mapped = (place: string, url: string, line: string, column: string): string => {
    if (!maps.has(url)) maps.set(url, mapBeside(url))
    const origin = maps.get(url)?.findOrigin(Number(line), Number(column))
    if (origin === undefined || !("fileName" in origin)) return place
    return `${new URL(origin.fileName, url).href}:${origin.lineNumber}:${origin.columnNumber}`
  }
  return stack.replace(/(file:\/\/[^\s()]+\.js):(\d+):(\d+)/g, (place, url: string, line: string, column: string) => {
    const found = known.get(place) ?? mapped(place, url, line, column)
    known.set(place, found)
    return found
  })
}

export type Level = "debug" | "info" | "warn" | "error"
type Details = { readonly [key: string]: unknown }
export interface Log {
  readonly at: (level: Level, event: string, details?: Details) => void
  /** Writes buffered lines; called before the process ends. */
  readonly flush: () => void
}

interface LogOptions {
  readonly write: (text: string) => void
  /** Formats lines for a terminal rather than as JSON. */
  readonly human: boolean
  /** Minimum level that is logged. */
  readonly least: Level | "silent"
  readonly now?: () => Date
}

const ranks: { readonly [L in Level | "silent"]: number } = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 }

const held_millis = 50
const held_max = 16_384

/** JSON lines below a warning are written together, within 50 ms, which costs less; all others at once. */
export const makeLog = ({ write, human, least, now = () => new Date() }: LogOptions): Log => {
  let held = ""
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (held === "") return
    const text = held
    held = ""
    write(text)
  }
  return {
    flush,
    at: (level, event, details = {}) => {
      if (ranks[level] < ranks[least]) return
      held += `${(human ? humanLine : jsonLine)(now(), level, event, details)}\n`
      if (human || ranks[level] >= ranks.warn || held.length > held_max) flush()
      else timer ??= setTimeout(flush, held_millis).unref()
    }
  }
}

export const silentLog: Log = { at: () => {}, flush: () => {} }

const jsonLine = (time: Date, level: Level, event: string, details: Details): string => {
  const line = { time: time.toISOString(), level, event, ...details }
  // Values such as those of each request need no replacer function, which would take three times as long.
  return Object.values(details).every(isPlain)
    ? JSON.stringify(line)
    : JSON.stringify(line, (_key, value: unknown) =>
        value instanceof Error ? errorText(value) : typeof value === "bigint" ? String(value) : value
      )
}
const isPlain = (value: unknown): boolean => value === null || (typeof value !== "object" && typeof value !== "bigint")

const humanLine = (time: Date, level: Level, event: string, details: Details): string => {
  const words = Object.entries(details)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(
      ([key, value]) =>
        `${key}=${value instanceof Error ? errorText(value) : typeof value === "object" ? JSON.stringify(value) : printable(String(value))}`
    )
  return [time.toISOString().slice(11, 19), ...(level === "info" ? [] : [level.toUpperCase()]), event, ...words].join(
    " "
  )
}
/**
 * Replaces control characters in client data, which may move a terminal's cursor or reverse text, by `?`; line ends
 * stay, for stacks.
 */
const printable = (text: string): string =>
  text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "?")

/** An error with its causes as text, without own enumerable fields, which may contain client data. */
export const errorText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const own = error.stack === undefined ? `${error.name}: ${error.message}` : mappedStack(error.stack)
  return error.cause === undefined ? own : `${own}\ncaused by ${errorText(error.cause)}`
}

/** Formats values as one line of text, and measures its width on a terminal. */
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/index.ts"
import { formatIn, offsetIn, parseMomentIn } from "../base/parse-time.ts"
import { instantOf, wallOf } from "../../core/values/time.ts"
import { printableLine } from "../../core/values/text.ts"
import type { Environment } from "../base/server-choice.ts"
import { styleMark, terminals } from "./out.ts"

/** Text of a cell: yes or no, a record's name or JSON, a list with commas or, of records, its length; "" for null. */
export const cellText = (value: Json | undefined): string => {
  if (value == null) return ""
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (typeof value !== "object") return String(value)
  if (Array.isArray(value)) {
    return value.every((one) => typeof one !== "object" || one === null)
      ? value.map(cellText).join(", ")
      : `${value.length}`
  }
  if (isJsonObject(value))
    return typeof value.name === "string" ? value.name : Object.keys(value).length === 0 ? "" : JSON.stringify(value)
  return ""
}

/** An instant for a cell, to the minute: in the zone, or in UTC and marked so; other texts are unchanged. */
export const minuteText = (text: string, zone?: string): string => {
  const instant = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}\.\d{3}Z$/.exec(text)
  return instant === null ? text : zone === undefined ? `${instant[1]} ${instant[2]}Z` : formatIn(text, zone)
}

/** Formats the time of an instant, `14:03:07`: in the zone, or in UTC and marked so. */
export const secondText = (instant: string, zone?: string): string =>
  zone === undefined ? `${instant.slice(11, 19)}Z` : instantOf(wallOf(Date.parse(instant), zone)).slice(11, 19)

/**
 * A sentence with instants formatted as in cells, except those in commands to type (`--to INSTANT`, `FROM..UNTIL`,
 * JSON).
 */
export const sentenceText = (text: string, zone?: string): string =>
  oneLine(text).replace(/(?<!["=.]|--[\w-]+ )\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z(?!\.\.)/g, (one) =>
    minuteText(one, zone)
  )

/**
 * A command to type, with times in the store's zone in their shortest equal form; with an offset for flags that are
 * parsed without a store (`--dates`).
 */
export const toType = (text: string, zone: string | undefined): string =>
  zone === undefined
    ? text
    : text
        .replace(/(--(?:from|to) )(\d{4}-\d{2}-\d{2}T[\d:.]+Z)/g, (_found, flag: string, instant: string) => {
          const minute = formatIn(instant, zone).replace(" ", "T")
          // A day as an end includes its last second.
          const typed = [minute.slice(0, 10), minute].find(
            (one) => Date.parse(parseMomentIn(one, zone, flag.trim())) === Date.parse(instant)
          )
          return `${flag}${typed ?? instant}`
        })
        .replace(/(?<=--dates )(\S+Z)\.\.(\S+Z)/g, (_dates, from: string, until: string) =>
          [from, until].map((instant) => offsetIn(instant, zone)).join("..")
        )

/** A text in one line, without tabs, line breaks and control characters. */
export const oneLine = printableLine

let segmenter: Intl.Segmenter | undefined
/**
 * Segments of a text; the segmenter is created for the first non-ASCII one, as that takes longer than most commands.
 */
const segmentsOf = (text: string): Intl.Segments =>
  (segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" })).segment(text)
const ascii = /^[\u0020-\u007e]*$/
/** Width of a text in columns: East Asian wide characters and emoji take two, combining marks none. */
export const widthOf = (text: string): number => {
  if (ascii.test(text)) return text.length
  let width = 0
  for (const { segment } of segmentsOf(text)) {
    if (/^\p{Mn}+$/u.test(segment)) continue
    width += isWide(segment) ? 2 : 1
  }
  return width
}
/** Made where it is used, as Unicode properties take long to read. */
const isWide = (segment: string): boolean =>
  /^(\p{Extended_Pictographic}(?![\u00a9\u00ae])|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6])/u.test(
    segment
  )

/** Cuts a text to a width, with an ellipsis if shortened. */
export const truncateToWidth = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text
  if (ascii.test(text)) return `${text.slice(0, Math.max(0, width - 1))}…`
  let result = "",
    taken = 0
  for (const { segment } of segmentsOf(text)) {
    const next = taken + widthOf(segment)
    if (next > width - 1) break
    result += segment
    taken = next
  }
  return `${result}…`
}
export const padded = (text: string, width: number, right: boolean): string => {
  const space = " ".repeat(Math.max(0, width - widthOf(text)))
  return right ? space + text : text + space
}

// Properties of the terminal: whether streams are terminals or pipes, width, and color (clig.dev, NO_COLOR, CLICOLOR).

export interface Terminal {
  /** Whether standard output is a terminal, or is treated as one by FLIGHTCASE_TTY. */
  readonly is_tty: boolean
  /** Whether standard error is a terminal, so that a progress line may move. */
  readonly progress: boolean
  readonly colour: boolean
  readonly columns: number
  /** Name of the store with an id, once stores are loaded. */
  readonly storeName?: (id: unknown) => string | undefined
  /** Zone for the times of a row: its store's, else the company's; undefined for UTC. */
  readonly zoneOf?: (row: JsonObject) => string | undefined
}

export const terminalOf = (env: Environment): Terminal => {
  const out = terminals.out()
  const is_tty = out?.isTTY === true || set(env["FLIGHTCASE_TTY"])
  return {
    is_tty,
    progress: terminals.err()?.isTTY === true && env["TERM"] !== "dumb",
    colour: set(env["NO_COLOR"])
      ? false
      : set(env["CLICOLOR_FORCE"]) || set(env["FORCE_COLOR"])
        ? true
        : out?.isTTY === true && env["TERM"] !== "dumb" && env["CLICOLOR"] !== "0",
    // Terminals of unknown width say 0.
    columns: wholeOr(env["COLUMNS"], out?.columns || 100)
  }
}
const set = (value: string | undefined): boolean => value !== undefined && value !== "" && value !== "0"
const wholeOr = (text: string | undefined, otherwise: number): number => {
  const number = Number(text)
  return text !== undefined && Number.isInteger(number) && number >= 20 ? number : otherwise
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 } as const
type TextStyle = keyof typeof codes
export const styled = (colour: boolean, ink: TextStyle, text: string): string =>
  colour ? `${styleMark(codes[ink])}${text}${styleMark(0)}` : text

/** Message that commands, by number, are pending on this device. */
export const recordedText = (commands: ReadonlyArray<number>): string => {
  const [plural, them] = commands.length === 1 ? ["", "it"] : ["s", "them"]
  return `Recorded here as command${plural} ${commands.join(", ")}, pending; flightcase sync sends ${them}.`
}

/** Whether the streams are terminals or pipes, how wide, in colour or not (clig.dev, NO_COLOR, CLICOLOR). */
import type { JsonObject } from "../../core/kernel/fields/field.ts"
import type { Environment } from "../base/profile-folder.ts"
import { styleMark } from "./out.ts"

export interface Terminal {
  /** Standard output is a terminal. */
  readonly is_tty: boolean
  /** Standard error is a terminal, on which a progress line may move. */
  readonly progress: boolean
  /** Questions can be answered: standard input and standard error are terminals. */
  readonly answers: boolean
  readonly colour: boolean
  readonly columns: number
  /** What the store with this id is called, once stores were looked up. */
  readonly storeName?: (id: unknown) => string | undefined
  /** The zone on whose clock the times of a row are shown: that of its store, else the company's; undefined: UTC. */
  readonly zoneOf?: (row: JsonObject) => string | undefined
}

export const terminalOf = (env: Environment): Terminal => {
  const is_tty = process.stdout.isTTY === true || set(env["FLIGHTCASE_TTY"])
  return {
    is_tty,
    progress: process.stderr.isTTY === true && env["TERM"] !== "dumb",
    answers: process.stdin.isTTY === true && process.stderr.isTTY === true,
    colour: set(env["NO_COLOR"])
      ? false
      : set(env["CLICOLOR_FORCE"]) || set(env["FORCE_COLOR"])
        ? true
        : process.stdout.isTTY === true && env["TERM"] !== "dumb" && env["CLICOLOR"] !== "0",
    columns: wholeOr(env["COLUMNS"], process.stdout.columns ?? 100)
  }
}
const set = (value: string | undefined): boolean => value !== undefined && value !== "" && value !== "0"
const wholeOr = (text: string | undefined, otherwise: number): number => {
  const number = Number(text)
  return text !== undefined && Number.isInteger(number) && number >= 20 ? number : otherwise
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 } as const
export type TextStyle = keyof typeof codes
export const styled = (colour: boolean, ink: TextStyle, text: string): string =>
  colour ? `${styleMark(codes[ink])}${text}${styleMark(0)}` : text

/** Flags that say when and where, shared by the verbs of `availability`. */
import type { Command } from "commander"
import { missingFlagError } from "../../exit-codes.ts"
import { parseMomentIn } from "../../parse-time.ts"
import type { Flags } from "../../program.ts"
import type { ResolvedStore } from "../../resolve-id.ts"

export const as_of_text = "what was believed at this earlier time"
/** `--as-of` as the query string names it. */
export const pastOf = (flags: Flags, store: ResolvedStore): ReadonlyArray<readonly [string, string]> =>
  typeof flags["asOf"] === "string" ? [["as_of", plainOr(flags["asOf"], store, "--as-of")]] : []
export const kitsOf = (flags: Flags): ReadonlyArray<readonly [string, string]> =>
  flags["kits"] === true ? [["include_kits", "1"]] : []
export const page_text = "a page to look at and to print; - for standard output"
/** Adds the flags of a window at a store. */
export const windowed = (command: Command): Command =>
  command
    .option("--from <time>", "start: a date, or a time on the store's clock")
    .option("--to <time>", "end")
    .option("--store <store>", "id or name (default: the default store)")

/** The window as the query string names it. Exit 2 where a bound is missing. */
export const windowOf = (flags: Flags, store: ResolvedStore): ReadonlyArray<readonly [string, string]> =>
  (["from", "to"] as const).map((name) => {
    const text = flags[name]
    if (typeof text !== "string")
      throw missingFlagError(`--${name}`, name === "from" ? "the start of the window" : "the end of the window")
    return [name, plainOr(text, store, `--${name}`)] as const
  })
/** A moment with the store's offset. A plain date is sent as it is: it means a day of the store. */
export const plainOr = (text: string, store: ResolvedStore, flag: string): string => {
  const moment = parseMomentIn(text, store.zone, flag)
  return /^\d{4}-\d{2}-\d{2}$/.test(text.trim()) ? text.trim() : moment
}

/** `{reserved: 3, held: 1}` as one line. */
export const breakdownText = (value: unknown): string =>
  typeof value === "object" && value !== null
    ? Object.entries(value)
        .map(([source, quantity]) => `${source} ${String(quantity)}`)
        .join(", ")
    : ""

/** How well a row answers what somebody looks for. Pure. */
import { numberForms } from "../values/short-text.ts"
import { compacted, foldForSearch, keptWords, searchedTextOf, searchWords } from "../kernel/store/search-index.ts"
import type { AnyRow, Table } from "../kernel/table.ts"

export interface Sought {
  /** As given, without blanks around it. */
  readonly text: string
  readonly words: ReadonlyArray<string>
  /** Words that an index may hold with their accents, by the word without them. */
  readonly kept: ReadonlyMap<string, string>
  /** A telephone number without what is written before it, so that `+44 7700 …` finds `07700 …`; else undefined. */
  readonly phone: string | undefined
}
/** A digit fewer than short numbers have after their area code. */
const phone_digits_min = 6
const phone_digits_told_by = 9

export const soughtIn = (given: string): Sought => {
  const text = given.trim()
  const digits = compacted(text)
  return {
    text,
    words: searchWords(text),
    kept: keptWords(text),
    phone: /^\d+$/.test(digits) && digits.length >= phone_digits_min ? digits.slice(-phone_digits_told_by) : undefined
  }
}

/**
 * 0: a code or number of it is just this; 1: a text of it begins so; 2: every word begins one of its words; 3: else.
 */
export type Closeness = 0 | 1 | 2 | 3
export interface Match<R extends AnyRow = AnyRow> {
  readonly row: R
  readonly closeness: Closeness
}

/** How well a row matches by the columns its reader sees; undefined where it does not. */
export const closenessOf = (
  table: Table,
  row: AnyRow,
  { text, words }: Sought,
  codes: ReadonlyArray<string>,
  visible: (column: string) => boolean
): Closeness | undefined => {
  if (table.searched === undefined) return undefined
  const folded = foldForSearch(text)
  const is_code = codes.some((name) => {
    const value = row[name]
    return (
      visible(name) &&
      typeof value === "string" &&
      (foldForSearch(value) === folded || numberForms(text).includes(value))
    )
  })
  if (is_code) return 0
  const found_in = searchedTextOf(table.searched, row, visible)
  const texts = found_in.split("\n")
  if (texts.some((one) => one.startsWith(folded))) return 1
  if (!words.every((word) => found_in.includes(word))) return undefined
  const begun = texts.flatMap((one) => one.split(/[^\p{L}\p{N}]+/u))
  return words.every((word) => begun.some((one) => one.startsWith(word))) ? 2 : 3
}

/** The closest first, of equals those in use, then the newest. */
export const inOrderOfCloseness =
  <R extends AnyRow>(isInUse: (row: R) => boolean) =>
  (one: Match<R>, other: Match<R>): number =>
    one.closeness - other.closeness ||
    Number(isInUse(other.row)) - Number(isInUse(one.row)) ||
    Number(other.row["id"]) - Number(one.row["id"])

/** Values of flags, queries of lists from flags, and all pages of a list. */
import { splitPredicate, unpagedMeta, type Json, type JsonObject, type Query } from "../../core/kernel/index.ts"
import { usageError } from "../base/exit-codes.ts"
import { readMoment } from "../base/parse-time.ts"
import { type Flags, listFlag, textFlag } from "./program.ts"
import { metaIn, type RowOfList, rowsOr } from "../base/answers.ts"
import type { CommandContext } from "./context.ts"
import { resolveId } from "./resolve-id.ts"

/** A flag as typed: `--write-off` for `writeOff`. */
export const flagTyped = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
/** Time of a flag on the clock of a zone; undefined if the flag was not given. */
export const momentFlag = (
  context: CommandContext,
  flags: Flags,
  name: string,
  zone: string,
  begins?: string
): string | undefined => {
  const text = textFlag(flags, name)
  return text === undefined ? undefined : readMoment(context, text, zone, flagTyped(name), begins)
}
/** Id of the row that a flag names; undefined if the flag was not given. */
export const idFlag = async (
  context: CommandContext,
  flags: Flags,
  name: string,
  table: string
): Promise<number | undefined> => {
  const text = textFlag(flags, name)
  return text === undefined ? undefined : resolveId(context, table, text)
}
/** A body without undefined values. */
export const present = (values: { readonly [name: string]: Json | undefined }): JsonObject =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, Json] => entry[1] !== undefined))
/** Query parameters without undefined values. */
export const queryOf = (values: { readonly [name: string]: string | number | undefined }): Query =>
  Object.entries(values).flatMap(([name, value]): Query => (value === undefined ? [] : [[name, String(value)]]))

/** Parses a query parameter: `name_cont=x` is a filter, others are passed on (`page=2`, `product_ids[]=3`). */
export const queryPart = (text: string): readonly [string, string] => {
  const at = text.indexOf("=")
  const name = at < 0 ? text : text.slice(0, at)
  const value = at < 0 ? "" : text.slice(at + 1)
  if (name === "") throw usageError(`-q ${JSON.stringify(text)} has no name: write -q name=value.`)
  return [!name.includes("[") && splitPredicate(name) !== undefined ? `q[${name}]` : name, value]
}
/** A page or its size. Exit 2 for what is no number, which the API would pass over. */
const countFlag = (flags: Flags, name: string): string | undefined => {
  const text = textFlag(flags, name)
  if (!/^\d+$/.test(text ?? "1")) throw usageError(`${flagTyped(name)}: "${text}" is no whole number.`)
  return text
}
/** Query from the flags of a list. */
export const listQuery = (flags: Flags): Query => [
  ...listFlag(flags, "q").map(queryPart),
  ...queryOf({
    sort: textFlag(flags, "sort"),
    page: countFlag(flags, "page"),
    per_page: countFlag(flags, "perPage"),
    include: textFlag(flags, "include"),
    view_id: textFlag(flags, "view"),
    archived: textFlag(flags, "archived")
  })
]

const page_size = 100

/** Type of a row of the list at a path. */
type RowAt<Path extends string> = Path extends `/api/v1/${infer Plural}` ? RowOfList<Plural> : JsonObject
/** Yields all rows of a list, page by page. */
export async function* everyRow<const Path extends string>(
  context: CommandContext,
  path: Path,
  query: Query = []
): AsyncGenerator<RowAt<Path>> {
  const filters = query.filter(([name]) => name !== "page" && name !== "per_page")
  for (let page = 1, count = 0; ; page++) {
    const body = await context.read(path, [...filters, ["page", String(page)], ["per_page", String(page_size)]])
    const rows = rowsOr(Object.values(body).find(Array.isArray))
    yield* rows as ReadonlyArray<RowAt<Path>>
    count += rows.length
    const { total } = metaIn(body)
    if (rows.length === 0 || typeof total !== "number" || count >= total) return
  }
}
export const allRows = async <const Path extends string>(
  context: CommandContext,
  path: Path,
  query: Query = []
): Promise<Array<RowAt<Path>>> => {
  const rows: Array<RowAt<Path>> = []
  for await (const row of everyRow(context, path, query)) rows.push(row)
  return rows
}

/** All pages of a list as one response body. */
export const wholeList = async (context: CommandContext, path: string, query: Query): Promise<JsonObject> => {
  const first = await context.read(path, [
    ...query.filter(([name]) => name !== "page" && name !== "per_page"),
    ["per_page", "1"]
  ])
  const plural = Object.keys(first).find((key) => Array.isArray(first[key]))
  if (plural === undefined) return first
  await (await import("../base/ignored.ts")).refuseIgnored(first)
  const rows: ReadonlyArray<Json> = await allRows(context, path, query)
  return { [plural]: rows, meta: unpagedMeta(rows.length) }
}

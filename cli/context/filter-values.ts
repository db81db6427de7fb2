/**
 * Converts typed filter values (`-q`): times on the default store's clock, names where ids are compared, labels of
 * codes. The API returns no rows for a value it cannot read; here it is refused, so that an empty result is not
 * mistaken for the answer.
 */
import { splitPredicate, type Field, type Query } from "../../core/kernel/index.ts"
import { nearest } from "../../core/values/nearest.ts"
import { numberForms } from "../../core/values/text.ts"
import { parseTimestamp } from "../../core/values/time.ts"
import type { CommandContext } from "./context.ts"
import { usageError } from "../base/exit-codes.ts"
import { resourceCalled } from "../base/ignored.ts"
import { nameableTable } from "../base/nameable.ts"
import { parseDay, readMoment } from "../base/parse-time.ts"
import { looksLikeId, resolveId, resolveStore } from "./resolve-id.ts"

const single = new Set(["eq", "not_eq", "lt", "lteq", "gt", "gteq"])
const several = new Set(["in", "not_in"])
/** Matches times with an offset; others are in the default store's zone. */
const with_offset = /^\d{4}-\d{2}-\d{2}[Tt ].*([Zz]|[+-]\d{2}:?\d{2})$/

/** The query of a list with its filter values parsed. Exit 2 for an invalid one, with the valid forms. */
export const readFilterValues = async (context: CommandContext, query: Query, plural: string): Promise<Query> => {
  if (!query.some(([key]) => key.startsWith("q["))) return query
  const resource = await resourceCalled(plural)
  if (resource === undefined) return query
  const read: Array<Query[number]> = []
  for (const entry of query) read.push(await entryRead(context, resource, entry))
  return read
}
const entryRead = async (
  context: CommandContext,
  resource: NonNullable<Awaited<ReturnType<typeof resourceCalled>>>,
  entry: Query[number]
): Promise<Query[number]> => {
  const [key, value] = entry
  const name = /^q\[([^[\]]+)\]$/.exec(key)?.[1]
  const split = name === undefined ? undefined : splitPredicate(name)
  const column = split === undefined ? "" : (resource.aliases[split.name] ?? split.name)
  const field = resource.filters.includes(column) ? resource.table.columns[column] : undefined
  if (split === undefined || field === undefined || value === "") return entry
  const of_many = list_predicates[split.predicate]
  if (column === "number" && field.type.kind === "text" && of_many !== undefined) {
    // A value with two forms is searched for by both.
    const listed = value.split(",").flatMap((one) => {
      const forms = numberForms(one)
      return forms.length === 0 ? [one] : forms
    })
    return listed.length === 1 ? entry : [`q[${split.name}_${of_many}]`, listed.join(",")]
  }
  if (!single.has(split.predicate) && !several.has(split.predicate)) return entry
  const names = resource.value_names[column]?.map((named) => named.name)
  const values: Array<string> = []
  for (const one of single.has(split.predicate) ? [value] : value.split(","))
    values.push(
      names === undefined || /^-?\d+$/.test(one.trim())
        ? await valueRead(context, `-q ${name}`, field, one)
        : labelled(`-q ${name}`, Object.fromEntries(names.map((label) => [label, label])), one)
    )
  return [key, values.join(",")]
}

const list_predicates: { readonly [predicate: string]: "in" | "not_in" | undefined } = {
  eq: "in",
  in: "in",
  not_eq: "not_in",
  not_in: "not_in"
}
const truths = { true: /^(true|t|1|yes|y)$/i, false: /^(false|f|0|no|n)$/i }
const valueRead = async (context: CommandContext, flag: string, { type }: Field, value: string): Promise<string> => {
  const quoted = JSON.stringify(value)
  switch (type.kind) {
    case "timestamp":
      if (with_offset.test(value) && parseTimestamp(value) !== undefined) return value
      return readMoment(context, value, (await resolveStore(context, undefined)).zone, flag)
    case "date":
      // A full date is the same in every zone.
      if (/^\s*\d{4}-/.test(value)) return parseDay(value, flag)
      return parseDay(value, flag, (await resolveStore(context, undefined)).zone)
    case "boolean": {
      const read = Object.entries(truths).find(([, forms]) => forms.test(value))
      if (read === undefined) throw usageError(`${flag}: ${quoted} is neither true nor false.`)
      return read[0]
    }
    case "choice":
    case "code":
      return labelled(flag, type.labels, value)
    case "ref":
      if (looksLikeId(value)) return value
      if (nameableTable(type.table) === undefined) throw usageError(`${flag}: ${quoted} is no id.`)
      return String(await resolveId(context, type.table, value))
    case "integer":
    case "decimal":
    case "money":
      if (("names" in type && type.names !== undefined) || /^-?\d+(\.\d+)?$/.test(value)) return value
      throw usageError(`${flag}: ${quoted} is no number.`)
    default:
      return value
  }
}

/** The key for a label, or for a key in other case. Exit 2 if there is none. */
const labelled = (flag: string, labels: { readonly [key: string]: string }, value: string): string => {
  const plain = (text: string): string =>
    text
      .trim()
      .toLowerCase()
      .replaceAll(/[\s_-]+/g, " ")
  const found = Object.entries(labels).find(([key, label]) => [plain(key), plain(label)].includes(plain(value)))
  if (found !== undefined) return found[0]
  const names = Object.entries(labels).map(([key, label]) => (/^\d+$/.test(key) ? label : key))
  const guess = nearest(value, names)
  throw usageError(
    `${flag}: there is no ${JSON.stringify(value)}.${guess === undefined ? "" : ` Did you mean ${guess}?`}`,
    `It is one of ${Object.entries(labels)
      .map(([key, label]) => (plain(key) === plain(label) ? key : `${key} (${label})`))
      .join(", ")}.`
  )
}

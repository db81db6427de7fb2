/** Query strings as flags: `-q name_cont=x`, `--sort`, `--page`. */
import { type Query, splitPredicate } from "../../core/kernel/lists/query.ts"
import { usageError } from "../base/exit-codes.ts"
import { type Flags, listFlag, textFlag } from "./program.ts"

/** Parses a query parameter: `name_cont=x` is a filter, others are passed on (`page=2`, `product_ids[]=3`). */
export const queryPart = (text: string): readonly [string, string] => {
  const at = text.indexOf("=")
  const name = at < 0 ? text : text.slice(0, at)
  const value = at < 0 ? "" : text.slice(at + 1)
  if (name === "") throw usageError(`-q ${JSON.stringify(text)} has no name: write -q name=value.`)
  return [!name.includes("[") && splitPredicate(name) !== undefined ? `q[${name}]` : name, value]
}
/** Query from the flags of a list. */
export const listQuery = (flags: Flags): Query => [
  ...listFlag(flags, "q").map(queryPart),
  ...(
    [
      ["sort", "sort"],
      ["page", "page"],
      ["per_page", "perPage"],
      ["include", "include"],
      ["view_id", "view"],
      ["archived", "archived"]
    ] as const
  ).flatMap(([name, flag]): Query => {
    const text = textFlag(flags, flag)
    return text === undefined ? [] : [[name, text]]
  })
]

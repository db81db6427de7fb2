/** Query strings as flags: `-q name_cont=x`, `--sort`, `--page`. */
import type { Query } from "../core/kernel/query.ts"
import { splitPredicate } from "../core/kernel/query.ts"
import { usageError } from "./exit-codes.ts"

/** `name_cont=x` is a filter; anything else goes as it is (`page=2`, `product_ids[]=3`). */
export const queryPart = (text: string): readonly [string, string] => {
  const at = text.indexOf("=")
  const name = at < 0 ? text : text.slice(0, at)
  const value = at < 0 ? "" : text.slice(at + 1)
  if (name === "") throw usageError(`-q ${JSON.stringify(text)} has no name: write -q name=value.`)
  return [!name.includes("[") && splitPredicate(name) !== undefined ? `q[${name}]` : name, value]
}
export interface ListFlags {
  readonly q?: ReadonlyArray<string>
  readonly sort?: string
  readonly page?: string
  readonly perPage?: string
  readonly include?: string
  readonly view?: string
  readonly archived?: string
}
export const listQuery = (flags: ListFlags): Query => [
  ...(flags.q ?? []).map(queryPart),
  ...(
    [
      ["sort", flags.sort],
      ["page", flags.page],
      ["per_page", flags.perPage],
      ["include", flags.include],
      ["view_id", flags.view],
      ["archived", flags.archived]
    ] as const
  ).flatMap(([name, value]): Query => (value === undefined ? [] : [[name, value]]))
]

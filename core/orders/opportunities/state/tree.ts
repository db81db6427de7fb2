/** Position of a line: paths of four digits a level, "0001", "00010001" (rules/opportunities 7.1). */
import { Result } from "effect"
import { reject, type Rejection } from "../../../kernel/fields/rejection.ts"
import type { ItemRow, ItemType } from "../tables/lines.ts"

const width = 4
const group_levels_max = 5
const siblings_max = 9_999

export const parentPath = (path: string): string | null => (path.length > width ? path.slice(0, -width) : null)
export const depthOf = (path: string): number => path.length / width
export const isBelow = (path: string, ancestor: string): boolean =>
  path.length > ancestor.length && path.startsWith(ancestor)
const childPath = (parent: string | null, place: number): string =>
  `${parent ?? ""}${String(place).padStart(width, "0")}`

/** Whether a line of this type may be below one of that type (undefined: at the root). */
const canNest = (type: ItemType, parent: ItemType | undefined): boolean =>
  type === "accessory" ? parent === "product" : parent === undefined || parent === "group"
const nestingError = (type: ItemType): string =>
  type === "accessory" ? "An accessory belongs below a product line." : "A line stands at the top or below a group."

/** The place after the last child of a parent; 422 on `parent_path` when there is no room or no such parent. */
export const nextPath = (
  lines: ReadonlyArray<ItemRow>,
  type: ItemType,
  parent: string | null
): Result.Result<string, Rejection> => {
  const refuse = (text: string) => reject("parent_path", text)
  const above = parent === null ? undefined : lines.find((line) => line.path === parent)
  if (parent !== null && above === undefined) return refuse("There is no line at this path.")
  if (!canNest(type, above?.item_type)) return refuse(nestingError(type))
  if (type === "group" && parent !== null && depthOf(parent) >= group_levels_max)
    return refuse(`Groups nest at most ${group_levels_max} levels deep.`)
  const last = lines
    .filter((line) => parentPath(line.path) === parent)
    .reduce((top, line) => Math.max(top, Number(line.path.slice(-width))), 0)
  return last >= siblings_max
    ? refuse(`A group holds at most ${siblings_max} lines.`)
    : Result.succeed(childPath(parent, last + 1))
}

export interface Node {
  readonly id: number
  readonly depth: number
}
/**
 * Paths for all lines in display order. A depth is at most one below the row before; the parent is the nearest earlier
 * row one level up. 422 on `nodes` when a line would stand where its type does not fit.
 */
export const restructured = (
  nodes: ReadonlyArray<Node>,
  lines: ReadonlyMap<number, ItemRow>
): Result.Result<ReadonlyArray<{ readonly id: number; readonly path: string }>, Rejection> => {
  const open: Array<{ readonly path: string; readonly type: ItemType; children: number }> = []
  let roots = 0
  const paths: Array<{ readonly id: number; readonly path: string }> = []
  for (const [index, node] of nodes.entries()) {
    const line = lines.get(node.id)
    if (line === undefined) continue
    const depth = Math.min(node.depth, open.length + 1)
    open.length = depth - 1
    const parent = open.at(-1)
    const refuse = (text: string) => reject(`nodes.${index}`, `${line.name}: ${text}`)
    if (!canNest(line.item_type, parent?.type)) return refuse(nestingError(line.item_type))
    if (line.item_type === "group" && depth > group_levels_max)
      return refuse(`Groups nest at most ${group_levels_max} levels deep.`)
    const place = parent === undefined ? ++roots : ++parent.children
    if (place > siblings_max) return refuse(`A group holds at most ${siblings_max} lines.`)
    const path = childPath(parent?.path ?? null, place)
    paths.push({ id: node.id, path })
    open.push({ path, type: line.item_type, children: 0 })
  }
  return Result.succeed(paths)
}

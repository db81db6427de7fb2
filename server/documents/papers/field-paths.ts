/** Fields available in texts, and a suggestion for an unknown name. */
import { nearest } from "../../../core/values/nearest.ts"

export { pathsOfType } from "../../../core/documents/content/fields.ts"

/**
 * The path to suggest for an unknown one: spelt similarly, or with the same last name (`customer.name`: `member.name`).
 */
export const nearestPath = (wrong: string, paths: ReadonlyArray<string>): string | undefined => {
  const name = wrong.slice(wrong.lastIndexOf(".") + 1)
  const same = paths.filter((path) => path.endsWith(`.${name}`))
  return nearest(wrong, paths) ?? (same.length === 1 ? same[0] : nearest(wrong, same))
}

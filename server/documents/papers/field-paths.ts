/** Fields available in texts, and the most similar one to an unknown name. */
import { nearest } from "../../../core/values/nearest.ts"

export { pathsOfType } from "../../../core/documents/content/fields.ts"

/** With the same name elsewhere (`customer.name`: `member.name`), else spelt almost like it. */
export const nearestPath = (wrong: string, paths: ReadonlyArray<string>): string | undefined => {
  const name = wrong.slice(wrong.lastIndexOf(".") + 1)
  const same = paths.filter((path) => path.endsWith(`.${name}`))
  return nearest(wrong, paths) ?? (same.length === 1 ? same[0] : nearest(wrong, same))
}

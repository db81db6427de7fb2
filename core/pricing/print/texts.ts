/** Checks the template fields in texts. */
/**
 * Fields of a text that a document does not offer. Allowed are listed paths (`member.name`, `lines.name`) and their
 * parents; `custom_fields.*` allows everything directly below.
 */
export const unknownFields = (fields: ReadonlyArray<string>, allowed: ReadonlyArray<string>): ReadonlyArray<string> => {
  const known = new Set(
    allowed.flatMap((path) => path.split(".").map((_, at, parts) => parts.slice(0, at + 1).join(".")))
  )
  // Liquid itself adds these properties to lists and texts.
  const plain = (field: string): string => field.replace(/\.(size|first|last)$/, "")
  return fields.filter((field) => {
    const path = plain(field)
    return !known.has(path) && !known.has(path.replace(/\.[^.]*$/, ".*"))
  })
}

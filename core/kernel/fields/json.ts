/** Plain data, as it travels in bodies, events and commands. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** Whether a JSON parser's result is a value: always, so only its presence is checked. */
export const isParsedJson = (value: unknown): value is Json => value !== undefined
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Same text for equal data, whatever the order of its keys: fingerprints and comparisons rest on it. */
export const canonicalJson = (value: Json): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  if (isJsonObject(value)) {
    return `{${Object.keys(value)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`)
      .join(",")}}`
  }
  return JSON.stringify(value)
}
/** The same text in pieces of few values each, so that a server can answer other requests in between. */
export function* canonicalPieces(value: Json): Generator<string> {
  const isList = Array.isArray(value)
  if ((!isList && !isJsonObject(value)) || !holdsMore(value, values_per_piece)) return yield canonicalJson(value)
  let before = isList ? "[" : "{"
  for (const key of isList ? value.keys() : Object.keys(value).sort()) {
    yield isList ? before : `${before}${JSON.stringify(key)}:`
    yield* canonicalPieces((value as { readonly [key: string | number]: Json })[key] ?? null)
    before = ","
  }
  yield isList ? "]" : "}"
}
const values_per_piece = 2_000
const holdsMore = (value: Json, max: number): boolean => {
  let left = max
  const fits = (one: Json): boolean =>
    left-- > 0 &&
    (typeof one !== "object" || one === null || (Array.isArray(one) ? one.every(fits) : Object.values(one).every(fits)))
  return !fits(value)
}
/** Equal data, whatever the order of its keys: as if their canonical texts were compared. */
export const sameJson = (a: Json, b: Json): boolean => {
  if (a === b) return true
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((one: Json, at) => sameJson(one, b[at]))
  if (!isJsonObject(a)) return !Array.isArray(b) && !isJsonObject(b) && JSON.stringify(a) === JSON.stringify(b)
  if (!isJsonObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key] ?? null, b[key] ?? null))
  )
}

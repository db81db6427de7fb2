/** Plain data, as it travels in bodies, events and commands. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject
export interface JsonObject { readonly [key: string]: Json }

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Same text for equal data, whatever the order of its keys: fingerprints and comparisons rest on it. */
export const canonicalJson = (value: Json): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  if (isJsonObject(value)) {
    return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`).join(",")}}`
  }
  return JSON.stringify(value)
}
/** Equal data, whatever the order of its keys: as if their canonical texts were compared. */
export const sameJson = (a: Json, b: Json): boolean => {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((one: Json, at) => sameJson(one, b[at]))
  if (!isJsonObject(a)) return !Array.isArray(b) && !isJsonObject(b) && JSON.stringify(a) === JSON.stringify(b)
  if (!isJsonObject(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key] ?? null, b[key] ?? null))
}

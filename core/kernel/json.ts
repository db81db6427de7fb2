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
export const sameJson = (a: Json, b: Json): boolean => a === b || canonicalJson(a) === canonicalJson(b)

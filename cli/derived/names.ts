/** From endpoints to what people type: `POST /products/{product}/rates` is `products rates create PRODUCT`. */
import { type Endpoint, operationOf, paramNames } from "../../core/kernel/endpoint.ts"

export interface Verb {
  /** `products rates create`, noun first. */
  readonly words: ReadonlyArray<string>
  readonly endpoint: Endpoint
  /** Path parameters, in order. */
  readonly params: ReadonlyArray<string>
}
export const crud: ReadonlySet<string> = new Set(["list", "show", "create", "update", "delete"])

export const kebab = (name: string): string => name.replaceAll("_", "-")

/** The words of an endpoint; undefined for what is no noun of the API (the sync protocol, feeds). */
export const wordsOf = (endpoint: Endpoint): ReadonlyArray<string> | undefined => {
  if (!endpoint.path.startsWith("/api/v1/") || endpoint.path.startsWith("/api/v1/sync/") || endpoint.path.includes("."))
    return undefined
  const segments = endpoint.path.slice("/api/v1/".length).split("/")
  const literals = segments.filter((segment) => !segment.startsWith("{")).map(kebab)
  const [noun = "", ...inner] = literals
  const operation = kebab(operationOf(endpoint))
  if (crud.has(operation)) return [...literals, operation]
  const last = inner.at(-1)
  // The path says it already (…/items/tree), or says it in several words (containers/repack/start).
  if (last === operation) return literals
  if (inner.join("-") === operation) return [noun, operation]
  // The operation repeats what it is done to: add_item below …/items, set_deal_price at …/deal_price.
  const repeated = inner.findLastIndex(
    (literal) => operation.endsWith(`-${literal}`) || operation.endsWith(`-${literal.replace(/s$/, "")}`)
  )
  if (repeated >= 0) {
    const object = operation.endsWith(`-${inner[repeated]!}`) ? inner[repeated]! : inner[repeated]!.replace(/s$/, "")
    return [noun, ...inner.slice(0, repeated + 1), operation.slice(0, -object.length - 1)]
  }
  // An action on what the path ends in, or one that shares its path with another verb (DELETE …/deal_price).
  return inner.length === 0 || segments.at(-1)!.startsWith("{")
    ? [...literals, operation]
    : [...literals.slice(0, -1), operation]
}

export const verbsOf = (endpoints: ReadonlyArray<Endpoint>): ReadonlyArray<Verb> => {
  const taken = new Set<string>()
  return endpoints.flatMap((endpoint): ReadonlyArray<Verb> => {
    const words = wordsOf(endpoint)
    if (words === undefined || taken.has(words.join(" "))) return []
    taken.add(words.join(" "))
    return [{ words, endpoint, params: paramNames(endpoint.path) }]
  })
}

/** The usual words for verbs the API calls otherwise. */
export const verb_aliases: { readonly [verb: string]: string } = { add: "create", remove: "delete" }

/** Short names people use for nouns. */
export const noun_aliases: { readonly [alias: string]: string } = {
  rates: "rate-definitions",
  assets: "stock-levels",
  stock: "stock-levels",
  groups: "product-groups"
}
/** The noun as the API spells it: `rate_definitions`, `rates` and `rate-definitions` are one, and so are `product` and `products`. */
export const nounOf = (word: string, nouns: ReadonlyArray<string>): string => {
  const noun = kebab(word)
  return noun_aliases[noun] ?? (!nouns.includes(noun) && nouns.includes(`${noun}s`) ? `${noun}s` : noun)
}

/** The name of a path parameter in usage: `PRODUCT`, `ID` for the innermost row of its own list. */
export const argumentName = (endpoint: Endpoint, param: string): string => {
  const params = paramNames(endpoint.path)
  const table = endpoint.params[param]?.table as { readonly entity: string } | undefined
  const name =
    param === "id" && (params.length > 1 || table === undefined) ? "id" : param === "id" ? table!.entity : param
  return kebab(name)
}

/** Names of commands by endpoint: `POST /products/{product}/rates` is `products rates create PRODUCT`. */
import { type Endpoint, operationOf, paramNames, resourceOf } from "../../core/kernel/endpoints/endpoint.ts"

export interface Verb {
  /** Words of the command, noun first: `products rates create`. */
  readonly words: ReadonlyArray<string>
  readonly endpoint: Endpoint
  /** Path parameters in order. */
  readonly params: ReadonlyArray<string>
}
const crud: ReadonlySet<string> = new Set(["list", "show", "create", "update", "delete"])

export const kebab = (name: string): string => name.replaceAll("_", "-")

/**
 * Words of an endpoint's command; undefined for those without one: sync protocol, feeds, files, signed bodies, endless
 * streams.
 */
export const wordsOf = (endpoint: Endpoint): ReadonlyArray<string> | undefined => {
  if (
    endpoint.raw_body ||
    endpoint.produces === "text/event-stream" ||
    !endpoint.path.startsWith("/api/v1/") ||
    endpoint.path.startsWith("/api/v1/sync/") ||
    endpoint.path.includes(".")
  )
    return undefined
  const segments = endpoint.path.slice("/api/v1/".length).split("/")
  const named = segments.filter((segment) => !segment.startsWith("{")).map(kebab)
  // Resources of the server keep their name: jobs, not system jobs.
  const literals = named[0] === "system" && named[1] === kebab(resourceOf(endpoint)) ? named.slice(1) : named
  const [noun = "", ...inner] = literals
  const operation = kebab(operationOf(endpoint))
  if (crud.has(operation)) return [...literals, operation]
  const last = inner.at(-1)
  // The path ends with the operation (…/items/tree), or its last words are the operation (containers/repack/start).
  if (last === operation) return literals
  if (inner.join("-") === operation) return [noun, operation]
  // The operation ends with its object: add_item below …/items, set_deal_price at …/deal_price.
  for (const [at, literal] of [...inner.entries()].reverse()) {
    const object = [literal, literal.replace(/s$/, "")].find((one) => operation.endsWith(`-${one}`))
    if (object !== undefined) return [noun, ...inner.slice(0, at + 1), operation.slice(0, -object.length - 1)]
  }
  // The operation acts on the row at the end of the path, or shares the path with another (DELETE …/deal_price).
  return inner.length === 0 || segments.at(-1)?.startsWith("{") === true
    ? [...literals, operation]
    : [...literals.slice(0, -1), operation]
}

/** Whether an endpoint is a paged list: `list`, or a list below a row, such as its activity. */
export const isList = (endpoint: Endpoint): boolean =>
  operationOf(endpoint) === "list" ||
  (!crud.has(operationOf(endpoint)) && /\/(assets|activity|attachments)$/.test(endpoint.path))

export const verbsOf = (endpoints: ReadonlyArray<Endpoint>): ReadonlyArray<Verb> => {
  const taken = new Set<string>()
  return endpoints.flatMap((endpoint): ReadonlyArray<Verb> => {
    const words = wordsOf(endpoint)
    if (words === undefined || taken.has(words.join(" "))) return []
    taken.add(words.join(" "))
    return [{ words, endpoint, params: paramNames(endpoint.path) }]
  })
}

/** Nouns of these endpoints, in their order. */
export const nounsIn = (endpoints: ReadonlyArray<Endpoint>): ReadonlyArray<string> => [
  ...new Set(endpoints.flatMap((endpoint) => wordsOf(endpoint)?.slice(0, 1) ?? []))
]

/** Usual words for verbs with other names in the API. */
export const verb_aliases: { readonly [verb: string]: string } = { add: "create", remove: "delete" }

/** Short names of nouns. */
export const noun_aliases: { readonly [alias: string]: string } = {
  rates: "rate-definitions",
  assets: "stock-levels",
  stock: "stock-levels",
  groups: "product-groups"
}
/** The noun for a word: `rate_definitions` and `rates` mean `rate-definitions`, `product` means `products`. */
export const nounOf = (word: string, nouns: ReadonlyArray<string>): string => {
  const noun = kebab(word)
  return noun_aliases[noun] ?? (!nouns.includes(noun) && nouns.includes(`${noun}s`) ? `${noun}s` : noun)
}

/** Name of a path parameter in usage: the row's table for `{id}`, or `ID` if the path has several parameters. */
export const argumentName = (endpoint: Endpoint, param: string): string => {
  const table = endpoint.params[param]?.table
  if (param !== "id") return kebab(param)
  return table === undefined || paramNames(endpoint.path).length > 1 ? "id" : kebab(table.entity)
}

/**
 * Parts of a request that its endpoint does not take: `meta.ignored` names them, and a strict request is refused for
 * them (rules/conventions 8).
 */
import { Effect } from "effect"
import { nearest } from "../../values/nearest.ts"
import { isSchema, kindOf, kindWhenPresent, meta, type Part } from "../lists/answer-schema.ts"
import type { Answer, Endpoint, Request } from "./endpoint-types.ts"
import { type Field, type Fields, isJsonObject, type Json, type JsonObject } from "../fields/field.ts"
import { includesOf, type Query, snakeCase, splitPredicate, takesSeveral, valueOf } from "../lists/query.ts"
import { type FieldErrors, invalid, type Rejection } from "../fields/rejection.ts"
import type { Includes, ShownResource } from "../lists/resource-types.ts"

/** Query parameters that a list supports. */
interface Offered {
  /** Whether it has a filter on this field, as in `q[<field>_<predicate>]`. */
  readonly filters: (field: string) => boolean
  /** Whether the requested sort, if any, is supported. */
  readonly is_sorted: boolean
  readonly includes: Includes
  /** A saved view is applied: its columns replace includes. */
  readonly has_view?: boolean
}

/** Ignored query parameters as sent, without filters' values: `q[colour_eq]`, `sort=colour`, `include=colour`. */
export const ignoredOf = (query: Query, { filters, has_view, includes, is_sorted }: Offered): ReadonlyArray<string> => {
  const ignored: Array<string> = []
  for (const [key] of query) {
    if ((key !== "q" && !key.startsWith("q[")) || isAlternativeSort(key)) continue
    const name = /^q\[([^[\]]+)\](\[\d*\])?$/.exec(key)?.[1]
    const split = name === undefined ? undefined : splitPredicate(name)
    if (split === undefined || !filters(split.name)) ignored.push(key)
    // The last of several equal keys wins.
    else if (!takesSeveral(split.predicate) && query.filter(([other]) => other === key).length > 1) ignored.push(key)
  }
  const sort = sortAsked(query)
  if (sort !== undefined && !is_sorted) ignored.push(`sort=${sort}`)
  for (const name of includesOf(query)) {
    const [first = ""] = name.split(".")
    if (has_view === true || !Object.keys(includes).some((one) => one === first || snakeCase(one) === first))
      ignored.push(`include=${name}`)
  }
  return [...new Set(ignored)]
}
const isAlternativeSort = (key: string): boolean => key === "q[s]" || key === "q[s][]" || key === "q[s][0]"
const sortAsked = (query: Query): string | undefined => {
  const sort = valueOf(query, "sort") ?? query.find(([key]) => isAlternativeSort(key))?.[1]
  return sort === undefined || sort.trim() === "" ? undefined : sort
}

/** The key `ignored` of `meta`; no key if nothing was ignored. */
export const ignoredMeta = (ignored: ReadonlyArray<string>): JsonObject => (ignored.length === 0 ? {} : { ignored })

/** The resource of a response: a page of its rows, or one row under its singular key; undefined for other responses. */
export const subjectOf = (answer: Part | undefined): ShownResource | undefined => {
  const kind = answer === undefined ? undefined : kindOf(answer)
  if (kind?.kind === "page") return kind.resource()
  if (kind?.kind !== "keys") return undefined
  const [[name, first] = []] = Object.entries(kind.keys)
  const inner = first === undefined || !isSchema(first) ? undefined : kindOf(first)
  if (inner?.kind !== "row") return undefined
  const resource = inner.resource()
  return resource.singular === name ? resource : undefined
}

/** An ignored part of a request. `known`: valid names. */
interface PassedOver {
  readonly part: string
  readonly known: ReadonlyArray<string>
}
const list_parameters = ["page", "per_page", "sort", "view_id", "archived", "include"]
/** At most this many ignored parts are named in a response. */
const named_max = 100

/**
 * Parts of the request that its endpoint ignores. Filters, sorts and includes of lists are reported by the list itself.
 */
const passedOver = (endpoint: Endpoint, request: Request): ReadonlyArray<PassedOver> => {
  const body = endpoint.method === "GET" || endpoint.raw_body || !isJsonObject(request.body) ? undefined : request.body
  return [
    ...(endpoint.public ? [] : unknownParameters(endpoint, request.query)),
    ...(body === undefined ? [] : unknownKeys(endpoint.fields, body, endpoint.mode, ""))
  ].slice(0, named_max)
}

const unknownParameters = (endpoint: Endpoint, query: Query): ReadonlyArray<PassedOver> => {
  const fields = endpoint.method === "GET" ? endpoint.fields : endpoint.query
  if (query.every(([key]) => Object.hasOwn(fields, key))) return []
  const own = Object.keys(fields)
  const kind = endpoint.answer === undefined ? undefined : kindOf(endpoint.answer)
  const is_list = kind?.kind === "page" || (kind?.kind === "keys" && kind.keys["meta"] === meta)
  const known = [...own, ...(is_list ? list_parameters : ["include"])]
  const unknown = query.flatMap(([key]) => {
    const name = /^([^[\]]+)(\[\d*\])?$/.exec(key)?.[1] ?? key
    return name === "q" || name.startsWith("q[") || name === "sort" || known.includes(name) ? [] : [key]
  })
  const rest = query.filter(([key]) => !own.includes(key))
  const unlisted = is_list
    ? []
    : ignoredOf(rest, { filters: () => false, is_sorted: false, includes: includesIn(kind) })
  return [...new Set([...unknown, ...unlisted])].map((part) => ({ part, known }))
}

/** Includes that rows of this answer offer. */
const includesIn = (kind: ReturnType<typeof kindOf>): Includes =>
  kind?.kind !== "keys"
    ? {}
    : Object.assign(
        {},
        ...Object.values(kind.keys).map((one) => {
          const inner = isSchema(one) ? kindWhenPresent(one) : undefined
          return inner?.kind === "row" ? inner.resource().includes : {}
        })
      )

/** Body keys that are unknown, computed by the server, or `create_only` on update; also within objects and lists. */
const unknownKeys = (
  fields: Fields,
  body: JsonObject,
  mode: Endpoint["mode"],
  at: string
): ReadonlyArray<PassedOver> => {
  const isTaken = (field: Field | undefined): boolean =>
    field !== undefined && !field.computed && !(field.create_only && mode === "update")
  const fieldOf = (name: string): Field | undefined => (Object.hasOwn(fields, name) ? fields[name] : undefined)
  return Object.entries(body).flatMap(([name, value]) => {
    const field = fieldOf(name)
    if (field !== undefined && isTaken(field)) return unknownWithin(field, value, mode, at + name)
    return [{ part: at + name, known: Object.keys(fields).filter((one) => isTaken(fields[one])) }]
  })
}
const unknownWithin = ({ type }: Field, value: Json, mode: Endpoint["mode"], at: string): ReadonlyArray<PassedOver> => {
  if (type.kind === "object") return isJsonObject(value) ? unknownKeys(type.fields, value, mode, `${at}.`) : []
  if (type.kind !== "list" || !Array.isArray(value)) return []
  return value.flatMap((one, index) => unknownWithin(type.of, one, mode, `${at}.${index}`))
}

/** Errors of a strict request, by name, each with the most similar valid name. */
const refusalOf = (parts: ReadonlyArray<PassedOver>): FieldErrors =>
  Object.fromEntries(
    parts.map(({ part, known }) => {
      const [, name = part, value] = /^(sort|include)=-?(.*)$/.exec(part) ?? []
      const filter = /^q\[([^[\]]+)\](\[\d*\])?$/.exec(part)?.[1]
      const split = filter === undefined ? undefined : splitPredicate(filter)
      const asked = split?.name ?? filter ?? value ?? part.slice(part.lastIndexOf(".") + 1)
      const near = nearest(asked, known) ?? known.find((one) => asked.length > 2 && one.startsWith(asked))
      const kind = filter !== undefined ? "filter" : value === undefined ? "field or parameter" : name
      const meant =
        near === undefined ? "" : ` Did you mean ${split === undefined ? near : `q[${near}_${split.predicate}]`}?`
      return [name, [near === asked ? repeated : `There is no ${kind} ${asked} here.${meant}`]]
    })
  )
const repeated = "This is given more than once, and only the last one counts."

/** Errors of a strict request; empty for others. Checked before anything is done. */
export const strictErrors = (endpoint: Endpoint, request: Request): FieldErrors =>
  request.strict === true ? refusalOf(passedOver(endpoint, request)) : {}

/** The answer with its ignored parts listed; refused instead if the request is strict. */
export const sayingIgnored = <A extends Answer>(
  endpoint: Endpoint,
  request: Request,
  answer: A
): Effect.Effect<A, Rejection> => {
  const { body, status } = answer
  if (status >= 300 || !isJsonObject(body)) return Effect.succeed(answer)
  const own = isJsonObject(body["meta"]) ? body["meta"] : {}
  const said = Array.isArray(own["ignored"]) ? own["ignored"].map(String) : []
  if (request.strict === true) {
    if (said.length === 0) return Effect.succeed(answer)
    const subject = subjectOf(endpoint.answer)
    const known = (part: string): ReadonlyArray<string> =>
      subject === undefined
        ? []
        : part.startsWith("sort=")
          ? subject.sorts
          : part.startsWith("include=")
            ? Object.keys(subject.includes)
            : [...subject.filters, ...Object.keys(subject.aliases), ...Object.keys(subject.related)]
    return Effect.fail(invalid(refusalOf(said.map((part) => ({ part, known: known(part) })))))
  }
  const parts = passedOver(endpoint, request).map(({ part }) => part)
  if (parts.length === 0 || endpoint.answer === undefined || kindOf(endpoint.answer) === undefined)
    return Effect.succeed(answer)
  return Effect.succeed({ ...answer, body: { ...body, meta: { ...own, ignored: [...new Set([...said, ...parts])] } } })
}

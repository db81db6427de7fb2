/**
 * Schemas of responses, declared with their endpoints, for typing, OpenAPI and tests; the server validates nothing by
 * them. Values are declared like fields or by the builders below; keys are present unless optional. Schemas are built
 * on first use, as resources refer to each other and most processes need none.
 */
import { Schema } from "effect"
import { mapValues } from "../../values/text.ts"
import type { AnswerShown, Field, Json, JsonObject, Keys, KeysShown, OptionalKey, Part } from "../fields/field.ts"
import type { Shown, ValueShown } from "../fields/field.ts"
import { text, typed } from "../fields/field.ts"
import { anyJson, schemaOfField, wholeNumber } from "../tables/field-schema.ts"
import { as_declared, type Composed, type ShownResource } from "./resource-types.ts"

export type { AnswerShown, Keys, KeysShown, OptionalKey, Part, Shown, ValueShown } from "../fields/field.ts"
export type { ShownResource } from "./resource-types.ts"

interface More {
  readonly nullable?: boolean
  readonly describe?: string
}
type OrNull<M, T> = M extends { readonly nullable: true } ? T | null : T

/** Properties of a Schema that are available before it is built. */
type Kind =
  | { readonly kind: "keys"; readonly keys: Keys }
  | { readonly kind: "row" | "page"; readonly resource: () => ShownResource }
  | { readonly kind: "list" }
// A WeakMap instead of annotations: annotating copies the Schema, and every process declares every response.
const kinds = new WeakMap<object, Kind>()
/** Schemas of the values of optional keys, by the key; none for fields. */
const optionals = new WeakMap<object, Part>()
export const kindOf = (schema: Part): Kind | undefined => kinds.get(schema)
/** The kind of a Schema; for an optional key that of its value. */
export const kindWhenPresent = (schema: Shown): Kind | undefined => kinds.get(optionals.get(schema) ?? schema)

type Build = (composed: Composed) => Part
const builds = new WeakMap<object, Build>()
/** A Schema built on first use, which can be built again for another catalogue (`inCatalogue`). */
const lazily = <T, M extends More>(
  make: Build,
  more: M | undefined,
  kindIn?: (composed: Composed) => Kind
): Part<OrNull<M, T>> => {
  const { describe, nullable } = more ?? {}
  const build: Build = (composed) => {
    const schema = Schema.suspend(() => {
      const one = nullable === true ? Schema.NullOr(make(composed)) : make(composed)
      // Wrapped, because a named Schema keeps its own description.
      return describe === undefined ? one : Schema.suspend(() => one).annotate({ description: describe })
    })
    if (kindIn !== undefined) kinds.set(schema, kindIn(composed))
    return schema
  }
  return typed(rebuildable(build))
}
const rebuildable = (build: Build): Part => {
  const schema = build(as_declared)
  builds.set(schema, build)
  return schema
}

const inCatalogues = new WeakMap<Composed, WeakMap<object, Part>>()
/**
 * The Schema for a catalogue, whose rows have the includes that slices add to each other's resources. Cached; Schemas
 * not built in this file are returned unchanged.
 */
export const inCatalogue = (part: Part, composed: Composed): Part => {
  const build = builds.get(part)
  if (build === undefined || composed === as_declared) return part
  let schemas = inCatalogues.get(composed)
  if (schemas === undefined) inCatalogues.set(composed, (schemas = new WeakMap()))
  let schema = schemas.get(part)
  if (schema === undefined) schemas.set(part, (schema = build(composed)))
  return schema
}

export const isField = (shown: Shown | AnswerShown): shown is Field => "type" in shown && "computed" in shown
export const isSchema = (shown: Shown | AnswerShown): shown is Part => Schema.isSchema(shown)
// Containers treat optional keys like any other Schema.
const schemaOf = (shown: Shown, composed: Composed): Part =>
  isField(shown) ? schemaOfField(shown) : inCatalogue(shown, composed)
const structOf = (of: Keys, composed: Composed): Part => Schema.Struct(mapValues(of, (one) => schemaOf(one, composed)))
const keysIn = (of: Keys, composed: Composed): Keys =>
  composed === as_declared ? of : mapValues(of, (one) => (isField(one) ? one : inCatalogue(one, composed)))

/** The Schema of a response declared by its keys. */
export const answerSchema = (answer: AnswerShown): Part => (isSchema(answer) ? answer : keys(answer))

/** A row in the form of its resource, which is passed as a function, as resources refer to each other. */
export const row = <const M extends More = {}>(resource: () => ShownResource, more?: M): Part<OrNull<M, JsonObject>> =>
  lazily<JsonObject, M>(
    (composed) => rowSchema(composed(resource()), composed),
    more,
    (composed) => ({ kind: "row", resource: () => composed(resource()) })
  )
export const keys = <const K extends Keys, const M extends More = {}>(of: K, more?: M): Part<OrNull<M, KeysShown<K>>> =>
  lazily<KeysShown<K>, M>(
    (composed) => structOf(of, composed),
    more,
    (composed) => ({ kind: "keys", keys: keysIn(of, composed) })
  )
/** A named schema in OpenAPI; recursive ones need a name. */
export const named = <T>(name: string, of: () => Part<T>): Part<T> =>
  typed(rebuildable((composed) => Schema.suspend(() => inCatalogue(of(), composed)).annotate({ identifier: name })))
export const list = <const S extends Shown, const M extends More = {}>(
  of: S,
  more?: M
): Part<OrNull<M, ReadonlyArray<ValueShown<S>>>> =>
  lazily<ReadonlyArray<ValueShown<S>>, M>(
    (composed) => Schema.Array(schemaOf(of, composed)),
    more,
    () => ({ kind: "list" })
  )
/** The `meta` of a response with warnings. */
export const warnings = () => keys({ warnings: list(text()) })
export const rows = <const M extends More = {}>(
  resource: () => ShownResource,
  more?: M
): Part<OrNull<M, ReadonlyArray<JsonObject>>> => list(row(resource), more)
export const objects = <const K extends Keys, const M extends More = {}>(
  of: K,
  more?: M
): Part<OrNull<M, ReadonlyArray<KeysShown<K>>>> => list(keys(of), more)
/** An object whose keys are chosen by the client or known only at run time, with values of one Schema. */
export const map = <const S extends Shown, const M extends More = {}>(
  of: S,
  more?: M
): Part<OrNull<M, { readonly [name: string]: ValueShown<S> }>> =>
  lazily<{ readonly [name: string]: ValueShown<S> }, M>(
    (composed) => Schema.Record(Schema.String, schemaOf(of, composed)),
    more
  )
export const either = <const S extends ReadonlyArray<Shown>>(...of: S): Part<ValueShown<S[number]>> =>
  lazily<ValueShown<S[number]>, {}>((composed) => Schema.Union(of.map((one) => schemaOf(one, composed))), undefined)
export const anything = (describe?: string): Part<Json> =>
  describe === undefined ? anyJson : lazily<Json, {}>(() => anyJson, { describe })
/** A key that may be absent. */
export const optional = <const S extends Shown>(of: S): OptionalKey<ValueShown<S>> => {
  const build: Build = (composed) => {
    const schema = Schema.optionalKey(Schema.suspend(() => schemaOf(of, composed)))
    if (!isField(of)) optionals.set(schema, inCatalogue(of, composed))
    return schema
  }
  return typed(rebuildable(build))
}
/** A number that may have a fraction. */
export const number = <const M extends More = {}>(more?: M): Part<OrNull<M, number>> =>
  lazily<number, M>(() => Schema.Finite, more)
/** Always null: a key kept for clients that look for it. */
export const nothing = (describe?: string): Part<null> =>
  lazily<null, {}>(() => Schema.Null, describe === undefined ? undefined : { describe })
/** One of these texts or numbers. */
export const oneOf = <const V extends string | number, const M extends More = {}>(
  values: ReadonlyArray<V>,
  more?: M
): Part<OrNull<M, V>> => lazily<V, M>(() => Schema.Literals(values), more)
/** `{id, name}` of a related row; null if there is none. */
export const brief = <const M extends More = { readonly nullable: true }>(more?: M): Part<OrNull<M, Brief>> =>
  typed(
    lazily<Brief, More>(
      () => Schema.Struct({ id: wholeNumber, name: Schema.NullOr(Schema.String) }),
      more ?? { nullable: true }
    )
  )
type Brief = { readonly id: number; readonly name: string | null }

const paging = { total: wholeNumber, per_page: wholeNumber, page: wholeNumber }
const ignored_shown = {
  ignored: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({
      description: "Ignored filters, sorts, includes and parameters; absent if none"
    })
  )
}
const view_shown = Schema.Struct({ id: wholeNumber, name: Schema.String })
/** `meta` of a list: the total and the page. */
export const meta = Schema.suspend(() =>
  Schema.Struct({
    ...paging,
    ...ignored_shown,
    view: Schema.optionalKey(view_shown.annotate({ description: "Applied saved view" }))
  })
).annotate({ identifier: "Meta", description: "Total rows, rows per page and current page" })
const ignored_key = optional(list(text(), { describe: "Ignored parameters and fields" }))
export const ignored_alone = optional(
  Schema.suspend(() => Schema.Struct({ ignored: Schema.Array(Schema.String) })).annotate({
    identifier: "Ignored",
    description: "Ignored parameters and fields; absent if none"
  })
)
const isOptional = (shown: Shown | OptionalKey<unknown>): shown is OptionalKey<unknown> => optionals.has(shown)
/** The response with `meta.ignored` added; unchanged for pages and for Schemas without keys. */
export const mayIgnore = (answer: Part): Part => {
  const kind = kinds.get(answer)
  if (kind?.kind !== "keys") return answer
  const own = kind.keys["meta"]
  if (own === meta) return answer
  const inner = own === undefined ? undefined : kindWhenPresent(own)
  if (own === undefined) return keys({ ...kind.keys, meta: ignored_alone })
  if (inner?.kind !== "keys") return answer
  if (!optionals.has(own)) return keys({ ...kind.keys, meta: keys({ ...inner.keys, ignored: ignored_key }) })
  // `meta` may now be present for `ignored` alone, so its other keys become optional.
  const others = Object.entries(inner.keys).map(([name, one]) => [name, isOptional(one) ? one : optional(one)])
  return keys({ ...kind.keys, meta: optional(keys({ ...Object.fromEntries(others), ignored: ignored_key })) })
}

const metaOfView = Schema.suspend(() => Schema.Struct({ ...paging, ...ignored_shown, view: view_shown }))

/**
 * A page of a list: `{[plural]: rows, meta}`; with `view_id` only the columns of the view. `also`: further keys of its
 * meta.
 */
export const page = (resource: () => ShownResource, also?: Keys): Part<JsonObject> =>
  lazily<JsonObject, {}>(
    (composed) =>
      also === undefined
        ? pageSchema(composed(resource()), composed)
        : pageWithMeta(composed(resource()), also, composed),
    undefined,
    (composed) => ({ kind: "page", resource: () => composed(resource()) })
  )

const titled = (name: string): string =>
  name
    .split("_")
    .map((part) => part.replace(/^./, (letter) => letter.toUpperCase()))
    .join("")
export const titleOf = (resource: ShownResource): string => resource.title ?? titled(resource.singular)

type Fields = { readonly [name: string]: Schema.Codec<unknown> }
const fieldsOfRow = (resource: ShownResource, composed: Composed): Fields => {
  const { hides, includes, shows, table } = resource
  const hidden = new Set(["deleted_at", ...hides])
  const columns = Object.entries(table.columns).filter(([name, field]) => !field.hidden && !hidden.has(name))
  return Object.fromEntries([
    ...columns.map(([name, field]) => {
      const schema = schemaOfField(field)
      return [name, field.visible_to === undefined ? schema : Schema.optionalKey(schema)] as const
    }),
    ...Object.entries(includes).flatMap(([name, include]) =>
      include.kind === "keys"
        ? Object.entries(include.shows).map(
            ([key, one]) => [key, Schema.optionalKey(Schema.suspend(() => schemaOf(one, composed)))] as const
          )
        : hidden.has(name) || include.kind === "always"
          ? []
          : [[name, includedKey(name, include, composed)] as const]
    ),
    ...Object.entries(shows).map(([name, one]) => [name, schemaOf(one, composed)] as const)
  ])
}
type Embedded = Exclude<ShownResource["includes"][string], { readonly kind: "always" | "keys" }>
const includedKey = (name: string, include: Embedded, composed: Composed) => {
  const schema = includeSchema(include, composed).annotate({ description: `Returned with include=${name}` })
  return include.kind === "worked_out" ? Schema.optionalKey(schema) : schema
}
const includeSchema = (include: Embedded, composed: Composed): Schema.Codec<unknown> => {
  switch (include.kind) {
    case "brief": {
      const name = schemaOfField(include.table.columns[include.name ?? "name"] ?? text())
      return Schema.NullOr(Schema.Struct({ id: wholeNumber, name }))
    }
    case "one":
      return Schema.NullOr(rowSchema(composed(include.resource()), composed))
    case "worked_out":
      return include.shown
    case "many": {
      const rows = Schema.Array(rowSchema(composed(include.resource()), composed))
      return include.empty === undefined || include.empty === null ? Schema.NullOr(rows) : rows
    }
  }
}

/** Builds a Schema of a resource, once per catalogue. */
const byResource = (
  build: (resource: ShownResource, composed: Composed) => Part
): ((resource: ShownResource, composed?: Composed) => Part) => {
  const built = new WeakMap<Composed, WeakMap<ShownResource, Part>>()
  return (resource, composed = as_declared) => {
    let schemas = built.get(composed)
    if (schemas === undefined) built.set(composed, (schemas = new WeakMap()))
    let schema = schemas.get(resource)
    if (schema === undefined) schemas.set(resource, (schema = build(resource, composed)))
    return schema
  }
}
/** Schema of a resource's rows, named as in OpenAPI. */
export const rowSchema = byResource((resource, composed) =>
  Schema.suspend(() => Schema.Struct(fieldsOfRow(resource, composed))).annotate({ identifier: titleOf(resource) })
)
/** Schema of a row in a saved view: its id and some columns. */
const rowInViewSchema = byResource((resource, composed) =>
  Schema.suspend(() => {
    const all_fields = fieldsOfRow(resource, composed)
    const columns = Object.entries(resource.columns).map(
      ([name, column]) => [name, (typeof column === "string" ? all_fields[column] : undefined) ?? anyJson] as const
    )
    return Schema.Struct(
      Object.fromEntries(
        Object.entries({ ...all_fields, ...Object.fromEntries(columns) }).map(([name, one]) => [
          name,
          name === "id" ? one : Schema.optionalKey(one)
        ])
      )
    )
  })
)
const pageWithMeta = (resource: ShownResource, also: Keys, composed: Composed): Part =>
  Schema.Struct({
    [resource.plural]: Schema.Array(rowSchema(resource, composed)),
    meta: Schema.Struct({ ...paging, ...ignored_shown, ...mapValues(also, (one) => schemaOf(one, composed)) })
  })
/** Annotation of a Union that OpenAPI describes by its first alternative, as the others only narrow it. */
export const described_as_first = "describedAsFirst"
const pageSchema = (resource: ShownResource, composed: Composed): Part => {
  const whole = Schema.Struct({ [resource.plural]: Schema.Array(rowSchema(resource, composed)), meta })
  if (resource.table.columns["id"] === undefined) return whole
  const in_view = Schema.Struct({
    [resource.plural]: Schema.Array(rowInViewSchema(resource, composed)),
    meta: metaOfView
  })
  return Schema.Union([whole, in_view]).annotate({ [described_as_first]: true })
}

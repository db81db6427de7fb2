/**
 * What an answer holds, as a Schema declared beside the endpoint that gives it: answers are typed by it, OpenAPI is
 * generated from it, and the tests decode every real answer through it. Nothing is validated when an answer is given.
 * Values are declared as fields are; what fields cannot say is said by the builders below. A key is always there unless
 * it is optional. Every builder suspends: its Schema is made when it is first used, as resources refer to each other and
 * most processes use none.
 */
import { Schema } from "effect"
import { text } from "./field.ts"
import type { Field } from "./field.ts"
import { anyJson, schemaOfField, wholeNumber } from "./field-schema.ts"
import type { Json, JsonObject } from "./json.ts"
import type { Resource } from "./resource.ts"

/** What the description needs of a resource, whatever its rows are. */
export type ShownResource = Pick<
  Resource,
  | "singular"
  | "plural"
  | "title"
  | "table"
  | "filters"
  | "sorts"
  | "aliases"
  | "related"
  | "includes"
  | "custom_module"
  | "entity_type"
  | "lists_archived"
  | "columns"
  | "shows"
  | "hides"
>

type AnyField = Field<unknown, unknown>
/** Schemas of plain JSON: what is decoded is what was sent. */
export type Part<T = unknown> = Schema.Codec<T>
/** A key that may be absent. */
export type OptionalKey<T = unknown> = Schema.optionalKey<Schema.Codec<T>>
export type Shown = AnyField | Part | OptionalKey
export interface Keys {
  readonly [name: string]: Shown
}
/** What a good answer holds: the keys of an object, or a Schema. */
export type AnswerShown = Keys | Part

/** The type of a value as answers hold it. */
export type ValueShown<S> = S extends { readonly "Type": infer T } ? T : S extends Field<unknown, infer T> ? T : never
type OptionalNames<K> = { [N in keyof K]: K[N] extends OptionalKey ? N : never }[keyof K]
type Flat<T> = { readonly [N in keyof T]: T[N] }
export type KeysShown<K extends Keys> = Flat<
  { readonly [N in Exclude<keyof K, OptionalNames<K>>]: ValueShown<K[N]> } & {
    readonly [N in OptionalNames<K>]?: ValueShown<K[N]> | undefined
  }
>
/** The type of the body of an answer. */
export type BodyShown<A> = [A] extends [never]
  ? never
  : A extends { readonly "Type": infer T; readonly ast: unknown }
    ? T
    : A extends Keys
      ? KeysShown<A>
      : never

interface More {
  readonly nullable?: boolean
  readonly describe?: string
}
type OrNull<M, T> = M extends { readonly nullable: true } ? T | null : T

/** What can be told of a Schema without making it. */
export type Kind =
  | { readonly kind: "keys"; readonly keys: Keys }
  | { readonly kind: "row" | "page"; readonly resource: () => ShownResource }
  | { readonly kind: "list" }
// Beside the Schemas and not among their annotations: annotating copies, and every process declares every answer.
const kinds = new WeakMap<object, Kind>()
export const kindOf = (schema: Part): Kind | undefined => kinds.get(schema)

const lazily = <T, M extends More>(
  make: () => Schema.Codec<unknown>,
  more: M | undefined,
  kind?: Kind
): Part<OrNull<M, T>> => {
  const { describe, nullable } = more ?? {}
  const schema = Schema.suspend(() => {
    const one = nullable === true ? Schema.NullOr(make()) : make()
    // Around it: what has a name of its own keeps its own words.
    return describe === undefined ? one : Schema.suspend(() => one).annotate({ description: describe })
  })
  if (kind !== undefined) kinds.set(schema, kind)
  // The type a builder promises is that of the declarations it was given, which the Schema made of them follows.
  return schema as unknown as Part<OrNull<M, T>>
}

export const isField = (shown: Shown | AnswerShown): shown is AnyField => "type" in shown && "computed" in shown
export const isSchema = (shown: Shown | AnswerShown): shown is Part => Schema.isSchema(shown)
const schemaOf = (shown: Shown): Schema.Codec<unknown> => (isField(shown) ? schemaOfField(shown) : (shown as Part))
const structOf = (of: Keys): Schema.Codec<unknown> =>
  Schema.Struct(Object.fromEntries(Object.entries(of).map(([name, one]) => [name, schemaOf(one)])))

/** The Schema of an answer declared by its keys. */
export const answerSchema = (answer: AnswerShown): Part => (isSchema(answer) ? answer : keys(answer as Keys))

/** A row as its resource shows it. Named in a function, as resources refer to each other. */
export const row = <const M extends More = {}>(resource: () => ShownResource, more?: M): Part<OrNull<M, JsonObject>> =>
  lazily<JsonObject, M>(() => rowSchema(resource()), more, { kind: "row", resource })
export const keys = <const K extends Keys, const M extends More = {}>(of: K, more?: M): Part<OrNull<M, KeysShown<K>>> =>
  lazily<KeysShown<K>, M>(() => structOf(of), more, { kind: "keys", keys: of })
/** Something with a name of its own in the description: what holds others of its kind needs one. */
export const named = <T>(name: string, of: () => Part<T>): Part<T> =>
  Schema.suspend(of).annotate({ identifier: name }) as unknown as Part<T>
export const list = <const S extends Shown, const M extends More = {}>(
  of: S,
  more?: M
): Part<OrNull<M, ReadonlyArray<ValueShown<S>>>> =>
  lazily<ReadonlyArray<ValueShown<S>>, M>(() => Schema.Array(schemaOf(of)), more, { kind: "list" })
export const rows = <const M extends More = {}>(
  resource: () => ShownResource,
  more?: M
): Part<OrNull<M, ReadonlyArray<JsonObject>>> => list(row(resource), more)
/** A list of objects with these keys. */
export const objects = <const K extends Keys, const M extends More = {}>(
  of: K,
  more?: M
): Part<OrNull<M, ReadonlyArray<KeysShown<K>>>> => list(keys(of), more)
/** Names of the sender's own or of a kind known only at run time, each with such a value. */
export const map = <const S extends Shown, const M extends More = {}>(
  of: S,
  more?: M
): Part<OrNull<M, { readonly [name: string]: ValueShown<S> }>> =>
  lazily<{ readonly [name: string]: ValueShown<S> }, M>(() => Schema.Record(Schema.String, schemaOf(of)), more)
export const either = <const S extends ReadonlyArray<Shown>>(...of: S): Part<ValueShown<S[number]>> =>
  lazily<ValueShown<S[number]>, {}>(() => Schema.Union(of.map(schemaOf)), undefined)
/** Any JSON at all. */
export const anything = (describe?: string): Part<Json> =>
  describe === undefined ? anyJson : lazily<Json, {}>(() => anyJson, { describe })
/** The key may be absent. */
export const optional = <const S extends Shown>(of: S): OptionalKey<ValueShown<S>> =>
  Schema.optionalKey(isField(of) ? Schema.suspend(() => schemaOfField(of)) : of) as unknown as OptionalKey<
    ValueShown<S>
  >
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
/** `{id, name}` of something else; null where there is none. */
export const brief = <const M extends More = { readonly nullable: true }>(more?: M): Part<OrNull<M, Brief>> =>
  lazily<Brief, M>(
    () => Schema.Struct({ id: wholeNumber, name: Schema.NullOr(Schema.String) }),
    more ?? ({ nullable: true } as unknown as M)
  )
interface Brief {
  readonly id: number
  readonly name: string | null
}

/** How many there are in all, and which page of them this is. */
export const meta = Schema.suspend(() =>
  Schema.Struct({ total: wholeNumber, per_page: wholeNumber, page: wholeNumber })
).annotate({ identifier: "Meta", description: "Rows found in all, rows a page, and the page this is" })
const metaOfView = Schema.suspend(() =>
  Schema.Struct({
    total: wholeNumber,
    per_page: wholeNumber,
    page: wholeNumber,
    view: Schema.Struct({ id: wholeNumber, name: Schema.String })
  })
).annotate({ identifier: "MetaOfView", description: "As Meta, and the saved view that was applied" })

/** A page of a list: `{[plural]: rows, meta}`; with `view_id` only the columns of the view. */
export const page = (resource: () => ShownResource): Part<JsonObject> =>
  lazily<JsonObject, {}>(() => pageSchema(resource()), undefined, { kind: "page", resource })

const titled = (name: string): string =>
  name
    .split("_")
    .map((part) => part.replace(/^./, (letter) => letter.toUpperCase()))
    .join("")
export const titleOf = (resource: ShownResource): string => resource.title ?? titled(resource.singular)

type Fields = { readonly [name: string]: Schema.Codec<unknown> }
const fieldsOfRow = (resource: ShownResource): Fields => {
  const { hides, includes, shows, table } = resource
  const hidden = new Set(["deleted_at", ...hides])
  const columns = Object.entries(table.columns).filter(([name, field]) => !field.hidden && !hidden.has(name))
  return Object.fromEntries([
    ...columns.map(([name, field]) => {
      const schema = schemaOfField(field)
      return [name, field.visible_to === undefined ? schema : Schema.optionalKey(schema)] as const
    }),
    ...Object.entries(includes).flatMap(([name, include]) =>
      hidden.has(name) || include.kind === "always"
        ? []
        : [[name, includeSchema(include).annotate({ description: `With include=${name}` })] as const]
    ),
    ...Object.entries(shows).map(([name, one]) => [name, schemaOf(one)] as const)
  ]) as Fields
}
type Embedded = Exclude<ShownResource["includes"][string], { readonly kind: "always" }>
const includeSchema = (include: Embedded): Schema.Codec<unknown> => {
  switch (include.kind) {
    case "brief": {
      const name = schemaOfField(include.table.columns[include.name ?? "name"] ?? text())
      return Schema.NullOr(Schema.Struct({ id: wholeNumber, name }))
    }
    case "one":
      return Schema.NullOr(rowSchema(include.resource()))
    case "many": {
      const rows = Schema.Array(rowSchema(include.resource()))
      return include.empty === undefined || include.empty === null ? Schema.NullOr(rows) : rows
    }
  }
}

const row_schemas = new WeakMap<ShownResource, Schema.Codec<unknown>>()
/** A row of a resource, by the name it has in the description. */
export const rowSchema = (resource: ShownResource): Schema.Codec<unknown> => {
  let schema = row_schemas.get(resource)
  if (schema === undefined) {
    schema = Schema.suspend(() => Schema.Struct(fieldsOfRow(resource))).annotate({ identifier: titleOf(resource) })
    row_schemas.set(resource, schema)
  }
  return schema
}
const view_schemas = new WeakMap<ShownResource, Schema.Codec<unknown>>()
/** What a saved view shows of a row: its id and some of the rest. */
const rowInViewSchema = (resource: ShownResource): Schema.Codec<unknown> => {
  let schema = view_schemas.get(resource)
  if (schema === undefined) {
    view_schemas.set(
      resource,
      (schema = Schema.suspend(() => {
        const whole = fieldsOfRow(resource)
        const columns = Object.entries(resource.columns).map(
          ([name, column]) => [name, (typeof column === "string" ? whole[column] : undefined) ?? anyJson] as const
        )
        return Schema.Struct(
          Object.fromEntries(
            Object.entries({ ...whole, ...Object.fromEntries(columns) }).map(([name, one]) => [
              name,
              name === "id" ? one : Schema.optionalKey(one)
            ])
          )
        )
      }).annotate({ identifier: `${titleOf(resource)}InView` }))
    )
  }
  return schema
}
const pageSchema = (resource: ShownResource): Schema.Codec<unknown> => {
  const whole = Schema.Struct({ [resource.plural]: Schema.Array(rowSchema(resource)), meta })
  if (resource.table.columns["id"] === undefined) return whole
  return Schema.Union([
    whole,
    Schema.Struct({ [resource.plural]: Schema.Array(rowInViewSchema(resource)), meta: metaOfView }).annotate({
      description: "With view_id: the columns of the view"
    })
  ])
}

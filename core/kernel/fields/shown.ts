/** Types of answers; `answer-schema.ts` has the builders. */
import type { Schema } from "effect"
import type { Field } from "./field.ts"
import type { Json } from "./json.ts"

// Where declared types meet the Schemas that are made of them.

/**
 * A Schema built at run time from declarations (fields, tables, keys of an answer), with their declared type.
 * TypeScript cannot derive one from the other; tests decode stored data and answers.
 */
export const typed = <S>(schema: Schema.Top): S => schema as unknown as S

export type AnyField = Field<unknown, unknown>
/** Schemas of plain JSON, without transformations. */
export type Part<T = unknown> = Schema.Codec<T>
/** A key that may be absent. */
export type OptionalKey<T = unknown> = Schema.optionalKey<Schema.Codec<T>>
export type Shown = AnyField | Part | OptionalKey
export interface Keys {
  readonly [name: string]: Shown
}
/** Body of a successful answer: the keys of an object, or a Schema. */
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
/** Declared types as JSON, which has neither interfaces nor undefined. */
export type AsJson<T> = T extends Json ? T : { readonly [N in keyof T]: AsJson<Exclude<T[N], undefined>> }
/** The type of the body of an answer. */
export type BodyShown<A> = [A] extends [never]
  ? never
  : A extends { readonly "Type": infer T; readonly ast: unknown }
    ? T
    : A extends Keys
      ? KeysShown<A>
      : never

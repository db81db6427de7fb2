/** Types of what answers hold: the builders are in `answer-schema.ts`. */
import type { Schema } from "effect"
import type { Field } from "./field.ts"

export type AnyField = Field<unknown, unknown>
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

/**
 * What an answer holds, said as data beside the endpoint that gives it. OpenAPI publishes it, and the tests hold every
 * real answer against it. Values are declared as fields are; what fields cannot say is said by the parts below. A key is
 * always there unless it is optional, and no key is there that is not declared.
 */
import { type Field, integer, text } from "./field.ts"
import type { Resource } from "./resource.ts"

export type Shown = Field | Part
export interface Keys { readonly [name: string]: Shown }

/** What the description needs of a resource, whatever its rows are. */
export type ShownResource = Pick<Resource,
  "singular" | "plural" | "title" | "table" | "filters" | "sorts" | "aliases" | "related" | "includes" | "custom_module" | "entity_type" | "lists_archived" | "columns" | "shows" | "hides">

interface Common {
  readonly nullable?: boolean
  readonly describe?: string
}
export type Part = Common & (
  /** A row as its resource shows it. Named in a function, as resources refer to each other. */
  | { readonly part: "row"; readonly resource: () => ShownResource }
  | { readonly part: "object"; readonly keys: Keys }
  /** Something with a name of its own in the description: what holds others of its kind needs one. */
  | { readonly part: "named"; readonly name: string; readonly of: () => Shown }
  | { readonly part: "list"; readonly of: Shown }
  /** Names of the sender's own or of a kind known only at run time, each with such a value. */
  | { readonly part: "map"; readonly of: Shown }
  | { readonly part: "either"; readonly of: ReadonlyArray<Shown> }
  /** Any JSON at all. */
  | { readonly part: "anything" }
  /** Always null: a key kept for clients that look for it. */
  | { readonly part: "null" }
  /** The key may be absent. */
  | { readonly part: "optional"; readonly of: Shown }
  /** A number that may have a fraction. */
  | { readonly part: "number" }
  /** One of these texts or numbers. */
  | { readonly part: "one_of"; readonly values: ReadonlyArray<string | number> }
)

/** What a good answer holds: the keys of an object, a part, or a page of a list as `listOf` gives it. */
export type AnswerShown = Keys | Part | Page
export interface Page { readonly part: "page"; readonly resource: () => ShownResource }

type More = Common
export const row = (resource: () => ShownResource, more: More = {}): Part => ({ part: "row", resource, ...more })
export const keys = (of: Keys, more: More = {}): Part => ({ part: "object", keys: of, ...more })
export const named = (name: string, of: () => Shown, more: More = {}): Part => ({ part: "named", name, of, ...more })
export const list = (of: Shown, more: More = {}): Part => ({ part: "list", of, ...more })
export const rows = (resource: () => ShownResource, more: More = {}): Part => list(row(resource), more)
/** A list of objects with these keys. */
export const objects = (of: Keys, more: More = {}): Part => list(keys(of), more)
export const map = (of: Shown, more: More = {}): Part => ({ part: "map", of, ...more })
export const either = (...of: ReadonlyArray<Shown>): Part => ({ part: "either", of })
export const anything = (describe?: string): Part => ({ part: "anything", ...(describe === undefined ? {} : { describe }) })
export const optional = (of: Shown): Part => ({ part: "optional", of })
export const number = (more: More = {}): Part => ({ part: "number", ...more })
export const nothing = (describe?: string): Part => ({ part: "null", ...(describe === undefined ? {} : { describe }) })
export const oneOf = (values: ReadonlyArray<string | number>, more: More = {}): Part => ({ part: "one_of", values, ...more })
/** `{id, name}` of something else; null where there is none. */
export const brief = (more: More = { nullable: true }): Part => keys({ id: integer(), name: text({ nullable: true }) }, more)
/** A page of a list: `{[plural]: rows, meta}`; with `view_id` only the columns of the view. */
export const page = (resource: () => ShownResource): Page => ({ part: "page", resource })
/** How many there are in all, and which page of them this is. */
export const meta = keys({ total: integer(), per_page: integer(), page: integer() })

export const isField = (shown: Shown): shown is Field => "shape" in shown
export const isPart = (answer: AnswerShown): answer is Part | Page => "part" in answer && typeof answer["part"] === "string"

/** What answers hold, as JSON Schema: each resource once, by name, and the rest where it stands. */
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { text } from "../../core/kernel/field.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Include } from "../../core/kernel/resource.ts"
import { type AnswerShown, isField, isPart, type Keys, meta, type Page, type Part, type Shown, type ShownResource } from "../../core/kernel/shown.ts"
import { viewableAs } from "../../core/views/columns.ts"
import { objectOf, orNull, schemaOut } from "./schema-of.ts"

export interface AnswerSchemas {
  readonly of: (answer: AnswerShown) => JsonObject
  /** Every schema that was referred to so far, by name. */
  readonly named: () => { readonly [name: string]: JsonObject }
}
interface Named { readonly of: unknown; schema: JsonObject }

const titled = (name: string): string => name.split("_").map((part) => part.replace(/^./, (letter) => letter.toUpperCase())).join("")
export const titleOf = (resource: ShownResource): string => resource.title ?? titled(resource.singular)

export const answerSchemas = (catalogue: Catalogue): AnswerSchemas => {
  const named = new Map<string, Named>()
  /** Described at its first mention; before that it is entered, as resources may refer back to it. */
  const refTo = (name: string, of: unknown, describe: () => JsonObject): JsonObject => {
    const known = named.get(name)
    if (known === undefined) {
      const entry: Named = { of, schema: {} }
      named.set(name, entry)
      entry.schema = describe()
    } else if (known.of !== of) throw new Error(`two resources are described as ${name}; give one of them a title`)
    return { $ref: `#/components/schemas/${name}` }
  }
  const row = (resource: ShownResource): JsonObject => refTo(titleOf(resource), resource, () => rowSchema(resource))
  const rowInView = (resource: ShownResource): JsonObject => refTo(`${titleOf(resource)}InView`, resource, () => inViewSchema(resource))

  const shownSchema = (shown: Shown): JsonObject => {
    if (isField(shown)) return schemaOut(shown)
    if (shown === meta) return { $ref: "#/components/schemas/Meta" }
    const schema = orNull(partSchema(shown), shown.nullable ?? false)
    return shown.describe === undefined ? schema : { ...schema, description: shown.describe }
  }
  const keysSchema = (shown: Keys): JsonObject => objectOf(
    Object.fromEntries(Object.entries(shown).map(([name, one]) => [name, shownSchema(one)])),
    new Set(Object.entries(shown).filter(([, one]) => isOptional(one)).map(([name]) => name)))
  const partSchema = (part: Part): JsonObject => {
    switch (part.part) {
      case "row": return row(part.resource())
      case "object": return keysSchema(part.keys)
      case "named": return refTo(part.name, part.of, () => shownSchema(part.of()))
      case "list": return { type: "array", items: shownSchema(part.of) }
      case "map": return { type: "object", additionalProperties: shownSchema(part.of) }
      case "either": return { anyOf: part.of.map(shownSchema) }
      case "anything": return {}
      case "null": return { type: "null" }
      case "optional": return shownSchema(part.of)
      case "number": return { type: "number" }
      case "one_of": return { type: typeof part.values[0] === "number" ? "integer" : "string", enum: part.values }
    }
  }

  const includeSchema = (include: Exclude<Include, { readonly kind: "always" }>): JsonObject => {
    switch (include.kind) {
      case "brief": return orNull(objectOf({ id: { type: "integer" }, name: schemaOut(include.table.columns[include.name ?? "name"] ?? text()) }), true)
      case "one": return orNull(row(include.resource()), true)
      case "many": return orNull({ type: "array", items: row(include.resource()) }, include.empty === undefined || include.empty === null)
    }
  }
  const rowSchema = (resource: ShownResource): JsonObject => {
    const { includes, shows, table } = resource
    const hidden = new Set(["deleted_at", ...resource.hides])
    const columns = Object.entries(table.columns).filter(([name, field]) => !field.hidden && !hidden.has(name))
    const optional = new Set([
      ...columns.filter(([name, field]) => field.visible_to !== undefined && shows[name] === undefined).map(([name]) => name),
      ...Object.entries(shows).filter(([, one]) => isOptional(one)).map(([name]) => name)
    ])
    return objectOf({
      ...Object.fromEntries(columns.map(([name, field]) => [name, schemaOut(field)])),
      ...Object.fromEntries(Object.entries(includes).flatMap(([name, include]) =>
        hidden.has(name) || include.kind === "always" ? [] : [[name, { ...includeSchema(include), description: `With include=${name}` }]])),
      ...Object.fromEntries(Object.entries(shows).map(([name, one]) => [name, shownSchema(one)]))
    }, optional)
  }
  /** What a saved view shows of a row: its id and some of the rest. */
  const inViewSchema = (resource: ShownResource): JsonObject => {
    row(resource)
    const whole = named.get(titleOf(resource))!.schema["properties"] as { readonly [name: string]: JsonObject }
    const columns = Object.entries(resource.columns).map(([name, column]) => [name, typeof column === "string" ? whole[column] ?? {} : {}] as const)
    return { type: "object", properties: { ...whole, ...Object.fromEntries(columns) }, required: ["id"] }
  }
  const pageSchema = ({ resource: named_resource }: Page): JsonObject => {
    const resource = named_resource()
    const of = (item: JsonObject, about: string): JsonObject =>
      objectOf({ [resource.plural]: { type: "array", items: item }, meta: { $ref: `#/components/schemas/${about}` } })
    const whole = of(row(resource), "Meta")
    return viewableAs(resource.entity_type, catalogue) === undefined || resource.table.columns["id"] === undefined ? whole
      : { anyOf: [whole, { ...of(rowInView(resource), "MetaOfView"), description: "With view_id: the columns of the view" }] }
  }
  const of = (answer: AnswerShown): JsonObject => !isPart(answer) ? keysSchema(answer as Keys) : answer.part === "page" ? pageSchema(answer) : shownSchema(answer)
  return { of, named: () => Object.fromEntries([...named].toSorted(([a], [b]) => a < b ? -1 : 1).map(([name, { schema }]) => [name, schema])) }
}

const isOptional = (shown: Shown): boolean => !isField(shown) && shown.part === "optional"

/** The resource an answer is of: a page of its rows, or one of them under its singular key. */
export const subjectOf = (answer: AnswerShown | undefined): ShownResource | undefined => {
  if (answer === undefined) return undefined
  if (isPart(answer)) return answer.part === "page" ? answer.resource() : undefined
  const [[name, first] = []] = Object.entries(answer as Keys)
  if (first === undefined || isField(first) || first.part !== "row") return undefined
  const resource = first.resource()
  return resource.singular === name ? resource : undefined
}

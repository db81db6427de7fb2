/**
 * JSON Schema (2020-12, as in OpenAPI 3.1) of answers, generated from their Schemas. Effect's
 * `Schema.toJsonSchemaDocument` would do the same in 130 ms of processor time for all answers, in one go. Answers use
 * few kinds of Schemas without transformations, so walking each declaration is enough. Each named component is
 * converted once, on first reference.
 */
import type { Schema } from "effect"
import type * as SchemaAST from "effect/SchemaAST"
import { described_as_first } from "../../core/kernel/lists/answer-schema.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/index.ts"

export interface JsonSchemas {
  /** JSON Schema of a Schema; for a named one, a `$ref` to its component. */
  readonly of: (schema: Schema.Top) => JsonObject
  /** Components referenced so far, by name. */
  readonly components: { readonly [name: string]: JsonObject }
}

/**
 * A converter for answers' Schemas. `of` throws if two Schemas share an identifier, or for kinds of Schemas not used
 * in answers yet.
 */
export const jsonSchemas = (): JsonSchemas => {
  const components: { [name: string]: JsonObject } = {}
  const declared = new Map<string, unknown>()

  const component = (name: string, ast: SchemaAST.AST): JsonObject => {
    // Copies of a Schema, as for an optional key, share its annotations.
    const other = declared.get(name)
    if (other !== undefined && other !== ast.annotations)
      throw new Error(`two Schemas are described as ${name}; give one of them a title`)
    if (other === undefined) {
      declared.set(name, ast.annotations)
      components[name] = name === "Json" ? json_value : annotated(ast)
    }
    return { $ref: `#/components/schemas/${name}` }
  }
  const convert = (ast: SchemaAST.AST): JsonObject => {
    const identifier = annotationsOf(ast)?.["identifier"]
    return typeof identifier === "string" ? component(identifier, ast) : annotated(ast)
  }
  const annotated = (ast: SchemaAST.AST): JsonObject => {
    const shape = shapeOf(ast)
    return withNullInType({ ...shape, ...checksOf(ast, shape), ...descriptionOf(ast) })
  }

  const shapeOf = (ast: SchemaAST.AST): JsonObject => {
    switch (ast._tag) {
      case "Null":
        return { type: "null" }
      case "Boolean":
        return { type: "boolean" }
      case "Number":
        return { type: "number" }
      case "String":
        return { type: "string" }
      case "Literal":
        return literals([ast])
      case "Suspend":
        return convert(ast.thunk())
      case "Arrays":
        return { type: "array", items: ast.rest[0] === undefined ? {} : convert(ast.rest[0]) }
      case "Objects":
        return objectOf(ast)
      case "Union":
        if (ast.annotations?.[described_as_first] === true && ast.types[0] !== undefined) return convert(ast.types[0])
        return ast.types.length > 0 && ast.types.every(isLiteral)
          ? literals(ast.types)
          : { anyOf: ast.types.flatMap(alternatives).map(convert) }
      default:
        throw new Error(`no JSON Schema is known for answers declared as ${ast._tag}`)
    }
  }
  const objectOf = ({ indexSignatures, propertySignatures }: SchemaAST.Objects): JsonObject => {
    const [others] = indexSignatures
    const required = propertySignatures.filter(({ type }) => type.context?.isOptional !== true).map(nameOf)
    return {
      type: "object",
      ...(propertySignatures.length === 0
        ? {}
        : { properties: Object.fromEntries(propertySignatures.map((one) => [nameOf(one), convert(one.type)])) }),
      ...(required.length === 0 ? {} : { required }),
      ...(others === undefined ? {} : { additionalProperties: convert(others.type) })
    }
  }
  return { of: (schema) => convert(schema.ast), components }
}

const nameOf = ({ name }: SchemaAST.PropertySignature): string => String(name)
const isLiteral = (ast: SchemaAST.AST): ast is SchemaAST.Literal => ast._tag === "Literal"

/** Annotations of a Schema. If it has checks, they are on its last check. */
const annotationsOf = (ast: SchemaAST.AST): { readonly [name: string]: unknown } | undefined =>
  ast.checks === undefined ? ast.annotations : ast.checks.at(-1)?.annotations
const descriptionOf = (ast: SchemaAST.AST): JsonObject => {
  const description = annotationsOf(ast)?.["description"]
  return typeof description === "string" ? { description } : {}
}
/** JSON Schema of each check; `integer` comes after `number`, so that it wins. */
const checksOf = (ast: SchemaAST.AST, { type }: JsonObject): JsonObject =>
  (ast.checks ?? []).reduce((all: JsonObject, check) => {
    const of = type === "array" || type === "string" || type === "number" ? type : undefined
    const keywords = check.annotations?.toJsonSchema?.({ type: of, schemas: [] })
    return isJsonObject(keywords) ? { ...all, ...keywords } : all
  }, {})

/** Schema of an enumeration of texts or numbers. */
const literals = (types: ReadonlyArray<SchemaAST.Literal>): JsonObject => {
  const values = types.map(({ literal }) => (typeof literal === "bigint" ? String(literal) : literal))
  const of_type = [...new Set(values.map((value) => (Number.isInteger(value) ? "integer" : typeof value)))]
  return { type: of_type.length === 1 ? of_type.join() : of_type, enum: values }
}
/** The alternatives of a union, with nested unions flattened. */
const alternatives = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  ast._tag === "Union" && annotationsOf(ast) === undefined ? ast.types.flatMap(alternatives) : [ast]

/** Nullable simple values as `type: [..., "null"]`, the form best supported by client generators. */
const withNullInType = (schema: JsonObject): JsonObject => {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  const [one, other]: ReadonlyArray<Json> = anyOf
  if (anyOf.length === 1 && isJsonObject(one)) return { ...one, ...rest }
  if (anyOf.length !== 2 || !isJsonObject(one) || !isJsonObject(other)) return schema
  const { description, enum: values, type } = one
  const has_two_descriptions = description !== undefined && rest["description"] !== undefined
  if (other["type"] !== "null" || typeof type !== "string" || has_two_descriptions) return schema
  return { ...one, ...rest, type: [type, "null"], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) }
}

/** Schema of any JSON value; not recursive, as some client generators cannot follow that. */
const json_value: JsonObject = {
  description: "Any JSON value",
  anyOf: [
    { type: "null" },
    { type: "boolean" },
    { type: "number" },
    { type: "string" },
    { type: "array", items: {} },
    { type: "object", additionalProperties: {} }
  ]
}

/**
 * Generates the documentation of events (`docs/EVENTS.md`) and the list that guards stored data (`docs/events.json`),
 * which allows additions only.
 */
import { Schema, SchemaAST } from "effect"
import type { AnyEventType } from "../../core/kernel/events/event-type.ts"
import type { Field, Fields } from "../../core/kernel/fields/field.ts"
import { storedValue } from "../../core/kernel/tables/field-schema.ts"
import { type Table, wordsOf } from "../../core/kernel/tables/table.ts"

interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<string | number>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly items?: JsonSchema
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: JsonSchema | boolean
}
/** Types by field name; optional fields end in `?`. */
interface Described {
  readonly [field: string]: string
}
interface EventList {
  readonly events: { readonly [type: string]: Described }
  /** Columns by table: the meaning of "columns of" and "a row of" in the events. */
  readonly columns: { readonly [table: string]: Described }
}

interface SchemaDocument {
  readonly schema: JsonSchema
  readonly definitions: { readonly [name: string]: JsonSchema }
}
const documentOf = (schema: Schema.Top): SchemaDocument => Schema.toJsonSchemaDocument(schema)
/** The name in a JSON Schema reference, where `~`, `/` and blanks are escaped. */
const nameOf = (ref: string): string => decodeURIComponent(ref.slice(ref.lastIndexOf("/") + 1))
const json_names: { readonly [identifier: string]: string } = {
  Json: "any JSON",
  JsonObject: "an object",
  JsonArray: "a list"
}

const typeText = (schema: JsonSchema): string => {
  if (schema.$ref !== undefined) return json_names[nameOf(schema.$ref)] ?? nameOf(schema.$ref)
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeText).join(" or ")
  const choices = schema.enum ?? schema.allOf?.find((part) => part.enum !== undefined)?.enum
  if (choices !== undefined) return choices.map((value) => JSON.stringify(value)).join(" or ")
  switch (schema.type) {
    case "array":
      return `list of (${typeText(schema.items ?? {})})`
    case "object":
      return schema.properties !== undefined
        ? `{ ${fieldList(schema)} }`
        : typeof schema.additionalProperties === "object"
          ? `map to (${typeText(schema.additionalProperties)})`
          : "an object"
    case undefined:
      return "any JSON"
    default:
      return schema.type === "string" ? "text" : schema.type
  }
}
const fieldsOf = ({ properties = {}, required = [] }: JsonSchema): Described =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [required.includes(name) ? name : `${name}?`, typeText(schema)])
  )
const fieldList = (schema: JsonSchema): string =>
  Object.entries(fieldsOf(schema))
    .map(([name, type]) => `${name}: ${type}`)
    .join(", ")

/** Name of the table whose row or columns a Schema contains, by its annotation; undefined for other Schemas. */
const tableHeldBy = (ast: SchemaAST.AST): string | undefined => {
  const name = SchemaAST.resolve(ast)?.["flightcase/table"]
  return typeof name === "string" ? name : undefined
}
const describe = (kind: AnyEventType): Described => {
  const declared = kind.schema()
  const { definitions, schema } = documentOf(declared)
  if (schema.$ref === undefined) return fieldsOf(schema)
  const name = nameOf(schema.$ref)
  // Rows and columns of a table are described once, for all events that contain them.
  return tableHeldBy(declared.ast) === undefined ? fieldsOf(definitions[name] ?? {}) : { "": name }
}
/** Tables whose rows or columns this Schema contains. */
const tablesIn = (ast: SchemaAST.AST, seen = new Set<SchemaAST.AST>()): ReadonlyArray<string> => {
  const table = tableHeldBy(ast)
  if (table !== undefined) return [table]
  // Schemas may be recursive.
  if (seen.has(ast)) return []
  seen.add(ast)
  return partsOf(ast).flatMap((part) => tablesIn(part, seen))
}
const partsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  switch (ast._tag) {
    case "Objects":
      return [...ast.propertySignatures, ...ast.indexSignatures].map(({ type }) => type)
    case "Arrays":
      return [...ast.elements, ...ast.rest]
    case "Union":
      return ast.types
    case "Suspend":
      return [ast.thunk()]
    default:
      return []
  }
}
const columnsOf = (columns: Fields): Described =>
  Object.fromEntries(
    Object.entries(columns).map(([name, field]: readonly [string, Field]) => [
      name,
      typeText(documentOf(storedValue(field)).schema)
    ])
  )

/**
 * Every event with its fields, and every table whose columns events carry; sorted, so that two lists compare line by
 * line.
 */
export const eventList = (events: Iterable<AnyEventType>, tables: ReadonlyArray<Table>): EventList => {
  const kinds = [...events].toSorted((one, other) => (one.type < other.type ? -1 : 1))
  const named = new Set(kinds.flatMap((kind) => tablesIn(kind.schema().ast)))
  return {
    events: Object.fromEntries(kinds.map((kind) => [kind.type, describe(kind)])),
    columns: Object.fromEntries(
      tables
        .filter(({ name }) => named.has(name))
        .toSorted((one, other) => (one.name < other.name ? -1 : 1))
        .map(({ columns, name }) => [name, columnsOf(columns)])
    )
  }
}

/** A choice may gain values, as readers accept unknown ones; any other type must stay. */
const isKept = (held: string, holds: string | undefined): boolean => {
  if (holds === held || holds === undefined) return holds === held
  const [before, now] = [held, holds].map((one) => one.split(" or "))
  return (
    [...(before ?? []), ...(now ?? [])].every((one) => /^"[^"]*"$/.test(one)) &&
    before?.every((one) => now?.includes(one)) === true
  )
}
/** Entries that a later list removes, changes or adds as required; empty if it only adds optional ones. */
export const brokenPromises = (kept: EventList, now: EventList): ReadonlyArray<string> =>
  (["events", "columns"] as const).flatMap((part) =>
    Object.entries(kept[part]).flatMap(([name, fields]) => {
      const present = now[part][name]
      if (present === undefined) return [`${part} ${name} is gone`]
      return [
        ...Object.entries(fields).flatMap(([field, type]) =>
          isKept(type, present[field])
            ? []
            : [
                `${part} ${name}: ${field || "it"} held ${type}, and ${present[field] === undefined ? "is gone" : `holds ${present[field]}`}`
              ]
        ),
        // Earlier events lack later fields.
        ...(part === "columns"
          ? []
          : Object.keys(present).flatMap((field) =>
              field in fields || field.endsWith("?") || field === ""
                ? []
                : [`${part} ${name}: ${field} was added and must be optional`]
            ))
      ]
    })
  )

const fieldRows = (fields: Described): ReadonlyArray<string> =>
  Object.entries(fields).map(([name, type]) =>
    name === ""
      ? `- ${type}`
      : `- \`${name.replace(/\?$/, "")}\`${name.endsWith("?") ? " (may be absent)" : ""}: ${type}`
  )

/** Renders `docs/EVENTS.md`: every event with its meaning and data, by subject. */
export const eventsPage = (kinds: ReadonlyArray<AnyEventType>, tables: ReadonlyArray<Table>): string => {
  const list = eventList(kinds, tables)
  const meanings = new Map(kinds.map(({ meaning, type }) => [type, meaning]))
  const groups = Map.groupBy(Object.keys(list.events), (type) => type.slice(0, type.indexOf(".")))
  return [
    "# Events",
    "",
    "Everything that happens is recorded as one of these events, with its position, stream, version, command, actor, device and time.",
    "This page is generated from their declarations (`UPDATE_EVENTS=1 npx vitest run test/core/events.test.ts`). Events are kept for",
    "ever: `docs/events.json` lists what is promised; fields are added, never changed or taken away.",
    "",
    ...[...groups].flatMap(([entity, types]) => [
      `## ${wordsOf(entity)}`,
      "",
      ...types.flatMap((type) => [
        `### ${type}`,
        "",
        meanings.get(type) ?? "",
        "",
        ...fieldRows(list.events[type] ?? {}),
        ""
      ])
    ]),
    "# Columns",
    "",
    "What events carry of rows. A row that is made has all of its table's columns but the stamps; an event of a release that did not",
    "have a column yet lacks it, and the row then has its default.",
    "",
    ...Object.entries(list.columns).flatMap(([table, columns]) => [`## ${table}`, "", ...fieldRows(columns), ""])
  ].join("\n")
}

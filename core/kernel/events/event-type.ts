/**
 * Event types. Each is declared once, by its slice: its meaning, its data, the row changes it makes, its entry in the
 * activity log and the personal data it removes from earlier events. Constructors, the projection,
 * `docs/EVENTS.md` and the list that guards stored events (`docs/events.json`) derive from the declarations. Events are
 * kept for ever: a declaration may gain fields, which are then absent from events of earlier releases. The meaning of a
 * field never changes; another meaning needs another field, or another event. If the form of data must change
 * nevertheless, `upcast` converts earlier releases' data to the present form.
 */
import { isJsonObject, type JsonObject } from "../fields/field.ts"
import type { AnyRow, RowChange, Table } from "../tables/table.ts"
import { Exit, Result, Schema, type SchemaAST } from "effect"
import type { Stored } from "../tables/field-schema.ts"

// A cheap check before decoding: whether data equals what its Schema would decode to, as nearly all stored events do.
// Anything else is decoded in full, which reports errors.

type Test = (value: unknown) => boolean
const never: Test = () => false

const tests = new WeakMap<SchemaAST.AST, Test>()
const testOf = (ast: SchemaAST.AST): Test => {
  let test = tests.get(ast)
  if (test === undefined) tests.set(ast, (test = checkedBy(ast, buildTest(ast))))
  return test
}

/** True for values that decoding with this Schema returns unchanged. False may also mean unknown. */
export const isExactly = <S extends Schema.Top>(schema: S): ((value: unknown) => value is S["Type"]) => {
  const test = testOf(schema.ast)
  return (value): value is S["Type"] => test(value)
}

const passes = (check: SchemaAST.Check<unknown>, value: unknown, ast: SchemaAST.AST): boolean =>
  check._tag === "Filter"
    ? check.run(value, ast, {}) === undefined
    : check.checks.every((one) => passes(one, value, ast))
const checkedBy = (ast: SchemaAST.AST, test: Test): Test => {
  const { checks } = ast
  return checks === undefined ? test : (value) => test(value) && checks.every((check) => passes(check, value, ast))
}

const buildTest = (ast: SchemaAST.AST): Test => {
  // Encoded data changes when decoded.
  if (ast.encoding !== undefined) return never
  switch (ast._tag) {
    case "String":
      return (value) => typeof value === "string"
    case "Number":
      return (value) => typeof value === "number"
    case "Boolean":
      return (value) => typeof value === "boolean"
    case "Null":
      return (value) => value === null
    case "Literal":
      return (value) => value === ast.literal
    case "Suspend":
      return (value) => testOf(ast.thunk())(value)
    case "Union":
      return ast.options?.mode === "oneOf" ? never : anyOf(ast.types.map(testOf))
    case "Arrays": {
      const [rest, ...others] = ast.rest
      if (ast.elements.length > 0 || rest === undefined || others.length > 0) return never
      const test = testOf(rest)
      return (value) => Array.isArray(value) && value.every(test)
    }
    case "Objects":
      return objectTest(ast)
    case "Declaration": {
      if (ast.typeParameters.length > 0) return never
      const run = ast.run([])
      return (value) => {
        const outcome = run(value, ast, {})
        return Exit.isExit(outcome) && Exit.isSuccess(outcome) && outcome.value === value
      }
    }
    default:
      return never
  }
}
const anyOf =
  (options: ReadonlyArray<Test>): Test =>
  (value) => {
    for (const option of options) if (option(value)) return true
    return false
  }

/** Tests an object with exactly these keys, or with any keys and values of one type. */
const objectTest = ({ indexSignatures, propertySignatures }: SchemaAST.Objects): Test => {
  const [index, ...others] = indexSignatures
  if (index !== undefined) {
    if (propertySignatures.length > 0 || others.length > 0 || index.parameter._tag !== "String") return never
    const test = testOf(index.type)
    return (value) => isJsonObject(value) && Object.values(value).every(test)
  }
  const byKey = new Map<PropertyKey, { readonly test: Test; readonly is_required: boolean }>(
    propertySignatures.map(({ name, type }) => [
      name,
      { test: testOf(type), is_required: type.context?.isOptional !== true }
    ])
  )
  const required = propertySignatures.filter(({ type }) => type.context?.isOptional !== true).length
  return (value) => {
    if (!isJsonObject(value)) return false
    let missing = required
    for (const key in value) {
      const property = byKey.get(key)
      if (property === undefined || !property.test(value[key])) return false
      if (property.is_required) missing--
    }
    return missing === 0
  }
}

// Events and their projection into row changes, from which tables, rebuilds and replicas are made.

export interface NewEvent {
  /** The aggregate, e.g. `product:12`: order and versions are kept per stream. */
  readonly stream: string
  readonly type: string
  readonly data: JsonObject
}
export interface StoredEvent extends NewEvent {
  readonly position: number
  readonly version: number
  readonly command_id: string
  readonly actor_id: number | null
  readonly replica_id: number | null
  readonly recorded_at: string
}
/** Context of a projection, besides the event's data. */
export interface ProjectionContext {
  readonly recorded_at: string
}
/** One event's effect on the tables, as data. Pure: no reads, no clock; events carry absolute results. */
export type Projector = (data: JsonObject, meta: ProjectionContext) => ReadonlyArray<RowChange>
export type Projection = { readonly [eventType: string]: Projector }

/**
 * Personal data to remove from earlier events: in events of these streams the values of these keys become placeholders
 * (rules/rulings 22). The events themselves stay.
 */
export interface Scrub {
  readonly streams: ReadonlyArray<string>
  readonly placeholders: JsonObject
  /** Documents, such as `custom_fields`, in which only the values of these keys are kept. */
  readonly kept?: { readonly [document: string]: ReadonlyArray<string> } | undefined
}
/** Event types that scrub older events when recorded, on the server and on every replica that applies them. */
export type Scrubs = { readonly [eventType: string]: (data: JsonObject) => Scrub | undefined }

/** Personal data that these events remove from earlier ones. */
export const scrubsOf = (scrubs: Scrubs, events: ReadonlyArray<NewEvent>): ReadonlyArray<Scrub> =>
  events.flatMap(({ data, type }) => scrubs[type]?.(data) ?? [])

export const event = (stream: string, type: string, data: JsonObject): NewEvent => ({ stream, type, data })
/** Decision of most rules: events, and the id of the row that the response shows. */
export const decision = (id: number, events: ReadonlyArray<NewEvent>) => ({ events, result: { id } })
export const decided = (...of: Parameters<typeof decision>) => Result.succeed(decision(...of))
export const streamOf = (entity: string, id: number | string): string => `${entity}:${id}`
/** The stream of a row's events: its own, or that of the row it belongs to (`Table.stream`). */
export const streamOfRow = (table: Table, row: Partial<AnyRow> & { readonly id: number }): string =>
  table.stream === undefined
    ? streamOf(table.entity, row.id)
    : streamOf(table.stream.entity, Number(row[table.stream.column]))

/**
 * Row changes of events recorded at a time; none for types that this release does not know. These stay in the journal
 * for a release that does.
 */
export const changesOf = (
  projection: Projection,
  events: ReadonlyArray<NewEvent>,
  recorded_at: string
): ReadonlyArray<RowChange> => {
  const meta = { recorded_at }
  return events.flatMap(({ data, type }) => projection[type]?.(data, meta) ?? [])
}

export interface ActivityValues {
  readonly old_values: JsonObject | null
  readonly new_values: JsonObject | null
}

export interface EventType<Data = unknown, Made = Data> {
  /** Entity and action, as in `container.sealed`. */
  readonly type: string
  /** One sentence about the event, for readers of the journal and of webhooks. */
  readonly meaning: string
  /** Schema of the stored data. Built on first use. */
  readonly schema: () => Schema.Codec<Data, unknown>
  /**
   * Decodes stored data to its current form; returns the same object if it has that form. Throws, naming type and
   * field, if the data does not match the declaration: the journal is damaged, or a change lacks an upcast.
   */
  readonly read: (stored: JsonObject) => Data
  /** Makes an event to record. `stream`: only if it is not that of the event's entity and `id`. */
  readonly make: (data: Made, stream?: string) => NewEvent
  /** Row changes of the event; undefined if it changes no table. */
  readonly project: Projector | undefined
  /** Old and new values for the activity log. */
  readonly activity: ((data: JsonObject) => ActivityValues) | undefined
  /** Personal data it removes from earlier events. */
  readonly scrub: ((data: JsonObject) => Scrub | undefined) | undefined
  readonly upcast: ((data: JsonObject) => JsonObject) | undefined
}
// Any event type: catalogues list types of all data; each was type-checked where it was declared.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyEventType = EventType<any, any>
export type DataOf<E> = E extends EventType<infer Data, infer _Made> ? Data : never
export interface EventOf<Data> extends Omit<NewEvent, "data"> {
  readonly data: Data
}
/** Whether an event is of this type; if so, its data has the type that the declaration gives. */
export const isEventOf = <Data, Made>(
  kind: EventType<Data, Made>,
  event: Pick<NewEvent, "type" | "stream"> & { readonly data: unknown }
): event is EventOf<Data> => event.type === kind.type
/** Data of the events of this type, in order. */
export const dataOf = <Data, Made>(
  kind: EventType<Data, Made>,
  events: ReadonlyArray<EventOf<unknown>>
): ReadonlyArray<Data> => {
  const found: Array<Data> = []
  for (const event of events) if (isEventOf(kind, event)) found.push(event.data)
  return found
}

interface Declaration<Data> {
  readonly meaning: string
  readonly data: () => Stored<Data>
  /** Every event declares its effect on tables, even if none. */
  readonly project: "changes_no_table" | ((data: Data, meta: ProjectionContext) => ReadonlyArray<RowChange>)
  /** The stream, if not that of the event's entity and `id`. */
  readonly stream?: (data: Data) => string
  readonly activity?: (data: Data) => ActivityValues
  readonly scrub?: (data: Data) => Scrub | undefined
  readonly upcast?: (data: JsonObject) => JsonObject
}

/** Builds a value on first use, so that loading modules builds nothing. */
const once = <A>(build: () => A): (() => A) => {
  let built: { readonly value: A } | undefined
  return () => (built ??= { value: build() }).value
}
/** The stream of an event's own entity: `container:7` for `container.sealed` of `{ id: 7 }`. */
const ownStream = (type: string, { id }: { readonly id?: unknown }): string => {
  if (typeof id !== "number" && typeof id !== "string") throw new Error(`${type} names no stream: its data has no id`)
  return streamOf(type.slice(0, type.indexOf(".")), id)
}

const readerOf = <Data>(
  type: string,
  schema: () => Stored<Data>,
  upcast: ((data: JsonObject) => JsonObject) | undefined
): EventType<Data>["read"] => {
  const reader = once(() => ({ isPresent: isExactly(schema()), decode: Schema.decodeUnknownSync(schema()) }))
  return (stored) => {
    const { decode, isPresent } = reader()
    try {
      const data: unknown = upcast === undefined ? stored : upcast(stored)
      return isPresent(data) ? data : decode(data)
    } catch (cause) {
      throw new Error(
        `A stored ${type} does not hold what that event declares: ${cause instanceof Error ? cause.message : String(cause)}`,
        { cause }
      )
    }
  }
}

/**
 * Declares an event type. `Made`: the data rules must supply, such as a full new row, of which earlier events may lack
 * columns.
 */
export const eventType = <Data extends object, Made extends object = Data>(
  type: string,
  declared: Declaration<Data>
): EventType<Data, Made> => {
  const { activity, data: schema, meaning, project, scrub, stream, upcast } = declared
  // Safe: events are looked up by type, so the data comes from `make` or `read`, and `Made` includes all that `Data`
  // requires.
  const own = (data: object): Data => data as Data
  const schemaOnce = once(schema)
  return {
    type,
    meaning,
    schema: schemaOnce,
    read: readerOf(type, schemaOnce, upcast),
    upcast,
    make: (made, given_stream) => ({
      stream: given_stream ?? stream?.(own(made)) ?? ownStream(type, made),
      type,
      data: made as object as JsonObject
    }),
    project: project === "changes_no_table" ? undefined : (data, meta) => project(own(data), meta),
    activity: activity === undefined ? undefined : (data) => activity(own(data)),
    scrub: scrub === undefined ? undefined : (data) => scrub(own(data))
  }
}

/** Projection of another slice's event into the slice's own tables. */
export interface Follower {
  readonly type: string
  readonly fold: Projector
}
/** Declares a follower. `data`: the part of the event's data that the projection reads. */
export const follow = <Data>(
  type: string,
  data: () => Schema.Codec<Data, unknown>,
  fold: (data: Data, meta: ProjectionContext) => ReadonlyArray<RowChange>
): Follower => {
  const read = once(() => Schema.decodeUnknownSync(data()))
  return { type, fold: (event, meta) => fold(read()(event), meta) }
}

/** Decodes stored data of an event type that is only known at run time. */
export const decodeData = (kind: AnyEventType, stored: JsonObject): JsonObject => kind.read(stored)

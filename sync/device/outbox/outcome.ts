/**
 * Outcome of a command, as stored with it in the outbox: rows by table and key, people by id, values as in answers.
 * Sentences are written when it is shown (`describe-event.ts`), so that values its reader may no longer see can be
 * removed by kind.
 */
import type { Catalogue } from "../../../core/kernel/endpoints/endpoint.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/fields/field.ts"
import { type Key, type Table, wordsOf } from "../../../core/kernel/tables/table.ts"
import { Option, Schema } from "effect"
import { storedJson } from "../../../core/kernel/tables/field-schema.ts"

// Outcomes kept by release 0.1, which were sentences: `what: "stock level 7 MH-1"`, `who: "Ann"`, and for something
// held `to: "2 by opportunity 8 Gala from … to …"`. They are taken apart here once, when they are read, and nowhere
// else.

/** The outcome in today's form. What names no row of a known table is left out: nothing says who may see it. */
const structuredOutcome = (catalogue: Catalogue, outcome: JsonObject): JsonObject => {
  const entries = Object.values(outcome).flatMap((part) => (Array.isArray(part) ? part : []))
  if (!entries.some((entry) => isJsonObject(entry) && "what" in entry)) return outcome
  // The longest name first: `product group 3` is no product.
  const tables = catalogue.tables.toSorted((one, other) => other.entity.length - one.entity.length)
  return Object.fromEntries(
    Object.entries(outcome).map(([part, list]) => [
      part,
      Array.isArray(list) ? list.flatMap((entry: Json) => (isJsonObject(entry) ? structured(tables, entry) : [])) : list
    ])
  )
}

const structured = (tables: ReadonlyArray<Table>, entry: JsonObject): ReadonlyArray<JsonObject> => {
  if (!("what" in entry)) return [entry]
  const { what, who, ...rest } = entry
  const row = labelIn(tables, what)
  if (row === undefined) return []
  const told = { ...rest, row, ...(who === undefined ? {} : { actor: actorIn(who) }) }
  if (rest["field"] !== "held_by") return [told]
  const holding = holdingIn(tables, rest["to"])
  return holding === undefined ? [] : [{ ...told, field: null, from: null, to: null, holding }]
}

const labelIn = (tables: ReadonlyArray<Table>, text: Json | undefined): JsonObject | undefined => {
  if (typeof text !== "string") return undefined
  const table = tables.find((one) => text.startsWith(`${wordsOf(one)} `))
  if (table === undefined) return undefined
  const [key = "", ...name] = text.slice(wordsOf(table).length + 1).split(" ")
  return {
    table: table.name,
    key: table.columns[table.key]?.type.kind === "text" ? key : Number(key),
    name: name.length === 0 ? null : name.join(" ")
  }
}

const actorIn = (who: Json): JsonObject | null => {
  if (typeof who !== "string") return null
  const id = /^user (\d+)$/.exec(who)?.[1]
  return id === undefined ? { id: null, name: who } : { id: Number(id), name: null }
}

const holdingIn = (tables: ReadonlyArray<Table>, text: Json | undefined): JsonObject | undefined => {
  const [, quantity, holder, from, to] =
    (typeof text === "string" ? /^(?:(\d+) by )?(.*) from (\S+) to (\S+)$/s.exec(text) : null) ?? []
  const by = labelIn(tables, holder)
  return by === undefined || from === undefined || to === undefined
    ? undefined
    : { quantity: quantity === undefined ? null : Number(quantity), by, from, to }
}

/** A row and its name when the outcome was computed; null if it had no name, or its reader may not see it. */
export interface RowLabel {
  readonly table: string
  readonly key: Key
  readonly name: string | null
  /** That of a numbered document, where it has one. */
  readonly number?: string | null
}
/**
 * `id` is null in outcomes of releases before 0.2, which kept the name alone; `name` where there was no such user here.
 */
export interface Actor {
  readonly id: number | null
  readonly name: string | null
}
/** The holder, and the period; `quantity` is null for a single unit. */
export interface Holding {
  readonly quantity: number | null
  readonly by: RowLabel
  readonly from: string
  readonly to: string
}
/** Something another device or the server did between a command's recording and its refusal. */
export interface ConcurrentChange {
  /** Null: the server itself. */
  readonly actor: Actor | null
  readonly when: string
  readonly row: RowLabel
  readonly event: string
  /** Null: the event itself matters, or `holding` does. */
  readonly field: string | null
  readonly from: Json
  readonly to: Json
  /** The row was reserved for somebody. */
  readonly holding?: Holding
}
/** A field that somebody else set as well before the command was decided: the later writer's value wins. */
export interface OverwrittenValue {
  readonly row: RowLabel
  readonly field: string
  readonly was: Json
  readonly theirs: Json
  readonly mine: Json
  readonly actor: Actor | null
  readonly when: string
}
/** Difference between the confirmed outcome and the one shown on this device. */
export interface ValueDifference {
  readonly row: RowLabel
  /** Null: the row was created or deleted on one side alone; `here` and `there` then name the operation. */
  readonly field: string | null
  readonly here: Json
  readonly there: Json
}
export interface CommandOutcome {
  readonly changes?: ReadonlyArray<ConcurrentChange>
  readonly merged?: ReadonlyArray<OverwrittenValue>
  readonly differences?: ReadonlyArray<ValueDifference>
}

/** Built when the first outcome is read: most commands of the command line read none. */
const outcomeSchema = (): Schema.Codec<CommandOutcome, unknown> => {
  const row = Schema.Struct({
    table: Schema.String,
    key: Schema.Union([Schema.Finite, Schema.String]),
    name: Schema.NullOr(Schema.String),
    number: Schema.optionalKey(Schema.NullOr(Schema.String))
  })
  const actor = Schema.NullOr(Schema.Struct({ id: Schema.NullOr(Schema.Finite), name: Schema.NullOr(Schema.String) }))
  const holding = Schema.Struct({
    quantity: Schema.NullOr(Schema.Finite),
    by: row,
    from: Schema.String,
    to: Schema.String
  })
  const field = Schema.NullOr(Schema.String)
  return Schema.Struct({
    changes: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          actor,
          when: Schema.String,
          row,
          event: Schema.String,
          field,
          from: storedJson,
          to: storedJson,
          holding: Schema.optionalKey(holding)
        })
      )
    ),
    merged: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          row,
          field: Schema.String,
          was: storedJson,
          theirs: storedJson,
          mine: storedJson,
          actor,
          when: Schema.String
        })
      )
    ),
    differences: Schema.optionalKey(Schema.Array(Schema.Struct({ row, field, here: storedJson, there: storedJson })))
  })
}
let decode: ((outcome: unknown) => Option.Option<CommandOutcome>) | undefined

/** An outcome as stored by this release or an earlier one. Unreadable parts are dropped, as they explain nothing. */
export const readOutcome = (catalogue: Catalogue, outcome: JsonObject | null): CommandOutcome => {
  if (outcome === null) return {}
  decode ??= Schema.decodeUnknownOption(outcomeSchema())
  return Option.getOrElse(decode(structuredOutcome(catalogue, outcome)), () => ({}))
}

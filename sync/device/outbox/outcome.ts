/**
 * Outcome of a command, as stored in the outbox: rows by table and key, people by id, values as in answers. Sentences
 * are written on display (`describe-event.ts`), so that values the reader may no longer see can be removed by kind.
 */
import { isJsonObject, storedJson, wordsOf } from "../../../core/kernel/index.ts"
import type { Catalogue, Json, JsonObject, Key, Table } from "../../../core/kernel/index.ts"
import { Option, Schema } from "effect"

// Converts outcomes stored by release 0.1, which were sentences: `what: "stock level 7 MH-1"`, `who: "Ann"`, and for
// holdings `to: "2 by opportunity 8 Gala from … to …"`.

/** The outcome in the current format, without rows of unknown tables, for which visibility cannot be checked. */
const structuredOutcome = (catalogue: Catalogue, outcome: JsonObject): JsonObject => {
  const entries = Object.values(outcome).flatMap((part) => (Array.isArray(part) ? part : []))
  if (!entries.some((entry) => isJsonObject(entry) && "what" in entry)) return outcome
  // Longest name first, as `product group 3` is not a product.
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

/** A row with its name when the outcome was computed; `name` is null if it had none or the reader may not see it. */
export interface RowLabel {
  readonly table: string
  readonly key: Key
  readonly name: string | null
  /** The document's number; null or absent if it has none. */
  readonly number?: string | null
}
/**
 * A user. `id` is null in outcomes of releases before 0.2, which stored only the name; `name` is null if the user was
 * unknown here.
 */
export interface Actor {
  readonly id: number | null
  readonly name: string | null
}
/** Holder and period of a reservation; `quantity` is null for a single unit. */
export interface Holding {
  readonly quantity: number | null
  readonly by: RowLabel
  readonly from: string
  readonly to: string
}
/** A change by another device or the server, between a command's recording and its refusal. */
export interface ConcurrentChange {
  /** Author of the change; null for the server. */
  readonly actor: Actor | null
  readonly when: string
  readonly row: RowLabel
  readonly event: string
  /** Changed field; null if the event as a whole matters, or `holding` is set. */
  readonly field: string | null
  readonly from: Json
  readonly to: Json
  /** Reservation of the row by somebody else. */
  readonly holding?: Holding
}
/** A field that somebody else also set before the command was decided, whose value the command overwrote. */
export interface OverwrittenValue {
  readonly row: RowLabel
  readonly field: string
  readonly was: Json
  readonly theirs: Json
  readonly mine: Json
  readonly actor: Actor | null
  readonly when: string
}
/** A difference between the confirmed outcome and the one shown on this device. */
export interface ValueDifference {
  readonly row: RowLabel
  /**
   * Field that differs; null if the row was created or deleted on one side only, and `here` and `there` name the
   * operation.
   */
  readonly field: string | null
  readonly here: Json
  readonly there: Json
}
export interface CommandOutcome {
  readonly changes?: ReadonlyArray<ConcurrentChange>
  readonly merged?: ReadonlyArray<OverwrittenValue>
  readonly differences?: ReadonlyArray<ValueDifference>
}

/** Built when the first outcome is read, as most commands of the command line read none. */
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

/** Decodes a stored outcome, also of an earlier release. An unreadable one is empty, as outcomes only explain. */
export const readOutcome = (catalogue: Catalogue, outcome: JsonObject | null): CommandOutcome => {
  if (outcome === null) return {}
  decode ??= Schema.decodeUnknownOption(outcomeSchema())
  return Option.getOrElse(decode(structuredOutcome(catalogue, outcome)), () => ({}))
}

/**
 * Outcomes kept by release 0.1, which were sentences: `what: "stock level 7 MH-1"`, `who: "Ann"`, and for something
 * held `to: "2 by opportunity 8 Gala from … to …"`. They are taken apart here once, when they are read, and nowhere
 * else.
 */
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import type { Table } from "../../../core/kernel/table.ts"
import { wordsOf } from "../../../core/kernel/words.ts"

/** The outcome in today's form. What names no row of a known table is left out: nothing says who may see it. */
export const structuredOutcome = (catalogue: Catalogue, outcome: JsonObject): JsonObject => {
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

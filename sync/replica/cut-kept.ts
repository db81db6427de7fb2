/**
 * What the outbox keeps beside what is sent (rows as a person saw them, what became of commands) shows no more than the
 * replica does: with a permission taken away it goes from there, too. What people typed themselves stays: it is to be sent.
 */
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import type { Table } from "../../core/kernel/table.ts"
import type { Redaction } from "../ends/redaction.ts"
import type { Outbox, Recorded } from "./outbox.ts"

export const cutTo = (catalogue: Catalogue, redaction: Redaction): Parameters<Outbox["cut"]>[0] => {
  const tables = new Map(catalogue.tables.map((table) => [table.name, table]))
  const entities = new Map(catalogue.tables.map((table) => [table.entity, table]))
  const seen = new Map<Table, ReadonlySet<string> | undefined>()
  const columnsOf = (table: Table): ReadonlySet<string> | undefined => {
    if (!seen.has(table)) {
      const columns = redaction.columns(table)
      seen.set(table, columns === undefined ? undefined : new Set(columns))
    }
    return seen.get(table)
  }
  const isSeen = (table: Table | undefined, field: string | null): boolean => {
    if (table === undefined) return true
    const columns = columnsOf(table)
    return columns !== undefined && (field === null || table.columns[field] === undefined || columns.has(field))
  }
  /** Accounts name rows in words: `stock level 7 MH-1`. */
  const tableIn = (what: Json | undefined): Table | undefined =>
    typeof what === "string" ? entities.get(what.replace(/ \d+(?: .*)?$/s, "").replaceAll(" ", "_")) : undefined
  return {
    recorded: ({ events, rows }): Recorded => ({
      events: events.flatMap((event) => {
        const data = redaction.see({ ...event, replica_id: null })
        return data === undefined ? [] : [{ ...event, data }]
      }),
      rows: Object.fromEntries(Object.entries(rows).flatMap(([row, values]) => {
        const table = tables.get(row.slice(0, row.lastIndexOf("/")))
        const columns = table === undefined ? undefined : columnsOf(table)
        return columns === undefined ? [] : [[row, Object.fromEntries(Object.entries(values).filter(([name]) => columns.has(name)))]]
      }))
    }),
    account: (account): JsonObject => Object.fromEntries(Object.entries(account).flatMap(([part, told]): ReadonlyArray<readonly [string, Json]> => {
      if (!Array.isArray(told)) return [[part, told]]
      const kept = told.filter((one: Json) => !isJsonObject(one) || isSeen(tableIn(one["what"]), (one["field"] ?? null) as string | null))
      return kept.length === 0 ? [] : [[part, kept]]
    }))
  }
}

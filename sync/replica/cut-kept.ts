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
  const isSeen = (table: Table | undefined, field: string | null): boolean =>
    table === undefined || (redaction.sees(table, table.key) && (field === null || table.columns[field] === undefined || redaction.sees(table, field)))
  /** Accounts name rows in words: `stock level 7 MH-1`. */
  const tableIn = (what: Json | undefined): Table | undefined =>
    typeof what === "string" ? entities.get(what.replace(/ \d+(?: .*)?$/s, "").replaceAll(" ", "_")) : undefined
  return {
    recorded: ({ events, rows }): Recorded => ({
      events: events.flatMap((event) => {
        const told = redaction.see({ ...event, replica_id: null })
        return told === undefined ? [] : [{ ...event, ...told }]
      }),
      rows: Object.fromEntries(Object.entries(rows).flatMap(([row, values]) => {
        const table = tables.get(row.slice(0, row.lastIndexOf("/")))
        const left = table === undefined ? undefined : redaction.row(table, values)
        // One's own rows, and those of what one sees whole, are kept to the letter; of others nothing stands for what was taken out.
        return left === undefined ? [] : [[row, Object.fromEntries(Object.entries(values).filter(([name]) => redaction.sees(table!, name) || (left === values && redaction.columns(table!)?.includes(name) === true)))]]
      }))
    }),
    account: (account): JsonObject => Object.fromEntries(Object.entries(account).flatMap(([part, told]): ReadonlyArray<readonly [string, Json]> => {
      if (!Array.isArray(told)) return [[part, told]]
      const kept = told.filter((one: Json) => !isJsonObject(one) || isSeen(tableIn(one["what"]), (one["field"] ?? null) as string | null))
      return kept.length === 0 ? [] : [[part, kept]]
    }))
  }
}

/**
 * What can still be read of a damaged outbox: row by row through SQLite, and page by page where that fails. One bad row
 * does not keep others from being read.
 */
import { existsSync, readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { isIntact } from "./checksum.ts"
import type { OutboxCommand } from "./command.ts"
import { decodeErrorText, decodeSalvagedRow } from "./rows.ts"
import { type Cell, rowsInPages } from "./sqlite-pages.ts"

export type SalvagedCommand = Pick<
  OutboxCommand,
  "n" | "id" | "name" | "issued_at" | "state" | "payload" | "ids" | "error"
> & {
  /** It could be read, but its checksum does not hold. */
  readonly altered?: true
}
export interface Salvage {
  readonly commands: ReadonlyMap<number, SalvagedCommand>
  /** The highest number there is a trace of. */
  readonly last: number
}

/** Columns as the first release made them, and the last that was added. */
const first_columns = ["n", "id", "name", "payload", "ids", "issued_at", "state", "error"] as const
const checksum_at = 17

/** Undefined where nothing of any command is to be found. */
export const salvage = (path: string): Salvage | undefined => {
  const commands = new Map<number, SalvagedCommand>()
  const last = byTrees(path, commands)
  for (const saved of byPages(path)) {
    const before = commands.get(saved.n)
    if (before === undefined || (before.altered === true && saved.altered !== true)) commands.set(saved.n, saved)
  }
  const highest = Math.max(last ?? 0, ...commands.keys())
  return last === undefined && commands.size === 0 ? undefined : { commands, last: highest }
}

const rows_tried_max = 1_000_000
const byTrees = (path: string, commands: Map<number, SalvagedCommand>): number | undefined => {
  let db: DatabaseSync
  try {
    db = new DatabaseSync(path, { readOnly: true })
  } catch {
    return undefined
  }
  try {
    const last = highestIn(db)
    for (let n = 1; n <= Math.min(last ?? 0, rows_tried_max); n++) {
      try {
        const row = db.prepare("select * from commands where n = ?").get(n)
        const saved = row === undefined ? undefined : savedFrom(row)
        if (saved !== undefined) commands.set(n, saved)
      } catch {
        /* Its page may still be read by itself. */
      }
    }
    return last
  } finally {
    db.close()
  }
}
/** From the table, or from an index that is still whole. */
const highestIn = (db: DatabaseSync): number | undefined => {
  for (const sql of [
    "select max(n) as n from commands",
    "select max(n) as n from commands indexed by commands_state",
    "select count(*) as n from commands not indexed"
  ]) {
    try {
      return Number(db.prepare(sql).get()!["n"] ?? 0)
    } catch {
      continue
    }
  }
  return undefined
}

const byPages = (path: string): ReadonlyArray<SalvagedCommand> => {
  const wal = existsSync(`${path}-wal`) ? readFileSync(`${path}-wal`) : undefined
  return rowsInPages(readFileSync(path), wal).flatMap(({ rowid, cells }) => {
    if (cells.length < first_columns.length || cells[0] !== null) return []
    const row: { [column: string]: Cell } = Object.fromEntries(
      first_columns.map((column, at) => [column, cells[at] ?? null])
    )
    const saved = savedFrom({ ...row, n: rowid, checksum: cells[checksum_at] ?? null })
    return saved === undefined ? [] : [saved]
  })
}

/** A command, if that is what the row holds. An error that cannot be read is left out. */
const savedFrom = (row: { readonly [column: string]: unknown }): SalvagedCommand | undefined => {
  const command = decodeSalvagedRow(row)
  if (command === undefined) return undefined
  const error = decodeErrorText(row["error"]) ?? null
  const { id, name, payload, ids, issued_at } = row
  const intact = isIntact({ n: command.n, id, name, payload, ids, issued_at, checksum: row["checksum"] })
  return { ...command, error, ...(intact ? {} : { altered: true }) }
}

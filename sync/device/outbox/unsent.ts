/** Commands that are not sent, or were refused, read from the outbox alone, whatever else is wrong with the device. */
import { existsSync, readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { isIntact } from "./tables.ts"
import { type CommandState, decodeErrorText, decodeSalvagedRow, type OutboxCommand } from "./rows.ts"
import { type Cell, rowsInPages } from "./sqlite-pages.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/fields/field.ts"
import { isDamage, openOutboxOf, outboxPath, readProfile, replicaPath } from "./folder.ts"
import { highestKnown, missingBetween, type MissingCommands, provisional_base } from "./replica-tables.ts"

// Readable content of a damaged outbox: row by row through SQLite, and page by page where that fails. One bad row does
// not prevent reading others.

type SalvagedCommand = Pick<
  OutboxCommand,
  "n" | "id" | "name" | "issued_at" | "state" | "payload" | "ids" | "error"
> & {
  /** It could be read, but its checksum does not hold. */
  readonly altered?: true
}
interface Salvage {
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

export interface UnsentReport {
  readonly commands: ReadonlyArray<SalvagedCommand>
  /** How many commands of a damaged outbox could not be read, and which. */
  readonly unreadable: number
  readonly unreadable_numbers: ReadonlyArray<MissingCommands>
  /** Acknowledged here, and not in the outbox any more. */
  readonly lost: MissingCommands | null
  /** The effects of commands missing from the outbox, as far as the replica still has them. */
  readonly traces: ReadonlyArray<CommandTrace>
  readonly profile: { readonly device: string; readonly replica_id: number; readonly server: string }
}
interface CommandTrace {
  readonly command_id: string
  readonly recorded_at: string
  readonly events: ReadonlyArray<{ readonly type: string; readonly stream: string; readonly data: Json }>
}

const states: ReadonlySet<CommandState> = new Set(["pending", "rejected", "held"])

export const readUnsent = (folder: string): UnsentReport => {
  const profile = profileThere(folder)
  const { commands, last } = commandsIn(folder)
  const known = Math.max(last, highestRun(folder))
  const lost = missingBetween(known, last) ?? null
  const unreadable_numbers = gapsIn(commands, last)
  const all = [...commands.values()].sort((one, other) => one.n - other.n)
  return {
    profile,
    lost,
    unreadable_numbers,
    unreadable: unreadable_numbers.reduce((sum, { from, to }) => sum + to - from + 1, 0),
    commands: all.filter(({ state }) => states.has(state)),
    traces: lost === null && unreadable_numbers.length === 0 ? [] : tracesIn(folder, new Set(all.map(({ id }) => id)))
  }
}

/** The outbox's commands; of a damaged one those that can still be read. */
const commandsIn = (
  folder: string
): { readonly commands: ReadonlyMap<number, SalvagedCommand>; readonly last: number } => {
  try {
    const outbox = openOutboxOf(folder)
    try {
      const kept = outbox
        .all()
        .map(({ n, id, name, issued_at, state, payload, ids, error }): SalvagedCommand => ({
          n,
          id,
          name,
          issued_at,
          state,
          payload,
          ids,
          error
        }))
      return { commands: new Map(kept.map((one) => [one.n, one])), last: outbox.lastN() }
    } finally {
      outbox.close()
    }
  } catch (error) {
    if (!isDamage(error) && !(error instanceof Error && "kind" in error && error.kind === "outbox damaged")) throw error
    const saved = salvage(outboxPath(folder))
    // Without a trace of any command, report the damage itself.
    if (saved === undefined) throw error
    return saved
  }
}
/** Numbers begin with one and have no gaps. */
const gapsIn = (commands: ReadonlyMap<number, unknown>, last: number): ReadonlyArray<MissingCommands> => {
  const gaps: Array<MissingCommands> = []
  let before = 0
  for (const n of [...[...commands.keys()].sort((one, other) => one - other), last + 1]) {
    if (n > before + 1) gaps.push({ from: before + 1, to: n - 1 })
    before = n
  }
  return gaps
}

/** Reads from the replica; `otherwise` where it cannot be read. */
const inReplica = <A>(folder: string, otherwise: A, read: (db: DatabaseSync) => A): A => {
  if (!existsSync(replicaPath(folder))) return otherwise
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(replicaPath(folder), { readOnly: true })
    return read(db)
  } catch {
    return otherwise
  } finally {
    db?.close()
  }
}
const highestRun = (folder: string): number =>
  inReplica(folder, 0, (db) => Number(db.prepare(highestKnown).get()?.["n"] ?? 0))
const tracesIn = (folder: string, there: ReadonlySet<string>): ReadonlyArray<CommandTrace> =>
  inReplica<ReadonlyArray<CommandTrace>>(folder, [], (db) => {
    const found = new Map<
      string,
      { command_id: string; recorded_at: string; events: Array<CommandTrace["events"][number]> }
    >()
    for (const row of db
      .prepare("select command_id, recorded_at, stream, type, data from journal where position >= ? order by position")
      .all(provisional_base)) {
      const [command_id, recorded_at, stream, type] = [
        row["command_id"],
        row["recorded_at"],
        row["stream"],
        row["type"]
      ].map(String) as [string, string, string, string]
      if (there.has(command_id)) continue
      const trace = found.get(command_id) ?? { command_id, recorded_at, events: [] }
      found.set(command_id, trace)
      trace.events.push({ type, stream, data: dataIn(row["data"]) })
    }
    return [...found.values()]
  })
const dataIn = (text: unknown): JsonObject => {
  const data: unknown = JSON.parse(String(text))
  return isJsonObject(data) ? data : {}
}

const profileThere = (folder: string): UnsentReport["profile"] => {
  try {
    const { device, replica_id, url } = readProfile(folder)
    return { device, replica_id, server: url }
  } catch (error) {
    if (error instanceof Error && error.name === "NoProfile") throw error
    return { device: "unknown", replica_id: 0, server: "unknown" }
  }
}

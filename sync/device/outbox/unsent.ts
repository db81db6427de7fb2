/** Reads unsent and refused commands from the outbox, even if it or other files of the device are damaged. */
import { existsSync, readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { isIntact } from "./tables.ts"
import { type CommandState, decodeErrorText, decodeSalvagedRow, type OutboxCommand } from "./rows.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/index.ts"
import { isDamage, openOutboxOf, outboxPath, readProfile, replicaPath } from "./folder.ts"
import { highestKnown, missingBetween, type MissingCommands, provisional_base } from "./replica-tables.ts"

// Reads rows from an SQLite file page by page, without its trees (https://www.sqlite.org/fileformat2.html), so that a
// damaged inner page does not hide others. Committed pages of the write-ahead log replace those of the file.

type Cell = number | bigint | string | Uint8Array | null
interface RawRow {
  readonly rowid: number
  readonly cells: ReadonlyArray<Cell>
}

const page_size_default = 4_096
const table_leaf = 13
const file_header = 100,
  wal_header = 32,
  frame_header = 24
const columns_max = 64

/** All rows in intact leaf pages, of all tables. */
export const rowsInPages = (file: Uint8Array, wal: Uint8Array | undefined): ReadonlyArray<RawRow> => {
  const db = view(file)
  const told = file.length >= file_header ? db.getUint16(16) : 0
  const size = told === 1 ? 65_536 : told >= 512 && (told & (told - 1)) === 0 ? told : page_size_default
  const reserved = file.length > 20 && file[20]! <= 64 ? file[20]! : 0
  const newer = wal === undefined ? new Map<number, Uint8Array>() : committedPages(wal, size)
  const count = Math.max(Math.ceil(file.length / size), ...newer.keys())
  const page = (no: number): Uint8Array | undefined => {
    const there = newer.get(no) ?? file.subarray((no - 1) * size, no * size)
    return no >= 1 && there.length === size ? there : undefined
  }
  const rows: Array<RawRow> = []
  for (let no = 1; no <= count; no++) {
    const leaf = page(no)
    if (leaf !== undefined)
      rows.push(...rowsOf(leaf, no === 1 ? file_header : 0, { page, usable: size - reserved, count }))
  }
  return rows
}
const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The newest committed version of each page. Frames of an earlier use of the log have other salts. */
const committedPages = (wal: Uint8Array, size: number): Map<number, Uint8Array> => {
  const pages = new Map<number, Uint8Array>()
  if (wal.length < wal_header) return pages
  const log = view(wal)
  let begun: Array<readonly [number, Uint8Array]> = []
  for (let at = wal_header; at + frame_header + size <= wal.length; at += frame_header + size) {
    if (log.getUint32(at + 8) !== log.getUint32(16) || log.getUint32(at + 12) !== log.getUint32(20)) break
    begun.push([log.getUint32(at), wal.subarray(at + frame_header, at + frame_header + size)])
    if (log.getUint32(at + 4) === 0) continue
    for (const [no, bytes] of begun) pages.set(no, bytes)
    begun = []
  }
  return pages
}

interface Pages {
  readonly page: (no: number) => Uint8Array | undefined
  readonly usable: number
  readonly count: number
}

const rowsOf = (page: Uint8Array, start: number, pages: Pages): ReadonlyArray<RawRow> => {
  if (page[start] !== table_leaf) return []
  const bytes = view(page)
  const cells = Math.min(bytes.getUint16(start + 3), Math.floor((page.length - start - 8) / 2))
  const rows: Array<RawRow> = []
  for (let at = 0; at < cells; at++) {
    // A damaged cell does not prevent reading the others.
    try {
      rows.push(rowAt(page, bytes.getUint16(start + 8 + at * 2), pages))
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
    }
  }
  return rows
}

/** Decodes a varint: 1 to 9 bytes with seven bits each, the ninth with eight. */
const varint = (bytes: Uint8Array, at: number): readonly [value: number, next: number] => {
  let value = 0n
  for (let step = 0; step < 9; step++) {
    const byte = bytes[at + step]
    if (byte === undefined) throw new RangeError("cut off")
    if (step === 8) return [Number(BigInt.asIntN(64, (value << 8n) | BigInt(byte))), at + 9]
    value = (value << 7n) | BigInt(byte & 127)
    if (byte < 128) return [Number(value), at + step + 1]
  }
  throw new RangeError("cut off")
}

const rowAt = (page: Uint8Array, at: number, pages: Pages): RawRow => {
  const [length, after_length] = varint(page, at)
  const [rowid, begin] = varint(page, after_length)
  if (length < 1 || length > pages.count * pages.usable) throw new RangeError("no record")
  const room = pages.usable - 35
  const least = Math.floor(((pages.usable - 12) * 32) / 255) - 23
  const fitting = least + ((length - least) % (pages.usable - 4))
  const here = length <= room ? length : fitting <= room ? fitting : least
  const record = new Uint8Array(length)
  record.set(part(page, begin, here))
  let next = here === length ? 0 : view(page).getUint32(begin + here)
  for (let filled = here; filled < length;) {
    const overflow = pages.page(next)
    if (overflow === undefined) throw new RangeError("cut off")
    const taken = Math.min(length - filled, pages.usable - 4)
    record.set(part(overflow, 4, taken), filled)
    filled += taken
    next = view(overflow).getUint32(0)
  }
  return { rowid, cells: cellsOf(record) }
}
const part = (bytes: Uint8Array, from: number, length: number): Uint8Array => {
  if (from + length > bytes.length) throw new RangeError("cut off")
  return bytes.subarray(from, from + length)
}

const utf8 = new TextDecoder("utf-8")
const cellsOf = (record: Uint8Array): ReadonlyArray<Cell> => {
  const [header, first] = varint(record, 0)
  const cells: Array<Cell> = []
  for (let at = first, body = header; at < header;) {
    const [type, next] = varint(record, at)
    const length = type < 12 ? [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type] : Math.floor((type - 12) / 2)
    if (length === undefined || cells.length >= columns_max) throw new RangeError("no record")
    cells.push(cellOf(type, part(record, body, length)))
    at = next
    body += length
  }
  return cells
}
const cellOf = (type: number, bytes: Uint8Array): Cell => {
  if (type === 0) return null
  if (type < 7) return wholeIn(bytes)
  if (type === 7) return view(bytes).getFloat64(0)
  if (type < 10) return type - 8
  return type % 2 === 0 ? bytes : utf8.decode(bytes)
}
const wholeIn = (bytes: Uint8Array): number =>
  Number(
    BigInt.asIntN(
      bytes.length * 8,
      bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)
    )
  )

// Reads a damaged outbox: row by row through SQLite, and the others page by page. One bad row does not prevent reading
// the rest.

type SalvagedCommand = Pick<
  OutboxCommand,
  "n" | "id" | "name" | "issued_at" | "state" | "payload" | "ids" | "error"
> & {
  /** Set if the command was readable but does not match its checksum. */
  readonly altered?: true
}
interface Salvage {
  readonly commands: ReadonlyMap<number, SalvagedCommand>
  /** Highest command number found in any form. */
  readonly last: number
}

/** Columns of the first release, and the index of `checksum`, a later one. */
const first_columns = ["n", "id", "name", "payload", "ids", "issued_at", "state", "error"] as const
const checksum_at = 17

/** Salvages commands; undefined if no trace of any is found. */
const salvage = (path: string): Salvage | undefined => {
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
        /* The page may still be readable by itself. */
      }
    }
    return last
  } finally {
    db.close()
  }
}
/** Highest number in the table or an intact index, else the number of rows; undefined if all are unreadable. */
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

/** Decodes a command; undefined if the row is none. An unreadable error is left out. */
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
  /** Number of commands of a damaged outbox that could not be read, and their number ranges. */
  readonly unreadable: number
  readonly unreadable_numbers: ReadonlyArray<MissingCommands>
  /** Acknowledged commands missing from the outbox; null if none. */
  readonly lost: MissingCommands | null
  /** Effects of missing commands, as far as the replica still has them. */
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

/** Commands of the outbox; of a damaged one, those that are readable. */
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
    // Without a trace of any command, the damage itself is reported.
    if (saved === undefined) throw error
    return saved
  }
}
/** Missing number ranges. Numbers begin with 1 and have no gaps. */
const gapsIn = (commands: ReadonlyMap<number, unknown>, last: number): ReadonlyArray<MissingCommands> => {
  const gaps: Array<MissingCommands> = []
  let before = 0
  for (const n of [...[...commands.keys()].sort((one, other) => one - other), last + 1]) {
    if (n > before + 1) gaps.push({ from: before + 1, to: n - 1 })
    before = n
  }
  return gaps
}

/** Reads from the replica; returns `otherwise` if it is unreadable. */
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

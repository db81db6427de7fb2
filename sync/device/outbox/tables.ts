/** The outbox's tables and access to them, with statements prepared once and transactions. */
import { firstOf } from "../../../core/values/text.ts"
import { hash } from "node:crypto"
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite"
import { DecodeFailure } from "../../protocol/wire.ts"
import { DeviceFailure, isDamage, outboxDamaged } from "./device-failure.ts"
import type { CommandState, OutboxCommand } from "./rows.ts"
import { columns, decodeCommandRow, decodeLeaseRequestRow, decodeLeaseRow } from "./rows.ts"

// Checksums of commands, by which damaged rows are detected.

/** Columns covered by a checksum, as stored. */
interface ChecksummedParts {
  readonly n: unknown
  readonly id: unknown
  readonly name: unknown
  readonly payload: unknown
  readonly ids: unknown
  readonly issued_at: unknown
}

export const checksumOf = ({ n, id, name, payload, ids, issued_at }: ChecksummedParts): string =>
  hash("sha256", JSON.stringify([Number(n), id, name, payload, ids, issued_at]), "hex")
/** Whether a row matches its checksum. Rows without one, of earlier releases, count as intact. */
export const isIntact = (row: ChecksummedParts & { readonly checksum: unknown }): boolean =>
  row.checksum === null || row.checksum === undefined || row.checksum === checksumOf(row)

const schema = `
create table if not exists meta (key text primary key, value text not null);
create table if not exists commands (
  n integer primary key, id text not null unique, name text not null, payload text not null, ids text not null,
  issued_at text not null, state text not null default 'pending', error text
);
create index if not exists commands_state on commands (state, n);
create table if not exists things (thing text not null, n integer not null, made integer not null, primary key (thing, n)) without rowid;
create index if not exists things_of on things (n);
create table if not exists leases (entity text not null, first integer not null, last integer not null, next integer not null, primary key (entity, first));
create table if not exists lost_ids (entity text not null, first integer not null, last integer not null, up_to_n integer not null);
create table if not exists lease_requests (entity text primary key, request_no integer not null);
`
/** Columns added by later releases, with their values for earlier commands. */
const added_columns = [
  "needs text not null default '[]'",
  "base integer",
  "replaces text",
  "cause text",
  "settled_before integer not null default 0",
  "outcome text",
  "account text",
  "seen integer not null default 0",
  "rows_seen text not null default '{}'",
  "checksum text",
  "run text",
  "done text",
  "undoes text not null default '[]'",
  "unless_changed text",
  "withdrawn_by text",
  "nothing_left integer not null default 0"
]
/** States of commands that the server may still have to decide, so that no other copy of them exists. */
const unsettled: ReadonlySet<unknown> = new Set(["pending", "rejected", "held"] satisfies ReadonlyArray<CommandState>)
/** A row or the file differs from what was written. */
class Altered extends Error {
  override readonly name = "Altered"
}
type Row = Record<string, SQLOutputValue>
/** Decodes a row with `columns`. Unsettled commands must match their checksum. */
const commandOf = (row: Row): OutboxCommand => {
  const name = `command ${String(row["n"])}`
  if (unsettled.has(row["state"]) && !isIntact(checksummed(row))) throw new Altered(`${name} is not as it was written`)
  try {
    return decodeCommandRow(row)
  } catch (cause) {
    throw new Altered(`${name} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
const checksummed = ({ n, id, name, payload, ids, issued_at, checksum }: Row) => ({
  n,
  id,
  name,
  payload,
  ids,
  issued_at,
  checksum
})

/** A transaction in progress, with the functions that end it. */
interface OpenTransaction {
  readonly commit: () => void
  readonly rollback: () => void
}
export interface OutboxTables {
  /** The number `n` in the single row of a query's result. */
  readonly numberOf: (sql: string, ...values: ReadonlyArray<string | number>) => number
  readonly all: (sql: string, ...values: ReadonlyArray<string | number>) => ReadonlyArray<Row>
  /** Decodes a row with `columns`. */
  readonly kept: (row: Row) => OutboxCommand
  /** Runs a decoder (see `rows.ts`) and reports invalid data as damage of the outbox. */
  readonly reading: <A>(read: () => A) => A
  /** Updates the checksum of a command after an intended change. */
  readonly sign: (n: number) => void
  readonly prepared: (sql: string) => {
    readonly run: (...values: ReadonlyArray<SQLInputValue>) => ReturnType<StatementSync["run"]>
  }
  /** Runs a transaction: once it returns, its writes are on disk; if it throws, nothing is stored. */
  readonly transaction: <A>(body: () => A) => A
  /** Begins a transaction that `transaction` calls join until it ends. */
  readonly begin: () => OpenTransaction
  /** Highest number ever assigned; 0 before the first. */
  readonly lastN: () => number
}

/** Maximum number of pages for a check on each opening; larger outboxes are checked by `doctor` only. */
const checked_pages_max = 2_048
const checked_commands_max = 500

/**
 * Creates missing tables and columns, also in a file of an earlier release. A damaged outbox acknowledges nothing,
 * whether the damage is found on opening or later.
 */
export const openTables = (db: DatabaseSync): OutboxTables => {
  const guarded = <A>(work: () => A): A => {
    try {
      return work()
    } catch (error) {
      const altered = error instanceof Altered || error instanceof DecodeFailure
      throw (isDamage(error) || altered) && !(error instanceof DeviceFailure)
        ? outboxDamaged(db.location() ?? "in memory", error)
        : error
    }
  }
  return guarded(() => openGuarded(db, guarded))
}
const checkOnOpening = (db: DatabaseSync): void => {
  const pages = Number(db.prepare("pragma page_count").get()?.["page_count"] ?? 0)
  if (pages <= checked_pages_max) {
    const result = String(db.prepare("pragma quick_check(1)").get()?.["quick_check"])
    if (result !== "ok") throw new Altered(result)
  }
  for (const row of db
    .prepare(`select ${columns} from commands where state = 'pending' order by n desc limit ${checked_commands_max}`)
    .all()) {
    if (!isIntact(checksummed(row))) throw new Altered(`command ${String(row["n"])} is not as it was written`)
  }
  for (const row of db.prepare("select * from leases").all()) decodeLeaseRow(row)
  for (const row of db.prepare("select * from lease_requests").all()) decodeLeaseRequestRow(row)
}
/**
 * Creates an index of commands by the commands they undo, maintained by triggers, so that writes of any release update
 * it.
 */
const openUndoings = (db: DatabaseSync): void => {
  if (db.prepare("select 1 from sqlite_master where name = 'undoings_kept'").get() !== undefined) return
  db.exec(`
    create table if not exists undoings
      (undone text not null, n integer not null, primary key (undone, n)) without rowid;
    insert or ignore into undoings select value, n from commands, json_each(undoes) where undoes <> '[]';
    create trigger if not exists undoings_kept after insert on commands when new.undoes <> '[]' begin
      insert or ignore into undoings select value, new.n from json_each(new.undoes);
    end;`)
}
const alone = ["begin immediate", "commit", "rollback"] as const
const joined = ["savepoint part", "release part", "rollback to part; release part"] as const
const openGuarded = (db: DatabaseSync, guarded: <A>(work: () => A) => A): OutboxTables => {
  db.exec(schema)
  const present = new Set(
    db
      .prepare("select name from pragma_table_info('commands')")
      .all()
      .map((column) => String(column["name"]))
  )
  for (const column of added_columns)
    if (!present.has(column.slice(0, column.indexOf(" ")))) db.exec(`alter table commands add column ${column}`)
  openUndoings(db)
  db.exec("create index if not exists commands_replaces on commands (replaces) where replaces is not null")
  checkOnOpening(db)
  const statements = new Map<string, StatementSync>()
  const statementOf = (sql: string): StatementSync => {
    let statement = statements.get(sql)
    if (statement === undefined) statements.set(sql, (statement = db.prepare(sql)))
    return statement
  }
  const prepared: OutboxTables["prepared"] = (sql) => ({
    run: (...values) => guarded(() => statementOf(sql).run(...values))
  })
  const all = (sql: string, ...values: ReadonlyArray<string | number>): ReadonlyArray<Row> =>
    guarded(() => statementOf(sql).all(...values))
  const transaction = <A>(body: () => A): A =>
    guarded(() => {
      const [begin, commit, rollback] = db.isTransaction ? joined : alone
      db.exec(begin)
      try {
        const result = body()
        db.exec(commit)
        return result
      } catch (error) {
        if (db.isTransaction) db.exec(rollback)
        throw error
      }
    })
  const begin = (): OpenTransaction => {
    guarded(() => db.exec("begin immediate"))
    const rollback = (): void => {
      if (db.isTransaction) guarded(() => db.exec("rollback"))
    }
    return { commit: () => guarded(() => db.exec("commit")), rollback }
  }
  const sign = (n: number): void => {
    const [row] = all(`select ${columns} from commands where n = ?`, n)
    if (row !== undefined) prepared("update commands set checksum = ? where n = ?").run(checksumOf(checksummed(row)), n)
  }
  const numberOf: OutboxTables["numberOf"] = (sql, ...values) => Number(firstOf(all(sql, ...values))["n"])
  const lastN = (): number => numberOf("select coalesce(max(n), 0) as n from commands")
  return {
    all,
    numberOf,
    kept: (row) => guarded(() => commandOf(row)),
    reading: guarded,
    prepared,
    sign,
    transaction,
    begin,
    lastN
  }
}

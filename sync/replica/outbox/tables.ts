/**
 * The outbox's tables, and how its parts read and write them: statements are prepared once, and what belongs together is
 * kept in one transaction or not at all.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { CommandState, KeptCommand } from "./kept-command.ts"

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
/** Columns that came later, with what they say of commands from before. */
const added_columns = [
  "needs text not null default '[]'", "base integer", "replaces text", "cause text", "settled_before integer not null default 0",
  "outcome text", "account text", "seen integer not null default 0", "rows_seen text not null default '{}'"
]
interface Row {
  readonly n: number; readonly id: string; readonly name: string; readonly payload: string; readonly ids: string; readonly issued_at: string
  readonly state: string; readonly error: string | null; readonly needs: string; readonly base: number | null; readonly replaces: string | null
  readonly cause: string | null; readonly account: string | null; readonly rows_seen: string
}
/** What is read of a command, for `kept`. */
export const columns = "n, id, name, payload, ids, issued_at, state, error, needs, base, replaces, cause, account, rows_seen"

/** What is kept as JSON; null where nothing is. */
export const parsed = (text: string | null | undefined) => text === null || text === undefined ? null : JSON.parse(text)
/** A command as it is kept, of a row with `columns`. */
export const kept = (row: Record<string, unknown>): KeptCommand => {
  const { payload, ids, state, error, needs, account, rows_seen, ...plain } = row as unknown as Row
  const { n, id, name, issued_at, base, replaces, cause } = plain
  return {
    n, id, name, issued_at, base, replaces, cause, payload: JSON.parse(payload), ids: JSON.parse(ids), state: state as CommandState, needs: JSON.parse(needs),
    error: parsed(error), account: parsed(account), ...(rows_seen === "{}" ? {} : { rows_seen: JSON.parse(rows_seen) })
  }
}

export interface OutboxTables {
  readonly all: (sql: string, ...values: ReadonlyArray<string | number>) => ReadonlyArray<Record<string, unknown>>
  readonly prepared: (sql: string) => StatementSync
  /** One durable step: when it returns, what it wrote is on the disk; when it throws, nothing of it is kept. */
  readonly transaction: <A>(body: () => A) => A
  /** The highest number ever given here; 0 before the first. */
  readonly lastN: () => number
}

/** Makes what is missing of the tables, also in a file of an earlier release. */
export const openTables = (db: DatabaseSync): OutboxTables => {
  db.exec(schema)
  const present = new Set(db.prepare("select name from pragma_table_info('commands')").all().map((column) => String(column["name"])))
  for (const column of added_columns) if (!present.has(column.slice(0, column.indexOf(" ")))) db.exec(`alter table commands add column ${column}`)
  db.exec("create index if not exists commands_replaces on commands (replaces) where replaces is not null")
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    let statement = statements.get(sql)
    if (statement === undefined) statements.set(sql, statement = db.prepare(sql))
    return statement
  }
  const all = (sql: string, ...values: ReadonlyArray<string | number>): ReadonlyArray<Record<string, unknown>> => prepared(sql).all(...values)
  const transaction = <A>(body: () => A): A => {
    db.exec("begin immediate")
    try {
      const result = body()
      db.exec("commit")
      return result
    } catch (error) {
      if (db.isTransaction) db.exec("rollback")
      throw error
    }
  }
  const lastN = (): number => Number(all("select coalesce(max(n), 0) as n from commands")[0]!["n"])
  return { all, prepared, transaction, lastN }
}

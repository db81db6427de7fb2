/**
 * The outbox: commands acknowledged here and not yet settled, with the leases their ids come from. It is the only
 * data a device cannot get back from the server, so it has a file of its own (WAL, synchronous=FULL), and a command is
 * acknowledged only after its transaction here has reached the disk.
 */
import { DatabaseSync } from "node:sqlite"
import type { LeaseRange, Verdict, WireCommand, WireError } from "../wire.ts"

export type CommandState = "pending" | "accepted" | "rejected" | "retried" | "amended" | "dropped"
export interface KeptCommand extends WireCommand {
  readonly state: CommandState
  readonly error: WireError | null
}
export interface Outbox {
  /** Appends a command and moves the lease cursors its ids came from, in one durable transaction; gives its number. */
  readonly append: (command: Omit<WireCommand, "n">) => WireCommand
  /** A command decided anew needed more ids than before: they are its own from now on. */
  readonly extendIds: (n: number, ids: WireCommand["ids"]) => void
  /** Commands not yet settled, in order. */
  readonly pending: () => ReadonlyArray<KeptCommand>
  /** The highest number not settled; 0 when nothing is pending. */
  readonly lastPending: () => number
  readonly byState: (state: CommandState) => ReadonlyArray<KeptCommand>
  readonly find: (id: string) => KeptCommand | undefined
  /** What the journal said about commands; saying it again changes nothing. */
  readonly settle: (verdicts: ReadonlyArray<{ readonly n: number; readonly status: Verdict["status"]; readonly error?: WireError | undefined }>) => void
  /** A person settled a refused command: another way was found, or it is given up. It stays in the history. */
  readonly resolve: (id: string, how: "retried" | "amended" | "dropped") => void
  /** Ids left per table. */
  readonly idsLeft: (table: string) => number
  /** The next ids of a table, without taking them: `append` takes what a command used. */
  readonly peekIds: (table: string, skip: number, count: number) => ReadonlyArray<number>
  readonly addLease: (request_no: number, ranges: ReadonlyArray<LeaseRange>) => void
  /** The number under which the next block of a table is asked for; the same until its lease has arrived. */
  readonly leaseRequestNo: (table: string) => number
  readonly get: (key: string) => string | undefined
  readonly set: (key: string, value: string) => void
  readonly counts: () => { readonly [state: string]: number }
  readonly close: () => void
}

const schema = `
create table if not exists meta (key text primary key, value text not null);
create table if not exists commands (
  n integer primary key, id text not null unique, name text not null, payload text not null, ids text not null,
  issued_at text not null, state text not null default 'pending', error text
);
create index if not exists commands_state on commands (state, n);
create table if not exists leases (entity text not null, first integer not null, last integer not null, next integer not null, primary key (entity, first));
create table if not exists lease_requests (entity text primary key, request_no integer not null);
`
interface Row { readonly n: number; readonly id: string; readonly name: string; readonly payload: string; readonly ids: string; readonly issued_at: string; readonly state: string; readonly error: string | null }

export const openOutboxFile = (path: string): Outbox => {
  const db = new DatabaseSync(path, { timeout: 10_000 })
  db.exec("pragma journal_mode = wal; pragma synchronous = full")
  return openOutbox(db)
}

/** Over an open database; tests keep one in memory across simulated crashes. */
export const openOutbox = (db: DatabaseSync): Outbox => {
  db.exec(schema)
  const all = (sql: string, ...values: ReadonlyArray<string | number>): ReadonlyArray<Record<string, unknown>> => db.prepare(sql).all(...values)
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
  const kept = (row: Record<string, unknown>): KeptCommand => {
    const { n, id, name, payload, ids, issued_at, state, error } = row as unknown as Row
    return { n, id, name, payload: JSON.parse(payload), ids: JSON.parse(ids), issued_at, state: state as CommandState, error: error === null ? null : JSON.parse(error) }
  }
  const takeIds = (ids: WireCommand["ids"]): void => {
    for (const [entity, used] of Object.entries(ids)) {
      for (const id of used) db.prepare("update leases set next = ? where entity = ? and first <= ? and last >= ? and next <= ?").run(id + 1, entity, id, id, id)
    }
  }
  return {
    append: (command) => transaction(() => {
      const [last] = all("select coalesce(max(n), 0) as n from commands")
      const n = Number(last!["n"]) + 1
      db.prepare("insert into commands (n, id, name, payload, ids, issued_at) values (?, ?, ?, ?, ?, ?)")
        .run(n, command.id, command.name, JSON.stringify(command.payload), JSON.stringify(command.ids), command.issued_at)
      takeIds(command.ids)
      return { ...command, n }
    }),
    extendIds: (n, ids) => transaction(() => {
      db.prepare("update commands set ids = ? where n = ?").run(JSON.stringify(ids), n)
      takeIds(ids)
    }),
    pending: () => all("select * from commands where state = 'pending' order by n").map(kept),
    lastPending: () => Number(all("select coalesce(max(n), 0) as n from commands where state = 'pending'")[0]!["n"]),
    byState: (state) => all("select * from commands where state = ? order by n", state).map(kept),
    find: (id) => all("select * from commands where id = ?", id).map(kept)[0],
    settle: (verdicts) => {
      if (verdicts.length === 0) return
      transaction(() => {
        const write = db.prepare("update commands set state = ?, error = ? where n = ? and state = 'pending'")
        for (const { n, status, error } of verdicts) write.run(status, error === undefined ? null : JSON.stringify(error), n)
      })
    },
    resolve: (id, how) => { transaction(() => db.prepare("update commands set state = ? where id = ? and state = 'rejected'").run(how, id)) },
    idsLeft: (table) => Number(all("select coalesce(sum(last - next + 1), 0) as n from leases where entity = ?", table)[0]!["n"]),
    peekIds: (table, skip, count) => {
      const ids: Array<number> = []
      let skipped = 0
      for (const range of all("select next, last from leases where entity = ? and next <= last order by first", table)) {
        for (let id = Number(range["next"]); id <= Number(range["last"]) && ids.length < count; id++) if (skipped++ >= skip) ids.push(id)
      }
      return ids
    },
    addLease: (request_no, ranges) => transaction(() => {
      for (const { entity, from, to } of ranges) {
        db.prepare("insert into leases (entity, first, last, next) values (?, ?, ?, ?) on conflict do nothing").run(entity, from, to, from)
        db.prepare("insert into lease_requests (entity, request_no) values (?, ?) on conflict (entity) do update set request_no = max(request_no, excluded.request_no)").run(entity, request_no + 1)
      }
    }),
    leaseRequestNo: (table) => Number(all("select request_no from lease_requests where entity = ?", table)[0]?.["request_no"] ?? 1),
    get: (key) => all("select value from meta where key = ?", key)[0]?.["value"] as string | undefined,
    set: (key, value) => { db.prepare("insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value").run(key, value) },
    counts: () => Object.fromEntries(all("select state, count(*) as n from commands group by state").map((row) => [String(row["state"]), Number(row["n"])])),
    close: () => db.close()
  }
}

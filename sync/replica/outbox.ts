/**
 * The outbox: commands acknowledged here and not yet settled, with the leases their ids come from. It is the only
 * data a device cannot get back from the server, so it has a file of its own (WAL, synchronous=FULL), and a command is
 * acknowledged only after its transaction here has reached the disk.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite"
import type { JsonObject } from "../../core/kernel/json.ts"
import { type LeaseRange, needs_max, type Verdict, type WireCommand, type WireError } from "../wire.ts"
import type { NamedRow } from "./named-rows.ts"

/**
 * Pending, then accepted, rejected (a conflict) or held (not decided, for what it builds on was refused). A person gives
 * up a conflict (dropped) or has it recorded anew in one of the other ways; held commands are recorded anew with it (released).
 */
export type WayRecorded = "retried" | "amended" | "substituted" | "split" | "released"
export type CommandState = "pending" | "accepted" | "rejected" | "held" | "dropped" | WayRecorded
export const command_states: ReadonlyArray<CommandState> =
  ["pending", "accepted", "rejected", "held", "dropped", "retried", "amended", "substituted", "split", "released"]

export interface KeptCommand extends WireCommand {
  readonly state: CommandState
  readonly error: WireError | null
  readonly needs: ReadonlyArray<string>
  /** The last confirmed event its person could know of. */
  readonly base: number | null
  /** The conflict it was recorded to settle. */
  readonly replaces: string | null
  /** The refused command it waits for, while it is held. */
  readonly cause: string | null
  /** What became of it and what changed meanwhile, as worked out when its verdict was pulled. */
  readonly account: JsonObject | null
}
/** An event as far as it tells what happened. */
export interface Happened { readonly stream: string; readonly type: string; readonly data: JsonObject }
/** What a command did here when it was recorded, and the rows of its path as its person saw them, by `table/id`. */
export interface Recorded { readonly events: ReadonlyArray<Happened>; readonly rows: { readonly [row: string]: JsonObject } }
/** What is known about a command beside what is sent. */
export interface About {
  readonly base?: number
  readonly recorded?: Recorded
  /** Rows it names, as `table/id`: where an earlier pending command made one, it builds on that command. */
  readonly named?: ReadonlyArray<string>
  /** When rows it names were made, by `table/id`. */
  readonly rows_seen?: { readonly [row: string]: string }
  /** The conflict it settles, and how: that is kept in the same step. */
  readonly replaces?: { readonly id: string; readonly how: WayRecorded }
}
export interface Outbox {
  /**
   * Appends a command and moves the lease cursors its ids came from, in one durable transaction; gives it its number and
   * the earlier commands it needs.
   */
  readonly append: (command: Omit<WireCommand, "n" | "needs">, about?: About) => WireCommand
  /** A command decided anew needed more ids than before: they are its own from now on. */
  readonly extendIds: (n: number, ids: WireCommand["ids"]) => void
  /** Commands not yet settled, in order. */
  readonly pending: () => ReadonlyArray<KeptCommand>
  /** The highest number not settled; 0 when nothing is pending. */
  readonly lastPending: () => number
  /** The highest number whose verdict is known; 0 before the first. */
  readonly lastSettled: () => number
  /** The highest number ever given here; 0 before the first. */
  readonly lastN: () => number
  readonly byState: (state: CommandState) => ReadonlyArray<KeptCommand>
  readonly find: (id: string) => KeptCommand | undefined
  /** Commands recorded to settle this one, in order. */
  readonly successors: (id: string) => ReadonlyArray<KeptCommand>
  /** Held commands that wait for this one, in order. */
  readonly heldBy: (id: string) => ReadonlyArray<KeptCommand>
  /**
   * What the journal said about commands; saying it again changes nothing. A command that was not decided is held by its
   * cause; so is one refused for where its row stands when an earlier command on that row was refused in the same run.
   */
  readonly settle: (verdicts: ReadonlyArray<{ readonly n: number; readonly status: Verdict["status"]; readonly error?: WireError | undefined }>) => void
  /** A person settled a refused or held command without a new one being needed. It stays in the history. */
  readonly resolve: (id: string, how: WayRecorded | "dropped") => void
  /** A held command waits for another one, or for none any more: then it is a conflict of its own. */
  readonly holdFor: (id: string, cause: string) => void
  readonly unhold: (id: string, error: WireError) => void
  /** Nothing once the server's outcome was compared with it. */
  readonly recordedOf: (n: number) => Recorded | undefined
  /** Keeps what became of commands; a command once accounted for stays so. */
  readonly account: (accounts: ReadonlyArray<{ readonly n: number; readonly account: JsonObject }>) => void
  /** Accepted commands with something to tell (`account.merged`, `account.differences`); those not yet seen, or all. */
  readonly told: (all: boolean) => ReadonlyArray<KeptCommand>
  /**
   * Has what is kept beside what is sent cut to what its person may see, and what was sent, once it is settled for good. False
   * while another process reads: what was there is still on the disk.
   */
  readonly cut: (how: {
    readonly recorded: (recorded: Recorded) => Recorded; readonly account: (account: JsonObject) => JsonObject
    /** Undefined: all of it stays. */
    readonly sent?: ((command: KeptCommand) => WireCommand["payload"]) | undefined
  }) => boolean
  /** The person has seen what is told about commands up to this number. */
  readonly seen: (n: number) => void
  /** Ids left per table. */
  readonly idsLeft: (table: string) => number
  /** The next ids of a table, without taking them: `append` takes what a command used. */
  readonly peekIds: (table: string, skip: number, count: number) => ReadonlyArray<number>
  readonly addLease: (request_no: number, ranges: ReadonlyArray<LeaseRange>) => void
  /** All blocks there ever were, and how many were asked for. */
  readonly leases: () => { readonly blocks: ReadonlyArray<LeaseRange & { readonly request_no: number }>; readonly blocks_asked: number }
  /** Of these blocks only what was granted is left; the rest is lost. */
  readonly trimLeases: (blocks: ReadonlyArray<LeaseRange>, granted: ReadonlyArray<LeaseRange>) => void
  /** Those of a command's ids that are still leased to this device; where one of a table's is not, none of that table's. */
  readonly leasedAmong: (command: Pick<KeptCommand, "n">, ids: WireCommand["ids"]) => WireCommand["ids"]
  /** Whether this id was the device's own when the command was recorded, and is not any more: a row that has it now is another one. */
  readonly isLost: (command: Pick<KeptCommand, "n">, row: NamedRow) => boolean
  /** Commands that were to make a row (`table/id`), in order; accepted ones only after a reopening. */
  readonly makersOf: (row: string) => ReadonlyArray<KeptCommand>
  /** The number under which the next block of a table is asked for; the same until its lease has arrived. */
  readonly leaseRequestNo: (table: string) => number
  /**
   * The server has forgotten what came after a number: a backup took its place. What was settled by it there is pending
   * again, and ids of blocks it does not know are given no more. Says how many commands that are. What made the rows a
   * command names (`named`) may be refused this time: all that is sent again says anew what it needs.
   */
  readonly reopen: (last_n: number, leases: ReadonlyArray<LeaseRange>, named?: (command: KeptCommand) => ReadonlyArray<string>) => number
  /** What is to be sent, in order: what is pending; after a reopening also numbers given up since, emptied, for the sequence's sake. */
  readonly toSend: () => ReadonlyArray<WireCommand>
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
const columns = "n, id, name, payload, ids, issued_at, state, error, needs, base, replaces, cause, account, rows_seen"
/** State by state, each a look into the index: the whole history is not read for every command. */
const highest_settled = `select max(n) from (${command_states.filter((state) => state !== "pending")
  .map((state) => `select max(n) as n from commands where state = '${state}'`).join(" union all ")})`
const rowThing = (row: string): string => `row:${row}`
const streamThing = (stream: string): string => `stream:${stream}`
/** Refused for where something stands, not for what was asked of it. */
const isAboutStanding = (error: WireError | undefined): boolean =>
  error?.status === 404 || Object.keys(error?.errors ?? {}).some((field) => field === "state" || field === "status")

export const openOutboxFile = (path: string): Outbox => {
  const db = new DatabaseSync(path, { timeout: 10_000 })
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on")
  return openOutbox(db)
}

const parsed = (text: string | null | undefined) => text === null || text === undefined ? null : JSON.parse(text)

/** Over an open database; tests keep one in memory across simulated crashes. */
export const openOutbox = (db: DatabaseSync): Outbox => {
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
  const kept = (row: Record<string, unknown>): KeptCommand => {
    const { payload, ids, state, error, needs, account, rows_seen, ...plain } = row as unknown as Row
    const { n, id, name, issued_at, base, replaces, cause } = plain
    return {
      n, id, name, issued_at, base, replaces, cause, payload: JSON.parse(payload), ids: JSON.parse(ids), state: state as CommandState, needs: JSON.parse(needs),
      error: parsed(error), account: parsed(account), ...(rows_seen === "{}" ? {} : { rows_seen: JSON.parse(rows_seen) })
    }
  }
  const keepMade = (n: number, ids: WireCommand["ids"]): void => {
    const keep = prepared("insert or ignore into things (thing, n, made) values (?, ?, 1)")
    for (const [table, used] of Object.entries(ids)) for (const id of used) keep.run(rowThing(`${table}/${id}`), n)
  }
  /** The pending commands that made what one names. */
  const makersBefore = (n: number, named: ReadonlyArray<string>): ReadonlyArray<string> => {
    const makers = new Map<number, string>()
    const making = prepared("select c.n, c.id from things t join commands c on c.n = t.n where t.thing = ? and t.made = 1 and c.state = 'pending' and c.n < ?")
    for (const row of named) {
      const [table = "", id] = row.split("/")
      const lost = isLost({ n }, { table, id: Number(id) })
      // Once the id is lost it is another row that is named by it.
      for (const maker of making.all(rowThing(row), n)) if (lost || !isLost({ n: Number(maker["n"]) }, { table, id: Number(id) })) makers.set(Number(maker["n"]), String(maker["id"]))
    }
    return [...makers].sort(([one], [other]) => one - other).slice(0, needs_max).map(([, id]) => id)
  }
  /** Keeps the streams it touched and the rows it made; gives the pending commands that made what it names. */
  const entangle = (n: number, ids: WireCommand["ids"], { recorded, named = [] }: About): ReadonlyArray<string> => {
    keepMade(n, ids)
    for (const { stream } of recorded?.events ?? []) prepared("insert or ignore into things (thing, n, made) values (?, ?, 0)").run(streamThing(stream), n)
    return makersBefore(n, named)
  }
  /** What of a block is in none of these ranges is this device's no more, nor are rows that commands of up to now meant by it. */
  const lose = (block: LeaseRange, ranges: ReadonlyArray<LeaseRange>): void => {
    const up_to_n = lastN()
    let from = block.from
    for (const range of [...ranges.filter(({ entity }) => entity === block.entity)].sort((one, other) => one.from - other.from)) {
      if (range.to < from || range.from > block.to) continue
      if (range.from > from) keepLost.run(block.entity, from, range.from - 1, up_to_n)
      from = range.to + 1
    }
    if (from <= block.to) keepLost.run(block.entity, from, block.to, up_to_n)
  }
  const keepLost = prepared("insert into lost_ids (entity, first, last, up_to_n) values (?, ?, ?, ?)")
  const lastN = (): number => Number(all("select coalesce(max(n), 0) as n from commands")[0]!["n"])
  const isLost: Outbox["isLost"] = ({ n }, { table, id }) =>
    all("select 1 from lost_ids where entity = ? and first <= ? and last >= ? and up_to_n >= ? limit 1", table, id, id, n).length > 0
  /** The refused command another one follows: earlier, on a stream of its own, and not yet settled when it was recorded. */
  const followed = (n: number): string | undefined => {
    const [row] = all(
      "select coalesce(c.cause, c.id) as cause from things mine join things theirs on theirs.thing = mine.thing and theirs.n < mine.n join commands c on c.n = theirs.n " +
      "where mine.n = ? and mine.thing like 'stream:%' and c.state in ('rejected', 'held') and c.n > (select settled_before from commands where n = mine.n) order by c.n limit 1", n)
    return row === undefined ? undefined : String(row["cause"])
  }
  /** Of rows with ids of its own a device says by its needs what they are. What is released says what its person saw, not what is there now. */
  const seenOf = ({ rows_seen = {}, replaces }: About): { readonly [row: string]: string } => {
    const before = replaces?.how !== "released" ? undefined : all("select rows_seen from commands where id = ?", replaces.id)[0]?.["rows_seen"]
    return Object.fromEntries(Object.entries({ ...rows_seen, ...parsed(before as string | undefined) as typeof rows_seen | null }).filter(([row]) => {
      const [table = "", id] = row.split("/")
      return all("select 1 from leases where entity = ? and first <= ? and last >= ?", table, Number(id), Number(id)).length === 0
    }))
  }
  const takeIds = (ids: WireCommand["ids"]): void => {
    for (const [entity, used] of Object.entries(ids)) {
      for (const id of used) prepared("update leases set next = ? where entity = ? and first <= ? and last >= ? and next <= ?").run(id + 1, entity, id, id, id)
    }
  }
  // What was dropped or replaced can be so only once; a release is of held commands alone.
  const resolveOne = prepared("update commands set state = ? where id = ? and (state = 'held' or (state = 'rejected' and ? <> 'released'))")
  return {
    append: (command, about = {}) => transaction(() => {
      const [last] = all(`select coalesce((select max(n) from commands), 0) as n, coalesce((${highest_settled}), 0) as settled`)
      const n = Number(last!["n"]) + 1
      const { base, recorded, replaces } = about
      const needs = entangle(n, command.ids, about)
      const rows_seen = seenOf(about)
      prepared("insert into commands (n, id, name, payload, ids, issued_at, needs, base, replaces, settled_before, outcome, rows_seen) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .run(n, command.id, command.name, JSON.stringify(command.payload), JSON.stringify(command.ids), command.issued_at, JSON.stringify(needs), base ?? null,
          replaces?.id ?? null, Number(last!["settled"]), recorded === undefined ? null : JSON.stringify(recorded), JSON.stringify(rows_seen))
      if (replaces !== undefined) resolveOne.run(replaces.how, replaces.id, replaces.how)
      takeIds(command.ids)
      return { ...command, n, ...(needs.length === 0 ? {} : { needs }), ...(Object.keys(rows_seen).length === 0 ? {} : { rows_seen }) }
    }),
    extendIds: (n, ids) => transaction(() => {
      prepared("update commands set ids = ? where n = ?").run(JSON.stringify(ids), n)
      keepMade(n, ids)
      takeIds(ids)
    }),
    pending: () => all(`select ${columns} from commands where state = 'pending' order by n`).map(kept),
    lastN,
    lastSettled: () => Number(all(`select coalesce((${highest_settled}), 0) as n`)[0]!["n"]),
    lastPending: () => Number(all("select coalesce(max(n), 0) as n from commands where state = 'pending'")[0]!["n"]),
    byState: (state) => all(`select ${columns} from commands where state = ? order by n`, state).map(kept),
    find: (id) => all(`select ${columns} from commands where id = ?`, id).map(kept)[0],
    successors: (id) => all(`select ${columns} from commands where replaces = ? order by n`, id).map(kept),
    heldBy: (id) => all(`select ${columns} from commands where state = 'held' and cause = ? order by n`, id).map(kept),
    settle: (verdicts) => {
      if (verdicts.length === 0) return
      transaction(() => {
        const write = prepared("update commands set state = ?, error = ?, cause = ? where n = ? and state = 'pending'")
        for (const { n, status, error } of [...verdicts].sort((one, other) => one.n - other.n)) {
          const cause = status === "accepted" ? undefined : error?.cause ?? (isAboutStanding(error) ? followed(n) : undefined)
          write.run(cause === undefined ? status : "held", error === undefined ? null : JSON.stringify(error), cause ?? null, n)
          if (status === "accepted") prepared("delete from things where n = ?").run(n)
        }
      })
    },
    resolve: (id, how) => { transaction(() => resolveOne.run(how, id, how)) },
    holdFor: (id, cause) => { transaction(() => prepared("update commands set cause = ? where id = ? and state = 'held'").run(cause, id)) },
    unhold: (id, error) => {
      transaction(() => prepared("update commands set state = 'rejected', cause = null, error = ? where id = ? and state = 'held'").run(JSON.stringify(error), id))
    },
    recordedOf: (n) => parsed(all("select outcome from commands where n = ?", n)[0]?.["outcome"] as string | null | undefined) ?? undefined,
    account: (accounts) => {
      if (accounts.length === 0) return
      transaction(() => {
        const write = prepared("update commands set account = ?, outcome = null where n = ? and account is null")
        for (const { n, account } of accounts) write.run(JSON.stringify(account), n)
      })
    },
    cut: (how) => {
      const due: Array<readonly [n: number, outcome: string | null, account: string | null]> = []
      for (const { n, outcome, account } of all("select n, outcome, account from commands where outcome is not null or account is not null")) {
        const [was, told] = [outcome as string | null, account as string | null]
        const cut = [was === null ? null : JSON.stringify(how.recorded(JSON.parse(was))), told === null ? null : JSON.stringify(how.account(JSON.parse(told)))] as const
        if (cut[0] !== was || cut[1] !== told) due.push([Number(n), ...cut])
      }
      if (due.length > 0) transaction(() => { for (const [n, outcome, account] of due) prepared("update commands set outcome = ?, account = ? where n = ?").run(outcome, account, n) })
      const { sent } = how
      if (sent !== undefined) {
        const changed = all(`select ${columns} from commands where state not in ('pending', 'rejected', 'held')`).map(kept)
          .flatMap((command) => { const left = sent(command); return left === command.payload ? [] : [{ n: command.n, left }] })
        if (changed.length > 0) transaction(() => { for (const { n, left } of changed) prepared("update commands set payload = ? where n = ?").run(JSON.stringify(left), n) })
      }
      return Number(all("pragma wal_checkpoint(truncate)")[0]?.["busy"] ?? 0) === 0
    },
    told: (every) => all(
      `select ${columns} from commands where state = 'accepted' and account is not null and account <> '{}' ${every ? "" : "and seen = 0 "}order by n`).map(kept),
    seen: (n) => { transaction(() => prepared("update commands set seen = 1 where n <= ? and account is not null").run(n)) },
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
        prepared("insert into leases (entity, first, last, next) values (?, ?, ?, ?) on conflict do nothing").run(entity, from, to, from)
        prepared("insert into lease_requests (entity, request_no) values (?, ?) on conflict (entity) do update set request_no = max(request_no, excluded.request_no)").run(entity, request_no + 1)
      }
    }),
    leases: () => ({
      blocks: all("select l.entity, l.first, l.last, coalesce(r.request_no - 1, 1) as request_no from leases l left join lease_requests r on r.entity = l.entity order by l.entity, l.first")
        .map((row) => ({ entity: String(row["entity"]), from: Number(row["first"]), to: Number(row["last"]), request_no: Math.max(1, Number(row["request_no"])) })),
      blocks_asked: Number(all("select coalesce(sum(request_no - 1), 0) as n from lease_requests")[0]!["n"])
    }),
    trimLeases: (blocks, granted) => transaction(() => {
      for (const block of blocks) {
        const [row] = all("select next from leases where entity = ? and first = ? and last = ?", block.entity, block.from, block.to)
        const left = granted.filter(({ entity, from, to }) => entity === block.entity && from >= block.from && to <= block.to)
        if (row === undefined || (left.length === 1 && left[0]!.from === block.from && left[0]!.to === block.to)) continue
        lose(block, left)
        prepared("delete from leases where entity = ? and first = ?").run(block.entity, block.from)
        for (const { from, to } of left) {
          prepared("insert into leases (entity, first, last, next) values (?, ?, ?, ?)").run(block.entity, from, to, Math.min(to + 1, Math.max(from, Number(row["next"]))))
        }
      }
    }),
    leasedAmong: (command, ids) => Object.fromEntries(Object.entries(ids).filter(([entity, used]) => used.every((id) =>
      !isLost(command, { table: entity, id }) && all("select 1 from leases where entity = ? and first <= ? and last >= ?", entity, id, id).length > 0))),
    isLost,
    makersOf: (row) => all(`select ${columns} from commands where n in (select n from things where thing = ? and made = 1) order by n`, rowThing(row)).map(kept),
    leaseRequestNo: (table) => Number(all("select request_no from lease_requests where entity = ?", table)[0]?.["request_no"] ?? 1),
    reopen: (last_n, leases, named) => transaction(() => {
      const changed = prepared("update commands set state = 'pending', error = null, cause = null where n > ? and state in ('accepted', 'rejected', 'held')").run(last_n)
      for (const { entity, first, last } of all("select entity, first, last from leases")) {
        const block = { entity: String(entity), from: Number(first), to: Number(last) }
        const known = leases.some(({ entity, from, to }) => entity === block.entity && from <= block.from && to >= block.to)
        if (!known) prepared("update leases set next = last + 1 where entity = ? and first = ?").run(block.entity, block.from)
        if (!known) lose(block, leases)
      }
      const again = all(`select ${columns} from commands where n > ? and state = 'pending' order by n`, last_n).map(kept)
      for (const { n, ids } of again) keepMade(n, ids)
      for (const { n, needs, ...command } of named === undefined ? [] : again) {
        const all_needs = [...new Set([...needs, ...makersBefore(n, named!({ n, needs, ...command }))])].slice(0, needs_max)
        if (all_needs.length > needs.length) prepared("update commands set needs = ? where n = ?").run(JSON.stringify(all_needs), n)
      }
      const given_up = all("select n from commands where n > ? and state <> 'pending' order by n", last_n).map((row) => Number(row["n"]))
      prepared("insert into meta (key, value) values ('withdrawn', ?) on conflict (key) do update set value = excluded.value").run(JSON.stringify(given_up))
      return Number(changed.changes)
    }),
    toSend: () => {
      const withdrawn: ReadonlyArray<number> = parsed(all("select value from meta where key = 'withdrawn'")[0]?.["value"] as string | undefined) ?? []
      const pending = all(`select ${columns} from commands where state = 'pending' order by n`).map(kept)
      if (pending.length === 0 || withdrawn.length === 0) return pending
      const empty = all(`select ${columns} from commands where n in (select value from json_each(?))`, JSON.stringify(withdrawn)).map(kept)
        .map(({ n, id, issued_at }): WireCommand => ({ n, id, name: "withdrawn", payload: { params: {}, body: {} }, ids: {}, issued_at }))
      return [...pending, ...empty].sort((one, other) => one.n - other.n)
    },
    get: (key) => all("select value from meta where key = ?", key)[0]?.["value"] as string | undefined,
    set: (key, value) => { prepared("insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value").run(key, value) },
    counts: () => Object.fromEntries(all("select state, count(*) as n from commands group by state").map((row) => [String(row["state"]), Number(row["n"])])),
    close: () => db.close()
  }
}

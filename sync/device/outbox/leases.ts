/**
 * Leases: id blocks of a device, how far each is used up, and the ids lost when a server was restored from a backup
 * without their block.
 */
import { dependencies_max, type LeaseRange, type WireCommand } from "../../protocol/wire.ts"
import type { CommandReference } from "./references.ts"
import { columns, type CommandContext, decodeLeaseRow, decodeRowsSeen, type OutboxCommand } from "./rows.ts"
import type { OutboxTables } from "./tables.ts"

export interface OutboxLeases {
  /** Ids left per table. */
  readonly idsLeft: (table: string) => number
  /** The next ids of a table, without using them up: `append` does that for the ids of its command. */
  readonly peekIds: (table: string, skip: number, count: number) => ReadonlyArray<number>
  readonly addLease: (request_no: number, ranges: ReadonlyArray<LeaseRange>) => void
  /** All blocks, used up or not, and how many were requested. */
  readonly leases: () => {
    readonly blocks: ReadonlyArray<LeaseRange & { readonly request_no: number }>
    readonly blocks_asked: number
  }
  /** Reduces these blocks to those the server granted; the rest is lost. */
  readonly trimLeases: (blocks: ReadonlyArray<LeaseRange>, granted: ReadonlyArray<LeaseRange>) => void
  /** A command's ids that are still leased to this device; none of a table where one of that table's is not. */
  readonly leasedAmong: (command: Pick<OutboxCommand, "n">, ids: WireCommand["ids"]) => WireCommand["ids"]
  /**
   * Whether the id was leased when the command was recorded, and is not any more: a row that has it now is another one.
   */
  readonly isLost: (command: Pick<OutboxCommand, "n">, row: CommandReference) => boolean
  /** The number of the next request for a block of a table; the same until the lease has arrived. */
  readonly leaseRequestNo: (table: string) => number
}
/** Operations on leases for other parts of the outbox, in their own transactions. */
export interface Leasing {
  readonly leases: OutboxLeases
  /** Marks ids a command used as used up. */
  readonly takeIds: (ids: WireCommand["ids"]) => void
  /** Whether an id is in a block of this device, used or not. */
  readonly isLeased: (table: string, id: number) => boolean
  /**
   * Marks the ids of a block that are in none of these ranges as lost: for commands of up to now they name other rows.
   */
  readonly lose: (block: LeaseRange, ranges: ReadonlyArray<LeaseRange>) => void
}

/** Lost ids are stored with the last command's number: later commands mean another row by the same id. */
const losingOver = ({ prepared, lastN }: OutboxTables): Leasing["lose"] => {
  const keepLost = prepared("insert into lost_ids (entity, first, last, up_to_n) values (?, ?, ?, ?)")
  return (block, ranges) => {
    const up_to_n = lastN()
    let from = block.from
    for (const range of [...ranges.filter(({ entity }) => entity === block.entity)].sort(
      (one, other) => one.from - other.from
    )) {
      if (range.to < from || range.from > block.to) continue
      if (range.from > from) keepLost.run(block.entity, from, range.from - 1, up_to_n)
      from = range.to + 1
    }
    if (from <= block.to) keepLost.run(block.entity, from, block.to, up_to_n)
  }
}

/** The blocks themselves: added as they are granted, reduced to what a server restored from a backup still grants. */
const blocksOver = (
  { all, numberOf, prepared, reading, transaction }: OutboxTables,
  lose: Leasing["lose"]
): Pick<OutboxLeases, "addLease" | "leases" | "trimLeases"> => ({
  addLease: (request_no, ranges) =>
    transaction(() => {
      for (const { entity, from, to } of ranges) {
        prepared("insert into leases (entity, first, last, next) values (?, ?, ?, ?) on conflict do nothing").run(
          entity,
          from,
          to,
          from
        )
        prepared(
          "insert into lease_requests (entity, request_no) values (?, ?) on conflict (entity) do update set request_no = max(request_no, excluded.request_no)"
        ).run(entity, request_no + 1)
      }
    }),
  leases: () => ({
    blocks: all(
      "select l.entity, l.first, l.last, coalesce(r.request_no - 1, 1) as request_no from leases l left join lease_requests r on r.entity = l.entity order by l.entity, l.first"
    ).map((row) => ({
      entity: String(row["entity"]),
      from: Number(row["first"]),
      to: Number(row["last"]),
      request_no: Math.max(1, Number(row["request_no"]))
    })),
    blocks_asked: numberOf("select coalesce(sum(request_no - 1), 0) as n from lease_requests")
  }),
  trimLeases: (blocks, granted) =>
    transaction(() => {
      for (const block of blocks) {
        const [row] = all(
          "select * from leases where entity = ? and first = ? and last = ?",
          block.entity,
          block.from,
          block.to
        )
        const left = granted.filter(
          ({ entity, from, to }) => entity === block.entity && from >= block.from && to <= block.to
        )
        if (row === undefined || (left.length === 1 && left[0]!.from === block.from && left[0]!.to === block.to))
          continue
        const { next } = reading(() => decodeLeaseRow(row))
        lose(block, left)
        prepared("delete from leases where entity = ? and first = ?").run(block.entity, block.from)
        for (const { from, to } of left) {
          prepared("insert into leases (entity, first, last, next) values (?, ?, ?, ?)").run(
            block.entity,
            from,
            to,
            Math.min(to + 1, Math.max(from, next))
          )
        }
      }
    })
})

export const openLeases = (tables: OutboxTables): Leasing => {
  const { all, numberOf, prepared, reading } = tables
  const lose = losingOver(tables)
  const isLost: OutboxLeases["isLost"] = ({ n }, { table, id }) =>
    all(
      "select 1 from lost_ids where entity = ? and first <= ? and last >= ? and up_to_n >= ? limit 1",
      table,
      id,
      id,
      n
    ).length > 0
  const isLeased = (table: string, id: number): boolean =>
    all("select 1 from leases where entity = ? and first <= ? and last >= ?", table, id, id).length > 0
  const takeIds = (ids: WireCommand["ids"]): void => {
    for (const [entity, used] of Object.entries(ids)) {
      for (const id of used)
        prepared("update leases set next = ? where entity = ? and first <= ? and last >= ? and next <= ?").run(
          id + 1,
          entity,
          id,
          id,
          id
        )
    }
  }
  const leases: OutboxLeases = {
    ...blocksOver(tables, lose),
    idsLeft: (table) => numberOf("select coalesce(sum(last - next + 1), 0) as n from leases where entity = ?", table),
    peekIds: (table, skip, count) => {
      const ids: Array<number> = []
      let skipped = 0
      for (const row of all("select * from leases where entity = ? and next <= last order by first", table)) {
        const { next, last } = reading(() => decodeLeaseRow(row))
        for (let id = next; id <= last && ids.length < count; id++) if (skipped++ >= skip) ids.push(id)
      }
      return ids
    },
    leasedAmong: (command, ids) =>
      Object.fromEntries(
        Object.entries(ids).filter(([entity, used]) =>
          used.every((id) => !isLost(command, { table: entity, id }) && isLeased(entity, id))
        )
      ),
    isLost,
    leaseRequestNo: (table) =>
      Number(all("select request_no from lease_requests where entity = ?", table)[0]?.["request_no"] ?? 1)
  }
  return { leases, takeIds, isLeased, lose }
}

// Dependencies between commands: the rows a command made and the streams it touched, and so which earlier commands a
// later one depends on or follows.

const rowRef = (row: string): string => `row:${row}`
const streamRef = (stream: string): string => `stream:${stream}`

export interface OutboxDependencies {
  /** Stores which rows a command makes, by the ids it took. */
  readonly saveCreatedRows: (n: number, ids: WireCommand["ids"]) => void
  /** The pending commands that make the rows a command names. */
  readonly earlierCreators: (n: number, named: ReadonlyArray<string>) => ReadonlyArray<string>
  /** Stores the streams it touched and the rows it makes; gives the pending commands that make the rows it names. */
  readonly trackDependencies: (n: number, ids: WireCommand["ids"], about: CommandContext) => ReadonlyArray<string>
  /** Forgets an accepted command: later ones depend on it no more. */
  readonly untrackDependencies: (n: number) => void
  /**
   * The refused command that a command follows: earlier, on the same stream, and not settled when this one was
   * recorded.
   */
  readonly followed: (n: number) => string | undefined
  /**
   * When the rows it names were made, without rows of the device's own: those are named by the commands that made them.
   * A released command keeps what was seen when it was first recorded.
   */
  readonly seenOf: (about: CommandContext) => { readonly [row: string]: string }
  /** Commands that make a row (`table/id`), in order; accepted ones only after a reopening. */
  readonly creatorsOf: (row: string) => ReadonlyArray<OutboxCommand>
}

/** It reads and writes inside its caller's transaction. */
export const openDependencies = (
  { all, kept, prepared, reading }: OutboxTables,
  { leases: { isLost }, isLeased }: Leasing
): OutboxDependencies => {
  const saveCreatedRows = (n: number, ids: WireCommand["ids"]): void => {
    const keep = prepared("insert or ignore into things (thing, n, made) values (?, ?, 1)")
    for (const [table, used] of Object.entries(ids)) for (const id of used) keep.run(rowRef(`${table}/${id}`), n)
  }
  const earlierCreators = (n: number, named: ReadonlyArray<string>): ReadonlyArray<string> => {
    const makers = new Map<number, string>()
    const making =
      "select c.n, c.id from things t join commands c on c.n = t.n where t.thing = ? and t.made = 1 and c.state = 'pending' and c.n < ?"
    for (const row of named) {
      const [table = "", id] = row.split("/")
      const lost = isLost({ n }, { table, id: Number(id) })
      // Once the id is lost, it names another row.
      for (const maker of all(making, rowRef(row), n))
        if (lost || !isLost({ n: Number(maker["n"]) }, { table, id: Number(id) }))
          makers.set(Number(maker["n"]), String(maker["id"]))
    }
    return [...makers]
      .sort(([one], [other]) => one - other)
      .slice(0, dependencies_max)
      .map(([, id]) => id)
  }
  const trackDependencies: OutboxDependencies["trackDependencies"] = (n, ids, { recorded, named = [] }) => {
    saveCreatedRows(n, ids)
    for (const { stream } of recorded?.events ?? [])
      prepared("insert or ignore into things (thing, n, made) values (?, ?, 0)").run(streamRef(stream), n)
    return earlierCreators(n, named)
  }
  const followed = (n: number): string | undefined => {
    const [row] = all(
      "select coalesce(c.cause, c.id) as cause from things mine join things theirs on theirs.thing = mine.thing and theirs.n < mine.n join commands c on c.n = theirs.n " +
        "where mine.n = ? and mine.thing like 'stream:%' and c.state in ('rejected', 'held') and c.n > (select settled_before from commands where n = mine.n) order by c.n limit 1",
      n
    )
    return row === undefined ? undefined : String(row["cause"])
  }
  const seenOf = ({ rows_seen = {}, replaces }: CommandContext): { readonly [row: string]: string } => {
    const [before] = replaces?.how === "released" ? all("select rows_seen from commands where id = ?", replaces.id) : []
    const replaced = before === undefined ? {} : reading(() => decodeRowsSeen(before["rows_seen"]))
    return Object.fromEntries(
      Object.entries({ ...rows_seen, ...replaced }).filter(([row]) => {
        const [table = "", id] = row.split("/")
        return !isLeased(table, Number(id))
      })
    )
  }
  return {
    saveCreatedRows,
    earlierCreators,
    trackDependencies,
    followed,
    seenOf,
    untrackDependencies: (n) => {
      prepared("delete from things where n = ?").run(n)
    },
    creatorsOf: (row) =>
      all(
        `select ${columns} from commands where n in (select n from things where thing = ? and made = 1) order by n`,
        rowRef(row)
      ).map(kept)
  }
}

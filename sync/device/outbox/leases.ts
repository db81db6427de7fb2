/**
 * Leases: the device's id blocks, their use, and ids lost because a server restored from a backup has forgotten their
 * block.
 */
import type { LeaseRange, WireCommand } from "../../protocol/wire.ts"
import { decoderOf, dependencies_max, jsonText, rowsSeen } from "../../protocol/wire.ts"
import type { CommandReference } from "./references.ts"
import { columns, type CommandContext, decodeLeaseRow, type OutboxCommand } from "./rows.ts"
import type { OutboxTables } from "./tables.ts"

export interface OutboxLeases {
  /** Number of unused ids of a table. */
  readonly idsLeft: (table: string) => number
  /** The next unused ids of a table, without taking them: `append` takes those of its command. */
  readonly peekIds: (table: string, skip: number, count: number) => ReadonlyArray<number>
  readonly addLease: (request_no: number, ranges: ReadonlyArray<LeaseRange>) => void
  /** All blocks, used up or not, and the number of requested ones. */
  readonly leases: () => {
    readonly blocks: ReadonlyArray<LeaseRange & { readonly request_no: number }>
    readonly blocks_asked: number
  }
  /** Reduces these blocks to the granted ranges; the remaining ids are lost. */
  readonly trimLeases: (blocks: ReadonlyArray<LeaseRange>, granted: ReadonlyArray<LeaseRange>) => void
  /** Ids of a command that are still leased; of a table with a lost id, none. */
  readonly leasedAmong: (command: Pick<OutboxCommand, "n">, ids: WireCommand["ids"]) => WireCommand["ids"]
  /** Whether an id leased when the command was recorded was lost since, so that it now identifies another row. */
  readonly isLost: (command: Pick<OutboxCommand, "n">, row: CommandReference) => boolean
  /** Number of the next block request of a table; unchanged until the lease arrives. */
  readonly leaseRequestNo: (table: string) => number
}
/** Lease operations for other parts of the outbox, within the caller's transaction. */
export interface Leasing {
  readonly leases: OutboxLeases
  /** Marks the ids of a command as used. */
  readonly takeIds: (ids: WireCommand["ids"]) => void
  /** Whether an id is in a block of this device, used or unused. */
  readonly isLeased: (table: string, id: number) => boolean
  /** Marks ids of a block outside these ranges as lost: for commands recorded so far they now identify other rows. */
  readonly lose: (block: LeaseRange, ranges: ReadonlyArray<LeaseRange>) => void
}

/** Stores lost ids with the last command's number: commands recorded later mean the other row. */
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

/** The blocks: added when granted, reduced to what a restored server still grants. */
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
  const { all, numberOf, prepared } = tables
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
      // The blocks were decoded when the file was opened.
      for (const { next, last } of all(
        "select next, last from leases where entity = ? and next <= last order by first",
        table
      ))
        for (let id = Number(next); id <= Number(last) && ids.length < count; id++) if (skipped++ >= skip) ids.push(id)
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

// Dependencies between commands, derived from the rows they create and the streams they change.

const rowRef = (row: string): string => `row:${row}`
const streamRef = (stream: string): string => `stream:${stream}`

export interface OutboxDependencies {
  /** Stores the rows that a command creates, by the ids it took. */
  readonly saveCreatedRows: (n: number, ids: WireCommand["ids"]) => void
  /** Ids of pending commands that create rows which a command references. */
  readonly earlierCreators: (n: number, named: ReadonlyArray<string>) => ReadonlyArray<string>
  /**
   * Stores the streams a command changes and the rows it creates; returns the ids of pending commands that create rows
   * it references.
   */
  readonly trackDependencies: (n: number, ids: WireCommand["ids"], about: CommandContext) => ReadonlyArray<string>
  /** Deletes the dependencies on an accepted command. */
  readonly untrackDependencies: (n: number) => void
  /**
   * Id of the refused command that a command follows: an earlier one on the same stream, not settled when this one was
   * recorded; undefined if none.
   */
  readonly followed: (n: number) => string | undefined
  /**
   * Creation times of the rows a command references, except rows of this device, which are covered by `needs`. A
   * released command keeps those seen when it was first recorded.
   */
  readonly seenOf: (about: CommandContext) => { readonly [row: string]: string }
  /** Commands that create a row (`table/id`), in order; accepted ones only once `reopen` made them pending again. */
  readonly creatorsOf: (row: string) => ReadonlyArray<OutboxCommand>
}

const decodeRowsSeen = decoderOf("the rows a command names", () => jsonText(rowsSeen))

const madeBy = (ids: WireCommand["ids"]): ReadonlyArray<string> =>
  Object.entries(ids).flatMap(([table, used]) => used.map((id) => rowRef(`${table}/${id}`)))
/** Stores what a command makes and changes, by one statement. */
const savingOver =
  (prepared: OutboxTables["prepared"]) =>
  (n: number, made: ReadonlyArray<string>, changed: ReadonlyArray<string>): void => {
    if (made.length + changed.length > 0)
      prepared(
        "insert or ignore into things (thing, n, made) " +
          "select value, ?1, 1 from json_each(?2) union all select value, ?1, 0 from json_each(?3)"
      ).run(n, JSON.stringify(made), JSON.stringify([...new Set(changed)]))
  }

/** Dependencies over the outbox's tables. Runs within the caller's transaction. */
export const openDependencies = (
  { all, kept, prepared, reading }: OutboxTables,
  { leases: { isLost }, isLeased }: Leasing
): OutboxDependencies => {
  const save = savingOver(prepared)
  const saveCreatedRows = (n: number, ids: WireCommand["ids"]): void => save(n, madeBy(ids), [])
  const earlierCreators = (n: number, named: ReadonlyArray<string>): ReadonlyArray<string> => {
    const makers = new Map<number, string>()
    const making =
      "select c.n, c.id, t.thing from json_each(?) named cross join things t on t.thing = named.value and t.made = 1 " +
      "cross join commands c on c.n = t.n and c.state = 'pending' and c.n < ?"
    if (named.length > 0)
      for (const maker of all(making, JSON.stringify(named.map(rowRef)), n)) {
        const [table = "", id] = String(maker["thing"]).slice(rowRef("").length).split("/")
        const isLostFor = (of_n: number) => isLost({ n: of_n }, { table, id: Number(id) })
        // A lost id identifies another row, so its creator is no dependency.
        if (!isLostFor(Number(maker["n"])) || isLostFor(n)) makers.set(Number(maker["n"]), String(maker["id"]))
      }
    return [...makers]
      .sort(([one], [other]) => one - other)
      .slice(0, dependencies_max)
      .map(([, id]) => id)
  }
  const trackDependencies: OutboxDependencies["trackDependencies"] = (n, ids, { recorded, named = [] }) => {
    const streams = (recorded?.events ?? []).map(({ stream }) => streamRef(stream))
    save(n, madeBy(ids), streams)
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

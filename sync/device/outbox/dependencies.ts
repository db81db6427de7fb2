/**
 * Dependencies between commands: the rows a command made and the streams it touched, and so which earlier commands a
 * later one depends on or follows.
 */
import { dependencies_max, type WireCommand } from "../../protocol/wire.ts"
import type { CommandContext, OutboxCommand } from "./command.ts"
import type { Leasing } from "./leases.ts"
import { columns, decodeRowsSeen } from "./rows.ts"
import type { OutboxTables } from "./tables.ts"

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

/** What builds on what: the rows a command made and the streams it touched, and so which earlier commands a later one needs or follows. */
import { dependencies_max, type WireCommand } from "../../protocol/wire.ts"
import type { CommandContext, OutboxCommand } from "./command.ts"
import type { Leasing } from "./leases.ts"
import { columns, decodeRowsSeen } from "./rows.ts"
import type { OutboxTables } from "./tables.ts"

const rowRef = (row: string): string => `row:${row}`
const streamRef = (stream: string): string => `stream:${stream}`

export interface OutboxDependencies {
  /** The rows a command is to make, by the ids it took. */
  readonly saveCreatedRows: (n: number, ids: WireCommand["ids"]) => void
  /** The pending commands that made what one names. */
  readonly earlierCreators: (n: number, named: ReadonlyArray<string>) => ReadonlyArray<string>
  /** Keeps the streams it touched and the rows it made; gives the pending commands that made what it names. */
  readonly trackDependencies: (n: number, ids: WireCommand["ids"], about: CommandContext) => ReadonlyArray<string>
  /** An accepted command is built on, and followed, no more. */
  readonly untrackDependencies: (n: number) => void
  /** The refused command another one follows: earlier, on a stream of its own, and not yet settled when it was recorded. */
  readonly followed: (n: number) => string | undefined
  /** Of rows with ids of its own a device says by its needs what they are. What is released says what its person saw, not what is there now. */
  readonly seenOf: (about: CommandContext) => { readonly [row: string]: string }
  /** Commands that were to make a row (`table/id`), in order; accepted ones only after a reopening. */
  readonly creatorsOf: (row: string) => ReadonlyArray<OutboxCommand>
}

/** Reads and writes inside its caller's transaction. */
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
      // Once the id is lost it is another row that is named by it.
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

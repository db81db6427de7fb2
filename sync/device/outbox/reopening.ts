/**
 * Reopening: the server was restored from a backup, so commands it has settled since are sent again. Numbers of
 * commands dropped or replaced meanwhile are sent without content, to keep the sequence without gaps.
 */
import { type LeaseRange, dependencies_max, type WireCommand } from "../../protocol/wire.ts"
import { columns, decodeLeaseRow, decodeWithdrawn, type OutboxCommand } from "./rows.ts"
import type { Leasing, OutboxDependencies } from "./leases.ts"
import type { OutboxTables } from "./tables.ts"

/** The name under which a number without content is sent: no server knows such a command, so that it is refused. */
export const withdrawn_name = "withdrawn"

export interface OutboxReopening {
  /**
   * The restored server has lost all commands after a number: those settled become pending again, and ids of blocks it
   * does not know are no longer used. Returns how many commands that are. The commands that create the rows a command
   * names (`named`) may be refused this time, so dependencies are computed again.
   */
  readonly reopen: (
    last_n: number,
    leases: ReadonlyArray<LeaseRange>,
    named?: (command: OutboxCommand) => ReadonlyArray<string>
  ) => number
  /** Commands to send, in order: pending ones; after a reopening also withdrawn numbers, without content. */
  readonly toSend: () => ReadonlyArray<WireCommand>
}

/** A reopening is one transaction. */
export const openReopening = (
  { all, kept, prepared, reading, transaction }: OutboxTables,
  { lose }: Pick<Leasing, "lose">,
  { saveCreatedRows, earlierCreators }: Pick<OutboxDependencies, "saveCreatedRows" | "earlierCreators">
): OutboxReopening => ({
  reopen: (last_n, leases, named) =>
    transaction(() => {
      const changed = prepared(
        "update commands set state = 'pending', error = null, cause = null, nothing_left = 0 " +
          "where n > ? and state in ('accepted', 'rejected', 'held')"
      ).run(last_n)
      for (const row of all("select * from leases")) {
        const { entity, first, last } = reading(() => decodeLeaseRow(row))
        const block = { entity, from: first, to: last }
        const known = leases.some(
          ({ entity, from, to }) => entity === block.entity && from <= block.from && to >= block.to
        )
        if (!known)
          prepared("update leases set next = last + 1 where entity = ? and first = ?").run(block.entity, block.from)
        if (!known) lose(block, leases)
      }
      const again = all(`select ${columns} from commands where n > ? and state = 'pending' order by n`, last_n).map(
        kept
      )
      for (const { n, ids } of again) saveCreatedRows(n, ids)
      for (const { n, needs, ...command } of named === undefined ? [] : again) {
        const all_needs = [...new Set([...needs, ...earlierCreators(n, named!({ n, needs, ...command }))])].slice(
          0,
          dependencies_max
        )
        if (all_needs.length > needs.length)
          prepared("update commands set needs = ? where n = ?").run(JSON.stringify(all_needs), n)
      }
      const given_up = all("select n from commands where n > ? and state <> 'pending' order by n", last_n).map((row) =>
        Number(row["n"])
      )
      prepared(
        "insert into meta (key, value) values ('withdrawn', ?) on conflict (key) do update set value = excluded.value"
      ).run(JSON.stringify(given_up))
      return Number(changed.changes)
    }),
  toSend: () => {
    const [row] = all("select value from meta where key = 'withdrawn'")
    const withdrawn = row === undefined ? [] : reading(() => decodeWithdrawn(row["value"]))
    const pending = all(`select ${columns} from commands where state = 'pending' order by n`).map(kept)
    if (pending.length === 0 || withdrawn.length === 0) return pending
    const empty = all(
      `select ${columns} from commands where n in (select value from json_each(?))`,
      JSON.stringify(withdrawn)
    )
      .map(kept)
      .map(({ n, id, issued_at }): WireCommand => ({
        n,
        id,
        name: withdrawn_name,
        payload: { params: {}, body: {} },
        ids: {},
        issued_at
      }))
    return [...pending, ...empty].sort((one, other) => one.n - other.n)
  }
})

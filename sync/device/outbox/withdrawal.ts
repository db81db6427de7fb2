/**
 * Commands that a person takes back before they leave the device. What was offered to a server once, be it in a push
 * whose answer was lost or in a bundle, may have been decided there: it is not withdrawn, it is compensated.
 */
import type { DoneEffects, OutboxCommand } from "./command.ts"
import { columns, decodeDoneEffects, decodeMetaRow, decodeWithdrawn } from "./rows.ts"
import type { OutboxTables } from "./tables.ts"

export interface OutboxWithdrawal {
  /** Remembers, on the disk, that commands up to this number leave the device now. */
  readonly offer: (n: number) => void
  /** The highest number that ever left the device; 0 before the first. */
  readonly offered: () => number
  /**
   * Takes pending commands back that were never offered, all or none: false where one of them is not so any more. The
   * replica is due to be put right (`isRebaseDue`) until `rebased`. `run`: the run of the program that does it.
   */
  readonly withdraw: (ids: ReadonlyArray<string>, run?: string) => boolean
  /** Remembers that undoing these found nothing left to take back. */
  readonly foundNothingLeft: (ids: ReadonlyArray<string>) => void
  readonly isRebaseDue: () => boolean
  readonly rebased: () => void
  /** The server has these numbers without content now: they are sent no more. */
  readonly numbersTold: (ns: ReadonlyArray<number>) => void
  /** What undoing a command needs; undefined for one of long ago, or of an earlier release. */
  readonly doneOf: (n: number) => DoneEffects | undefined
  /** The newest commands, newest first. */
  readonly latest: (limit: number) => ReadonlyArray<OutboxCommand>
  /** The command of this id, or of this number. */
  readonly byIdOrNumber: (given: string) => OutboxCommand | undefined
  /** Commands recorded to take this one back, in order. */
  readonly undoersOf: (id: string) => ReadonlyArray<OutboxCommand>
}

const offered_key = "offered_up_to"
const rebase_key = "rebase_due"

export const openWithdrawal = ({ all, kept, prepared, reading, transaction }: OutboxTables): OutboxWithdrawal => {
  const valueOf = (key: string): string | undefined => {
    const [row] = all("select value from meta where key = ?", key)
    return row === undefined ? undefined : reading(() => decodeMetaRow(row)).value
  }
  const write = (key: string, value: string): void => {
    prepared("insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value").run(
      key,
      value
    )
  }
  const offered = (): number => Number(valueOf(offered_key) ?? 0)
  const withdrawnNumbers = (): ReadonlyArray<number> => {
    const text = valueOf("withdrawn")
    return text === undefined ? [] : reading(() => decodeWithdrawn(text))
  }
  return {
    offered,
    offer: (n) => {
      if (n > offered()) transaction(() => write(offered_key, String(n)))
    },
    withdraw: (ids, run) =>
      transaction(() => {
        const commands = ids.flatMap((id) => all(`select ${columns} from commands where id = ?`, id).map(kept))
        const last_offered = offered()
        if (commands.length < ids.length || commands.some(({ n, state }) => state !== "pending" || n <= last_offered))
          return false
        for (const { n } of commands) {
          prepared("update commands set state = 'withdrawn', withdrawn_by = ? where n = ?").run(run ?? null, n)
          prepared("delete from things where n = ?").run(n)
        }
        write("withdrawn", JSON.stringify([...new Set([...withdrawnNumbers(), ...commands.map(({ n }) => n)])]))
        write(rebase_key, "yes")
        return true
      }),
    foundNothingLeft: (ids) => {
      transaction(() => {
        for (const id of ids) prepared("update commands set nothing_left = 1 where id = ?").run(id)
      })
    },
    isRebaseDue: () => valueOf(rebase_key) === "yes",
    rebased: () => {
      prepared("delete from meta where key = ?").run(rebase_key)
    },
    numbersTold: (ns) => {
      const told = new Set(ns)
      const before = withdrawnNumbers()
      const left = before.filter((n) => !told.has(n))
      if (left.length < before.length) transaction(() => write("withdrawn", JSON.stringify(left)))
    },
    doneOf: (n) => {
      const [row] = all("select done from commands where n = ? and done is not null", n)
      return row === undefined ? undefined : reading(() => decodeDoneEffects(row["done"]))
    },
    latest: (limit) => all(`select ${columns} from commands order by n desc limit ?`, limit).map(kept),
    byIdOrNumber: (given) =>
      all(`select ${columns} from commands where id = ? or cast(n as text) = ?`, given, given).map(kept)[0],
    undoersOf: (id) =>
      all(`select ${columns} from commands where n in (select n from undoings where undone = ?) order by n`, id).map(
        kept
      )
  }
}

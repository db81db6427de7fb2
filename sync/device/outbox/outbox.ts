/**
 * The outbox: acknowledged commands and the leases of their ids, the only data a device cannot get back from the
 * server. So it has its own file (WAL, synchronous=FULL), and a command is acknowledged only once its transaction is on
 * disk.
 */
import type { JsonObject } from "../../../core/kernel/index.ts"
import { dependencies_max, type LeaseRange, type WireCommand } from "../../protocol/wire.ts"
import type { CommandOutcome } from "./outcome.ts"
import type { DoneEffects, OutboxCommand, RecordedEffects } from "./rows.ts"
import {
  columns,
  decodeDoneEffects,
  decodeLeaseRow,
  decodeMetaRow,
  decodeOutcome,
  decodeRecordedEffects,
  decodeWithdrawn
} from "./rows.ts"
import { openTables, type OutboxTables } from "./tables.ts"
import { DatabaseSync } from "node:sqlite"
import { openCommandStore, type OutboxCommands } from "./commands.ts"
import { type Leasing, openDependencies, openLeases, type OutboxDependencies, type OutboxLeases } from "./leases.ts"

// Reopening: after the server was restored from a backup, commands settled since are sent again. Numbers of commands
// dropped or replaced meanwhile are sent without content, so that the sequence has no gaps.

/** Command name for numbers without content: no server knows it, so the command is refused. */
export const withdrawn_name = "withdrawn"

interface OutboxReopening {
  /**
   * Makes the settled commands that the restored server has lost pending again, stops using ids of blocks it does not
   * know, and returns their number. Creators of referenced rows (`named`) may be refused this time, so dependencies are
   * computed again.
   */
  readonly reopen: (
    last_n: number,
    leases: ReadonlyArray<LeaseRange>,
    named?: (command: OutboxCommand) => ReadonlyArray<string>
  ) => number
  /** Commands to send, in order: pending ones and, only with those, withdrawn numbers without content. */
  readonly toSend: () => ReadonlyArray<WireCommand>
}

/** Reopening, in one transaction. */
const openReopening = (
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

// Data stored with a command: its effects here when it was recorded, and its outcome as reported to the user.

interface OutboxOutcomes {
  /** Effects of a command as recorded here; undefined once compared with the server's outcome. */
  readonly recordedOf: (n: number) => RecordedEffects | undefined
  /** Stores outcomes of commands; an outcome already stored is kept. */
  readonly saveOutcomes: (accounts: ReadonlyArray<{ readonly n: number; readonly account: JsonObject }>) => void
  /**
   * Accepted commands with something to report (`account.merged`, `account.differences`): unread ones, or all, but for
   * those with the numbers `except`.
   */
  readonly told: (all: boolean, except?: ReadonlyArray<number>) => ReadonlyArray<OutboxCommand>
  /** Numbers of those commands. */
  readonly toldNumbers: () => ReadonlyArray<number>
  /**
   * Redacts effects, outcomes and payloads of settled commands to what the user may see. False while another process
   * reads the file, as removed data is then still on disk.
   */
  readonly redact: (how: {
    readonly recorded: (recorded: RecordedEffects) => RecordedEffects
    readonly account: (account: JsonObject) => CommandOutcome
    /** Redacts the payload of a settled command; if absent, payloads are kept. */
    readonly sent?: ((command: OutboxCommand) => WireCommand["payload"]) | undefined
  }) => boolean
  /** Marks the reports about commands up to this number as read. */
  readonly seen: (n: number) => void
}

const redactedDone = (redact: (recorded: RecordedEffects) => RecordedEffects, done: DoneEffects): string =>
  JSON.stringify({ ...redact({ events: done.events, rows: done.rows }), made: done.made } satisfies DoneEffects)

const is_told = "state = 'accepted' and account is not null and account <> '{}'"

/** Outcomes of commands; never changes a command's state. */
const openOutcomes = ({ all, kept, prepared, reading, sign, transaction }: OutboxTables): OutboxOutcomes => ({
  recordedOf: (n) => {
    const [row] = all("select outcome from commands where n = ? and outcome is not null", n)
    return row === undefined ? undefined : reading(() => decodeRecordedEffects(row["outcome"]))
  },
  saveOutcomes: (accounts) => {
    if (accounts.length === 0) return
    transaction(() => {
      const write = prepared("update commands set account = ?, outcome = null where n = ? and account is null")
      for (const { n, account } of accounts) write.run(JSON.stringify(account), n)
    })
  },
  redact: (how) => {
    const due: Array<readonly [n: number, outcome: string | null, account: string | null, done: string | null]> = []
    for (const { n, outcome, account, done } of all(
      "select n, outcome, account, done from commands " +
        "where outcome is not null or account is not null or done is not null"
    )) {
      const redacted = reading(
        () =>
          [
            outcome === null ? null : JSON.stringify(how.recorded(decodeRecordedEffects(outcome))),
            account === null ? null : JSON.stringify(how.account(decodeOutcome(account))),
            done === null ? null : redactedDone(how.recorded, decodeDoneEffects(done))
          ] as const
      )
      if (redacted[0] !== outcome || redacted[1] !== account || redacted[2] !== done) due.push([Number(n), ...redacted])
    }
    if (due.length > 0)
      transaction(() => {
        for (const [n, outcome, account, done] of due)
          prepared("update commands set outcome = ?, account = ?, done = ? where n = ?").run(outcome, account, done, n)
      })
    const { sent } = how
    if (sent !== undefined) {
      const changed = all(`select ${columns} from commands where state not in ('pending', 'rejected', 'held')`)
        .map(kept)
        .flatMap((command) => {
          const left = sent(command)
          return left === command.payload ? [] : [{ n: command.n, left }]
        })
      if (changed.length > 0)
        transaction(() => {
          for (const { n, left } of changed) {
            prepared("update commands set payload = ? where n = ?").run(JSON.stringify(left), n)
            sign(n)
          }
        })
    }
    return Number(all("pragma wal_checkpoint(truncate)")[0]?.["busy"] ?? 0) === 0
  },
  told: (every, except = []) =>
    all(
      `select ${columns} from commands where ${is_told} ${every ? "" : "and seen = 0 "}
      and n not in (select value from json_each(?)) order by n`,
      JSON.stringify(except)
    ).map(kept),
  toldNumbers: () => all(`select n from commands where ${is_told}`).map(({ n }) => Number(n)),
  seen: (n) => {
    transaction(() => prepared("update commands set seen = 1 where n <= ? and account is not null").run(n))
  }
})

// Withdrawal of commands before they leave the device. A command offered to a server once, in a push with a lost answer
// or in a bundle, may have been decided there: it is compensated instead.

interface OutboxWithdrawal {
  /** Records durably that commands up to this number are about to leave the device. */
  readonly offer: (n: number) => void
  /** Highest number that ever left the device; 0 if none. */
  readonly offered: () => number
  /**
   * Withdraws pending commands that were never offered, all or none; false if one no longer qualifies. `isRebaseDue` is
   * then set until `rebased`. `run`: the program run that withdraws them.
   */
  readonly withdraw: (ids: ReadonlyArray<string>, run?: string) => boolean
  /** Records that undoing these commands found nothing left to undo. */
  readonly foundNothingLeft: (ids: ReadonlyArray<string>) => void
  readonly isRebaseDue: () => boolean
  readonly rebased: () => void
  /** Records that the server has these numbers without content, so that they are not sent again. */
  readonly numbersTold: (ns: ReadonlyArray<number>) => void
  /** Undo data of a command; undefined if none is stored: for old commands, and those that changed too many rows. */
  readonly doneOf: (n: number) => DoneEffects | undefined
  /** The newest commands, newest first. */
  readonly latest: (limit: number) => ReadonlyArray<OutboxCommand>
  readonly byIdOrNumber: (given: string) => OutboxCommand | undefined
  /** Commands recorded to undo this one, in order. */
  readonly undoersOf: (id: string) => ReadonlyArray<OutboxCommand>
}

const offered_key = "offered_up_to"
const rebase_key = "rebase_due"

const openWithdrawal = ({ all, kept, prepared, reading, transaction }: OutboxTables): OutboxWithdrawal => {
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

export interface Outbox
  extends
    OutboxCommands,
    OutboxOutcomes,
    OutboxLeases,
    Pick<OutboxDependencies, "creatorsOf">,
    OutboxReopening,
    OutboxWithdrawal {
  /** Begins a transaction for all writes here, until its result commits or rolls back. */
  readonly begin: OutboxTables["begin"]
  readonly get: (key: string) => string | undefined
  readonly set: (key: string, value: string) => void
  readonly close: () => void
}

/** Opens the outbox at this path; creates it if missing. */
export const openOutboxAt = (path: string): Outbox => {
  const db = new DatabaseSync(path, { timeout: 10_000 })
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on")
  return openOutbox(db)
}

/** An outbox over an open database; tests keep one in memory across simulated crashes. */
export const openOutbox = (db: DatabaseSync): Outbox => {
  const tables = openTables(db)
  const leasing = openLeases(tables)
  const needs = openDependencies(tables, leasing)
  const { all, begin, prepared, reading } = tables
  return {
    begin,
    ...openCommandStore(tables, leasing, needs),
    ...openOutcomes(tables),
    ...leasing.leases,
    ...openReopening(tables, leasing, needs),
    ...openWithdrawal(tables),
    creatorsOf: needs.creatorsOf,
    get: (key) => {
      const [row] = all("select value from meta where key = ?", key)
      return row === undefined ? undefined : reading(() => decodeMetaRow(row)).value
    },
    set: (key, value) => {
      prepared(
        "insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value"
      ).run(key, value)
    },
    close: () => db.close()
  }
}

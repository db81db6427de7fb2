/**
 * What is stored beside a command: its effects here when it was recorded, and its outcome as reported to its person.
 */
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import type { CommandOutcome } from "../outcomes/outcome.ts"
import type { DoneEffects, OutboxCommand, RecordedEffects } from "./command.ts"
import { columns, decodeDoneEffects, decodeOutcome, decodeRecordedEffects } from "./rows.ts"
import type { OutboxTables } from "./tables.ts"

export interface OutboxOutcomes {
  /** A command's effects here; undefined once the server's outcome was compared with them. */
  readonly recordedOf: (n: number) => RecordedEffects | undefined
  /** Stores the outcomes of commands. A stored outcome stays. */
  readonly saveOutcomes: (accounts: ReadonlyArray<{ readonly n: number; readonly account: JsonObject }>) => void
  /** Accepted commands with something to report (`account.merged`, `account.differences`); unread ones, or all. */
  readonly told: (all: boolean) => ReadonlyArray<OutboxCommand>
  /**
   * Redacts effects and outcomes to what their person may see, and payloads of settled commands. False while another
   * process reads the file: what was removed is still on the disk.
   */
  readonly redact: (how: {
    readonly recorded: (recorded: RecordedEffects) => RecordedEffects
    readonly account: (account: JsonObject) => CommandOutcome
    /** Undefined: all of it stays. */
    readonly sent?: ((command: OutboxCommand) => WireCommand["payload"]) | undefined
  }) => boolean
  /** Marks the reports about commands up to this number as read. */
  readonly seen: (n: number) => void
}

const redactedDone = (redact: (recorded: RecordedEffects) => RecordedEffects, done: DoneEffects): string =>
  JSON.stringify({ ...redact({ events: done.events, rows: done.rows }), made: done.made } satisfies DoneEffects)

/** Never changes a command's state. */
export const openOutcomes = ({ all, kept, prepared, reading, sign, transaction }: OutboxTables): OutboxOutcomes => ({
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
  told: (every) =>
    all(
      `select ${columns} from commands where state = 'accepted' and account is not null and account <> '{}' ${every ? "" : "and seen = 0 "}order by n`
    ).map(kept),
  seen: (n) => {
    transaction(() => prepared("update commands set seen = 1 where n <= ? and account is not null").run(n))
  }
})

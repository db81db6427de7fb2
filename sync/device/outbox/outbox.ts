/**
 * The outbox: acknowledged commands that are not settled yet, with the leases their ids come from. It is the only data
 * a device cannot get back from the server. So it has a file of its own (WAL, synchronous=FULL), and a command is
 * acknowledged only after its transaction has reached the disk.
 */
import { DatabaseSync } from "node:sqlite"
import { openCommandStore, type OutboxCommands } from "./commands.ts"
import { openLeases, type OutboxLeases } from "./leases.ts"
import { openDependencies, type OutboxDependencies } from "./dependencies.ts"
import { openReopening, type OutboxReopening } from "./reopening.ts"
import { decodeMetaRow } from "./rows.ts"
import { openTables, type OutboxTables } from "./tables.ts"
import { openWithdrawal, type OutboxWithdrawal } from "./withdrawal.ts"
import { openOutcomes, type OutboxOutcomes } from "./outcomes.ts"

export interface Outbox
  extends
    OutboxCommands,
    OutboxOutcomes,
    OutboxLeases,
    Pick<OutboxDependencies, "creatorsOf">,
    OutboxReopening,
    OutboxWithdrawal {
  /** Until what this gives ends it, all that is written here is stored together, or not at all. */
  readonly begin: OutboxTables["begin"]
  readonly get: (key: string) => string | undefined
  readonly set: (key: string, value: string) => void
  readonly close: () => void
}

/** The file at this path, made where there is none. */
export const openOutboxAt = (path: string): Outbox => {
  const db = new DatabaseSync(path, { timeout: 10_000 })
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on")
  return openOutbox(db)
}

/** Over an open database; tests keep one in memory across simulated crashes. */
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

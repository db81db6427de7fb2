/**
 * Examines a device: are its files undamaged, do the tables match the journal and the server, is no command missing?
 */
import { Effect } from "effect"
import { catalogue } from "../../../core/catalogue.ts"
import { projectJournal } from "../../../core/kernel/store/schema.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { writeMeta } from "../replica/local-tables.ts"
import { command_states } from "../outbox/command.ts"
import { compareWithServer } from "./compare.ts"
import { missing_advice, missingNow, missingText } from "./missing-commands.ts"
import { revertProvisional } from "../replica/provisional.ts"
import type { Remote } from "../remote.ts"
import { refill, type SyncParts } from "../sync.ts"

export interface Finding {
  readonly check: string
  readonly ok: boolean
  readonly detail: string
}
interface Parts extends Omit<SyncParts, "remote"> {
  readonly remote: Remote
}

/**
 * Checks the files, the tables against the journal and, unless `offline`, against the server. With `repair`, folds the
 * journal again where the tables differ from it, fills the replica anew where they differ from the server's, and
 * decides pending commands again. The outbox is never changed.
 */
export const examineDevice = async (
  parts: Parts,
  repair: boolean,
  offline = false
): Promise<ReadonlyArray<Finding>> => {
  const { outbox, replica, run } = parts
  const findings: Array<Finding> = []
  const file = await run(integrity)
  findings.push({ check: "replica file", ok: file === "ok", detail: file === "ok" ? "whole" : file })
  const missing = await run(missingNow(outbox))
  if (missing !== undefined) {
    // A repair would delete what the replica still knows of those commands.
    findings.push({
      check: "outbox numbers",
      ok: false,
      detail: `${missingText(missing)}. Nothing is recorded or sent until that is decided. ${missing_advice}`
    })
    return findings
  }
  const pending = outbox.pending()
  const numbers = command_states
    .flatMap((state) => outbox.byState(state))
    .map((command) => command.n)
    .sort((a, b) => a - b)
  const gap = numbers.find((n, at) => n !== numbers[0]! + at)
  findings.push({
    check: "outbox numbers",
    ok: gap === undefined,
    detail:
      gap === undefined ? `${numbers.length} commands, ${pending.length} pending` : `command ${gap - 1} is missing`
  })
  const { journal_from } = await run(replica.position)
  const differing = journal_from > 0 ? [] : await run(tablesAgainstJournal(repair))
  findings.push({
    check: "tables against journal",
    ok: differing.length === 0,
    detail:
      journal_from > 0
        ? `filled from rows at event ${journal_from}: what they came of is the server's to compare`
        : differing.length === 0
          ? "every row as folded"
          : `${differing.join(", ")} differ${repair ? "; folded again" : "; run flightcase doctor --repair"}`
  })
  if (!offline) findings.push(await againstServer(parts, repair))
  await run(replica.open)
  const stalled = await run(replica.stalled)
  findings.push({
    check: "pending commands",
    ok: stalled.length === 0,
    detail: stalled.length === 0 ? "all hold here" : `${stalled.length} no longer hold here: flightcase sync`
  })
  return findings
}

const againstServer = async (parts: Parts, repair: boolean): Promise<Finding> => {
  const check = "tables against server"
  const found = await compareWithServer(parts)
  if (found.kind === "unknown") return { check, ok: true, detail: `not compared: ${found.why}` }
  if (found.kind === "same")
    return {
      check,
      ok: true,
      detail: `${found.rows.toLocaleString("en")} rows alike at event ${(await parts.run(parts.replica.position)).position}`
    }
  if (repair) await refill(parts)
  return {
    check,
    ok: false,
    detail: `${found.tables.join(", ")} differ${repair ? "; filled anew, the outbox as it was" : "; run flightcase doctor --repair"}`
  }
}

const integrity = Effect.gen(function* () {
  const rows = yield* (yield* Store).run<{ integrity_check: string }>("pragma integrity_check(5)")
  return rows.map((row) => row.integrity_check).join("; ")
})

const dump = Effect.gen(function* () {
  const store = yield* Store
  const tables: { [name: string]: string } = {}
  for (const table of catalogue.tables) tables[table.name] = JSON.stringify(yield* store.find(table, {}))
  return tables
})

/** Carries the result of a check out of a transaction that is rolled back. */
class Examined extends Error {
  readonly differing: ReadonlyArray<string>
  constructor(differing: ReadonlyArray<string>) {
    super("examined")
    this.differing = differing
  }
}

/**
 * Reverts provisional changes, projects the confirmed journal into emptied tables and compares; commits only to repair.
 */
const tablesAgainstJournal = (repair: boolean) =>
  Effect.gen(function* () {
    const store = yield* Store
    return yield* store.transaction(
      Effect.gen(function* () {
        yield* revertProvisional(catalogue)
        const before = yield* dump
        for (const table of catalogue.tables) yield* store.run(`delete from "${table.name}"`)
        yield* projectJournal(catalogue)
        const after = yield* dump
        const differing = Object.keys(after).filter((name) => after[name] !== before[name])
        if (!repair || differing.length === 0) return yield* Effect.die(new Examined(differing))
        // Pending commands are decided again on opening.
        yield* writeMeta(store, "run_n", "0")
        return differing
      })
    )
  }).pipe(
    Effect.catchDefect((defect) => (defect instanceof Examined ? Effect.succeed(defect.differing) : Effect.die(defect)))
  )

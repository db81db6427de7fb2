/** Faults of a device: its outbox, its replica, and pulling. */
import type { Mutant } from "./mutant.ts"

const outbox = "sync/device/outbox/outbox.ts"
const [outbox_tables, outbox_commands] = ["sync/device/outbox/tables.ts", "sync/device/outbox/commands.ts"]
const [outbox_leases, outbox_needs] = ["sync/device/outbox/leases.ts", "sync/device/outbox/leases.ts"]
const outbox_reopening = "sync/device/outbox/outbox.ts"
const replica = "sync/device/replica/replica.ts"
const [pending_commands, pull] = ["sync/device/replica/replica-parts.ts", "sync/device/replica/pull.ts"]
const record_command = "sync/device/replica/record-command.ts"
const outbox_test = "test/sync/device/outbox/outbox.test.ts"
const damage_test = "test/sync/device/outbox/damage.test.ts"
const merge_test = "test/sync/protocol/merge.test.ts"
const fill_test = "test/sync/device/replica/fill.test.ts"
const broken_test = "test/sync/interruptions.test.ts"
const judged = "the plan for pulled events"

export const outbox_mutants: ReadonlyArray<Mutant> = [
  {
    name: "the outbox is not synced to disk when a command is acknowledged",
    file: outbox,
    within: "openOutboxAt",
    in_text: true,
    find: "pragma synchronous = full",
    replace: "pragma synchronous = off",
    killed_by: [
      { file: "test/sync/durability.test.ts", test: "an outbox is opened with synchronous commits" },
      { seeds: [1, 10] }
    ]
  },
  {
    name: "events that settle a command may be lost after the outbox dropped it",
    file: replica,
    within: "apply",
    find: "yield* applyStaged(parts, pulled) : yield* applyHere(parts, pulled)\n    }))",
    replace: "yield* applyStaged(parts, pulled) : yield* applyHere(parts, pulled)\n    })).pipe(relaxedDurability)",
    killed_by: [
      {
        file: "test/sync/durability.test.ts",
        test: "the replica commits synchronously when commands are settled, but not when one is recorded"
      }
    ]
  },
  {
    name: "after one transaction with relaxed durability all later ones are relaxed",
    file: "sync/sqlite/client.ts",
    within: "make",
    find: "waitFor(wanted ?? usual)",
    replace: "if (wanted !== undefined) waitFor(wanted)",
    killed_by: [
      {
        file: "test/sync/durability.test.ts",
        test: "a transaction with relaxed durability leaves later transactions durable, even if it fails"
      }
    ]
  },
  {
    name: "commands lost from the outbox are not noticed",
    file: "sync/device/outbox/replica-tables.ts",
    within: "missingBetween",
    find: "known > last ?",
    replace: "known < 0 ?",
    killed_by: [{ file: damage_test, test: "reports the lost numbers" }]
  },
  {
    name: "a command altered since it was acknowledged is accepted",
    file: "sync/device/outbox/tables.ts",
    within: "isIntact",
    find: "row.checksum === checksumOf(row)",
    replace: 'row.checksum !== ""',
    killed_by: [
      {
        file: damage_test,
        test: "is reported as damaged after a change (%s): nothing more is acknowledged, and the others are exported"
      }
    ]
  },
  {
    name: "a damaged outbox is salvaged without reading single pages",
    file: "sync/device/outbox/unsent.ts",
    within: "salvage",
    find: "for (const saved of byPages(path))",
    replace: "for (const saved of byPages(path).slice(0, 0))",
    killed_by: [{ file: damage_test, test: "acknowledges nothing, whichever page is damaged" }]
  },
  {
    name: "a command is acknowledged before it is in the outbox",
    file: record_command,
    within: "recordInside",
    find: "const { n } = yield* Effect.sync",
    replace: "const { n } = { n: outbox.lastN() + 1 }; ((late: () => unknown) => setTimeout(late, 500))",
    killed_by: [{ file: broken_test, test: "has each answered command in its outbox" }]
  },
  {
    name: "a command and its ids are stored in separate transactions",
    file: outbox_commands,
    within: "recordingOver",
    find: "const appended = transaction(",
    replace: "const appended = ((body: () => WireCommand) => body())(",
    killed_by: [{ file: outbox_test, test: "keep their ids if a command that uses some cannot be stored completely" }]
  },
  {
    name: "the lease cursor does not move with a command",
    file: outbox_commands,
    within: "recordingOver",
    find: "takeIds(command.ids)",
    replace: "void takeIds",
    killed_by: [{ file: outbox_test, test: "give out ids in order across blocks" }]
  },
  {
    name: "leases and their cursors are kept in memory only",
    file: outbox_tables,
    within: "openGuarded",
    find: "db.exec(schema)",
    replace: 'db.exec(schema); db.exec("create temp table leases as select * from main.leases")',
    killed_by: [{ file: outbox_test, test: "give out ids in order across blocks" }]
  },
  {
    name: "a lease received twice starts again at its first id",
    file: outbox_leases,
    within: "blocksOver",
    in_text: true,
    find: "values (?, ?, ?, ?) on conflict do nothing",
    replace: "values (?, ?, ?, ?) on conflict (entity, first) do update set next = excluded.next",
    killed_by: [{ file: outbox_test, test: "are stored once when received twice" }]
  },
  {
    name: "the next block is requested under the same number",
    file: outbox_leases,
    within: "blocksOver",
    find: ".run(entity, request_no + 1)",
    replace: ".run(entity, request_no)",
    killed_by: [{ file: outbox_test, test: "are requested under increasing numbers" }]
  },
  {
    name: "a later verdict replaces an earlier one",
    file: outbox_commands,
    within: "settlingOver",
    in_text: true,
    find: "update commands set state = ?, error = ?, cause = ? where n = ? and state = 'pending'",
    replace: "update commands set state = ?, error = ?, cause = ? where n = ?",
    killed_by: [{ file: outbox_test, test: "keep their first verdict: a later one changes nothing" }]
  },
  {
    name: "a command does not name the pending commands it depends on",
    file: outbox_needs,
    within: "openDependencies",
    find: 'makers.set(Number(maker["n"]), String(maker["id"]))',
    replace: "void maker",
    killed_by: [{ file: outbox_test, test: "depend on the pending commands that created the rows they name" }]
  },
  {
    name: "a conflict that was resolved can be resolved again",
    file: outbox_commands,
    within: "resolvingOver",
    in_text: true,
    find: "where id = ? and (state = 'held' or (state = 'rejected' and ? <> 'released'))",
    replace: "where id = ? and (? <> '')",
    killed_by: [{ file: outbox_test, test: "can be resolved once" }]
  },
  {
    name: "commands that a restored server lost are not sent again",
    file: "sync/device/exchange/sync.ts",
    within: "begin",
    find: "const reopened = forgotten && outbox.reopen",
    replace: "const reopened = false && forgotten && outbox.reopen",
    killed_by: [
      {
        file: "test/sync/fill-restored.test.ts",
        test: "receives each command lost by the restore again, once, from a device filled %s",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "ids of blocks that a restored server does not know are still used",
    file: outbox_reopening,
    within: "openReopening",
    find: "if (!known) prepared",
    replace: "if (false) prepared",
    killed_by: [{ file: outbox_test, test: "give out no more ids of blocks that a restored server does not know" }]
  }
]

export const replica_mutants: ReadonlyArray<Mutant> = [
  {
    name: "a command is settled by the response to the push, not by the pull",
    file: "sync/device/exchange/sync.ts",
    within: "push",
    find: "sent += verdicts.length",
    replace:
      "outbox.settle(verdicts.map(({ status, error }, at) => ({ n: pending[sent + at]!.n, status, error })))\n    sent += verdicts.length",
    killed_by: [{ file: broken_test, test: "keeps a command pending until its events are pulled" }]
  },
  {
    name: "the offset is stored before the events up to it are applied",
    file: replica,
    within: "apply",
    find: "const applied = store.transaction",
    replace:
      'yield* store.transaction(writeMeta(store, "offset", pulled.offset))\n    const applied = store.transaction',
    killed_by: [{ file: broken_test, test: "resumes a pull whose chunk was not stored" }, { seeds: [1, 5] }]
  },
  {
    name: "the handle is not stored with the offset",
    file: pull,
    within: "saveCursor",
    find: 'yield* writeMeta(store, "handle", pulled.handle)\n    if (pulled.up_to_date)',
    replace: "if (pulled.up_to_date)",
    killed_by: [{ file: fill_test, test: "pulls only later events once filled", engine: "sqlite" }]
  },
  {
    name: "pending commands are not decided again after a pull",
    file: pending_commands,
    within: "redecide",
    find: "for (const command of due) yield* redecideOne(parts, command, viewer)",
    replace: "",
    killed_by: [{ file: broken_test, test: "with the row ids it was first given" }]
  },
  {
    name: "an interrupted pull reverts pending commands and does not decide them again",
    file: pull,
    within: "applyHere",
    find: 'yield* writeMeta(store, "run_n", "0")\n    yield* projectEvents(catalogue, events)',
    replace: "yield* projectEvents(catalogue, events)",
    killed_by: [{ file: broken_test, test: "keeps a command pending until its events are pulled" }]
  },
  {
    name: "pending commands are invisible after an interrupted pull",
    file: replica,
    within: "ask",
    find: "if (yield* hasDueCommands(outbox)) yield* relaxedDurability(Store.transaction(runDue(parts)))",
    replace:
      "if (yield* Effect.as(hasDueCommands(outbox), false)) yield* relaxedDurability(Store.transaction(runDue(parts)))",
    killed_by: [{ file: broken_test, test: "keeps a command pending until its events are pulled" }]
  },
  {
    name: "a command decided again draws other ids",
    file: pending_commands,
    within: "runAgain",
    find: "decide(call, command.id, command)",
    replace: "decide(call, command.id, { ...command, ids: {} })",
    killed_by: [{ file: broken_test, test: "with the row ids it was first given" }]
  },
  {
    name: "verdicts found in the journal do not reach the outbox",
    file: pull,
    within: "saveVerdicts",
    in_text: true,
    find: "insert or replace into verdicts (n, status, error) values (?, ?, ?)",
    replace: "insert or replace into verdicts (n, status, error) select ?, ?, ? where 0",
    killed_by: [
      { file: "test/sync/device/device.test.ts", test: "records while the server is unreachable", engine: "sqlite" }
    ]
  },
  {
    name: "a new history is filled in without removing the old one",
    file: replica,
    within: "apply",
    find: "yield* applyStaged(parts, pulled) : yield* applyHere(parts, pulled)",
    replace: "yield* applyHere(parts, pulled) : yield* applyHere(parts, pulled)",
    killed_by: [
      {
        file: "test/sync/protocol/redaction.test.ts",
        test: "lose data with a permission and get it back",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "an event is applied twice",
    file: "sync/protocol/merge.ts",
    within: "merge",
    find: "batch.events.filter((event) => event.position > state.position)",
    replace: "[...batch.events]",
    killed_by: [{ file: merge_test, test: judged }]
  },
  {
    name: "events out of order are applied",
    file: "sync/protocol/merge.ts",
    within: "merge",
    find: "if (batch.events[at]!.position <= batch.events[at - 1]!.position)",
    replace: "if (batch.events[at]!.position < 0)",
    killed_by: [{ file: merge_test, test: judged }]
  },
  {
    name: "a command's own events do not settle it when a chunk ends before its verdict",
    file: "sync/protocol/merge.ts",
    within: "settledBy",
    find: "if (command === undefined || settled.has(command.n)) continue",
    replace: "if (command === undefined || settled.has(command.n) || event.type !== commandDecided.type) continue",
    killed_by: [{ file: merge_test, test: judged }]
  },
  {
    name: "provisional changes are reverted to the newest image of a row",
    file: "sync/device/outbox/replica-tables.ts",
    within: "revertProvisional",
    in_text: true,
    find: "from undo order by seq desc",
    replace: "from undo order by seq",
    killed_by: [{ file: broken_test, test: "reverts pending commands without a trace" }]
  },
  {
    name: "rows created provisionally stay when they are reverted",
    file: "sync/device/outbox/replica-tables.ts",
    within: "revertProvisional",
    find: "rows.map(({ row_key, table }) => (",
    replace: "rows.filter(({ before }) => before !== null).map(({ row_key, table }) => (",
    killed_by: [{ file: broken_test, test: "reverts pending commands without a trace" }]
  },
  {
    name: "provisional events stay in the journal",
    file: "sync/device/outbox/replica-tables.ts",
    within: "revertProvisional",
    find: 'yield* store.run("delete from journal where position >= ?", [provisional_base])',
    replace: "",
    killed_by: [{ file: broken_test, test: "reverts pending commands without a trace" }]
  },
  {
    name: "rows changed by a condition are not saved for reverting",
    file: "core/kernel/store/store.ts",
    within: "imagesBeforeBy",
    find: "find(one.table, one.where)",
    replace: "Effect.succeed([])",
    killed_by: [
      {
        file: "test/core/kernel/store/store.test.ts",
        test: "are returned as they were before a change",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "reads stay kept after another process changed the replica",
    file: pending_commands,
    within: "makeKeptReads",
    find: "if (data_version !== version || ",
    replace: "if (",
    killed_by: [
      {
        file: "test/sync/device/replica/kept-reads.test.ts",
        test: "follows the rights and definitions that a sync or another process brought since the last one",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "reads of rows that a transaction wrote are kept although it is rolled back",
    file: pending_commands,
    within: "makeKeptReads",
    find: "if (writes.last(table) <= begun && kept.size < reads_kept_max) kept.set(name, { at: begun, result })",
    replace: "kept.set(name, { at: writes.count(), result })",
    killed_by: [
      {
        file: "test/sync/device/replica/kept-reads.test.ts",
        test: "sees nothing of a planned or refused one",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "an update sends unchanged fields, too, and overwrites others' changes",
    file: record_command,
    within: "decidePatch",
    find: "const own = yield* toPatch(catalogue, call, instantOf(yield* Clock.currentTimeMillis))",
    replace: "const own = yield* Effect.as(toPatch(catalogue, call, instantOf(yield* Clock.currentTimeMillis)), call)",
    killed_by: [
      {
        file: "test/sync/device/resolutions/conflicts.test.ts",
        test: "merge if they edit other fields of a row",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a person anonymised on the server stays in the device's journal",
    file: pull,
    within: "projectEvents",
    find: "yield* scrubEarlierEvents(store, catalogue.scrubs, events, isWithheldIn(catalogue.tables))",
    replace: "",
    killed_by: [
      { file: "test/sync/erasure.test.ts", test: "removes the person from the journal of the device that created them" }
    ]
  },
  {
    name: "removed data stays in the device's write-ahead log",
    file: pull,
    within: "projectEvents",
    find: "if (scrubsOf(catalogue.scrubs, events).length > 0) yield* purgeLater(store)",
    replace: "",
    killed_by: [
      { file: "test/sync/protocol/redaction.test.ts", test: "keeps no bytes of an anonymised person", engine: "sqlite" }
    ]
  },
  {
    name: "a fill misses rows created in tables it has already read",
    file: "sync/device/replica/fill.ts",
    within: "isThere",
    find: "if (done.includes(table.name)) return true",
    replace: "if (done.includes(table.name)) return false",
    killed_by: [
      {
        file: fill_test,
        test: "has the server's rows as of one journal position, even if they change between pages",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "verdicts from before a fill are not received",
    file: "sync/device/replica/fill.ts",
    within: "beginFill",
    find: "settled: plan.decided.map",
    replace: "settled: plan.decided.slice(0, 0).map",
    killed_by: [{ file: fill_test, test: "receives the verdicts recorded before the rows were read", engine: "sqlite" }]
  },
  {
    name: "a page of a fill is stored even if the fill has moved on",
    file: "sync/device/replica/fill.ts",
    within: "stagePage",
    find: "filling.handle !== requested.handle || filling.offset !== requested.offset || filling.after !== requested.after",
    replace: "false",
    killed_by: [{ file: broken_test, test: "stores a page of server rows once when it arrives twice" }]
  },
  {
    name: "two syncs of one folder run concurrently",
    file: "sync/device/exchange/server-session.ts",
    within: "lockSync",
    find: 'try { lock.exec("pragma journal_mode = memory; begin exclusive") }',
    replace: 'try { lock.exec("begin") }',
    killed_by: [{ file: broken_test, test: "refuses a second sync of its folder while one runs" }]
  },
  {
    name: "a bundle signed by another server is accepted",
    file: "sync/device/bundle.ts",
    within: "openBundle",
    find: "profile.server_key === undefined || !isSignedBy(sealed, profile.server_key)",
    replace: "profile.server_key === undefined",
    killed_by: [{ file: "test/sync/device/bundle.test.ts", test: "is refused completely if altered", engine: "sqlite" }]
  }
]

/** Faults of the engine, journal and store, and of rules that server and device share. */
import type { Mutant } from "./mutant.ts"

const engine = "core/kernel/runtime/engine.ts"
const engine_test = "test/core/kernel/engine.test.ts"
const push_test = "test/sync/server/push.test.ts"
const concurrency_test = "test/core/kernel/journal-concurrency.test.ts"
const races_test = "test/api/opportunity-races.test.ts"

export const kernel_mutants: ReadonlyArray<Mutant> = [
  {
    name: "a command is decided outside a transaction",
    file: engine,
    within: "runCommand",
    find: "Store.transaction(decideCommand(call, command_metadata, true))",
    replace: "decideCommand(call, command_metadata, true)",
    killed_by: [{ file: engine_test, test: "a defect in", engine: "sqlite" }]
  },
  {
    name: "a device's refused command keeps rows written before the refusal",
    file: engine,
    within: "decideInSavepoint",
    find: "refusal_ends ? decided : Store.transaction(decided)",
    replace: "decided",
    killed_by: [
      {
        file: "test/sync/atomic-verdicts.test.ts",
        test: "rolls back the command's rows if it refuses the command",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a duplicate value in a device's command is a server error, not a refusal",
    file: engine,
    within: "decideInSavepoint",
    find: "return yield* refusal ?? failure",
    replace: "return yield* failure",
    killed_by: [{ file: push_test, test: "leave only their verdict if refused", engine: "sqlite" }]
  },
  {
    name: "streams are not locked, and one of two concurrent changes is lost",
    file: engine,
    within: "decideAndRecord",
    find: "yield* lockCommandStreams(endpoint, call)",
    replace: "",
    killed_by: [{ file: races_test, test: "change one opportunity's lines", engine: "pg" }]
  },
  {
    name: "streams are locked in the order they are given",
    file: "core/kernel/runtime/locks.ts",
    within: "inOrder",
    find: ".sort()",
    replace: "",
    killed_by: [
      {
        file: "test/core/kernel/lock-order.test.ts",
        test: "a writer that waits for its first stream has not locked its other streams"
      }
    ]
  },
  {
    name: "a command waits for a lock while it holds others",
    file: "core/kernel/runtime/locks.ts",
    within: "lockIfFree",
    find: "if (wanted === undefined || wanted.waits)",
    replace: "if (wanted !== undefined)",
    killed_by: [
      {
        file: "test/core/kernel/lock-order.test.ts",
        test: "two writers that need each other's locks do not deadlock: one restarts and waits for both"
      }
    ]
  },
  {
    name: "commands that claim the same goods do not wait for each other",
    file: "core/orders/opportunities/state/load.ts",
    within: "lockStock",
    find: "lockClaims(claimed, wanted)",
    replace: "lockClaims([], wanted)",
    killed_by: [
      {
        file: "test/api/shortage-races.test.ts",
        test: "mark both of two orders for the last piece as short",
        engine: "pg"
      }
    ]
  },
  {
    name: "permissions are not checked",
    file: "core/kernel/runtime/prepare.ts",
    within: "authorizeCall",
    find: "checkPermission(endpoint, viewer)",
    replace: "Effect.void",
    killed_by: [
      {
        file: engine_test,
        test: "report an inactive user, missing permission or missing ability before an invalid body, also to the owner",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "references to deleted rows are accepted",
    file: "core/kernel/runtime/prepare.ts",
    within: "missingReferences",
    find: 'if (row === undefined || (one.live && table.soft_delete && row["deleted_at"] !== null)) errors',
    replace: "if (row === undefined) errors",
    killed_by: [
      {
        file: engine_test,
        test: "are rejected anywhere in the body if the row is missing or deleted",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "positions come from a sequence without a lock",
    file: "core/kernel/events/journal.ts",
    within: "appendInOneStatement",
    // Any order works; the tests' Store has this one.
    find: "`head as (update journal_head set position = position + ${bind(count)} where id = 1 returning position), `",
    replace: "`head as (select max(nextval('ids_lamps')) as position from generate_series(1, ${bind(count)}::int)), `",
    killed_by: [
      {
        file: concurrency_test,
        test: "a reader that follows positions sees every event of eight writers, and each stream's versions in order"
      }
    ]
  },
  {
    name: "two events of one command get one version",
    file: "core/kernel/events/journal.ts",
    within: "appendInOneStatement",
    find: "1 + events.slice(0, index).filter((before) => before.stream === stream).length",
    replace: "1",
    killed_by: [
      {
        file: engine_test,
        test: "numbers positions from one without gaps, and versions within each stream",
        engine: "pg"
      }
    ]
  },
  {
    name: "two of a command's many events get one version",
    file: "core/kernel/events/journal.ts",
    within: "appendInSteps",
    find: "versions.set(stream, version)\n    const position",
    replace: "const position",
    killed_by: [
      {
        file: engine_test,
        test: "numbers positions from one without gaps, and versions within each stream",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "anonymising a person leaves them in older events",
    file: "core/kernel/events/journal.ts",
    within: "appendAndScrub",
    find: "yield* scrubEarlierEvents(store, scrubs, stored)",
    replace: "",
    killed_by: [
      {
        file: "test/core/people/members/personal-data.test.ts",
        test: "is erased from the record, its contacts and every older event, also of merged duplicates",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "anonymising a person leaves events of members merged into them",
    file: "core/people/personal-data/erase.ts",
    within: "eraseFromJournal",
    find: "...[id, ...merged_ids].map",
    replace: "...[id].map",
    killed_by: [
      {
        file: "test/core/people/members/personal-data.test.ts",
        test: "is erased from the record, its contacts and every older event, also of merged duplicates",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "anonymising a person leaves their personal custom fields in older events",
    file: "core/people/personal-data/erase.ts",
    within: "eraseFromJournal",
    find: "kept_custom_fields === undefined ? {}",
    replace: "kept_custom_fields !== undefined ? {}",
    killed_by: [
      {
        file: "test/core/people/members/personal-data.test.ts",
        test: "is erased in custom fields that are personal or deleted, and stays in others",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "anonymising a person with an active account erases half of the data",
    file: "core/people/members/decide.ts",
    within: "anonymiseMember",
    find: "if (user?.is_active === true)",
    replace: "if (user?.is_active === undefined && user !== undefined)",
    killed_by: [
      {
        file: "test/core/people/members/personal-data.test.ts",
        test: "cannot be erased while the account is in use; later the user's name and e-mail address are erased, too",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "returned ids are drawn again even if later ones were drawn",
    file: "core/kernel/runtime/ids.ts",
    within: "releaseIds",
    in_text: true,
    find: "update id_sequences set next = next - ? where name = ? and next = ?",
    replace: "update id_sequences set next = next - ? where name = ? and ? > 0",
    killed_by: [
      {
        file: "test/core/kernel/ids.test.ts",
        test: "are reused after release only on SQLite, and only if no later id was allocated"
      }
    ]
  },
  {
    name: "a transaction is not started",
    file: "core/kernel/store/store.ts",
    within: "make",
    find: "if (known === undefined) return sql.withTransaction(effect)",
    replace: "if (known === undefined) return effect as never",
    killed_by: [{ file: engine_test, test: "a defect in", engine: "sqlite" }]
  },
  {
    name: "a row that a savepoint changed among others stays as it was remembered before",
    file: "core/kernel/store/store.ts",
    within: "make",
    find: "      known.clear()\n      return Effect.tap",
    replace: "      return Effect.tap",
    killed_by: [
      {
        file: "test/core/kernel/store/store.test.ts",
        test: "read by key equal the stored ones after every kind of change in the same transaction",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "changes to rows waiting for insertion are lost",
    file: "core/kernel/store/batch-writer.ts",
    within: "collectUpdate",
    find: "inserts.set(key, changed(table, row, set))",
    replace: "inserts.set(key, row)",
    killed_by: [
      {
        file: "test/core/kernel/store/batch-writer.test.ts",
        test: "leave the same rows as single changes, existing rows included",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "SQLite commits return before they are on disk",
    file: "sync/sqlite/client.ts",
    within: "make",
    find: 'options.synchronous ?? "full"',
    replace: 'options.synchronous ?? "normal"',
    killed_by: [{ file: "test/sync/sqlite/client.test.ts", test: "uses a write-ahead log" }]
  },
  {
    name: "transactions of one server do not wait for each other on SQLite",
    file: "sync/sqlite/client.ts",
    within: "make",
    find: "semaphore: Semaphore.makeUnsafe(1)",
    replace: "semaphore: Semaphore.makeUnsafe(99)",
    killed_by: [{ seeds: [1, 10] }]
  },
  {
    name: "two processes on one SQLite file both begin by reading",
    file: "sync/sqlite/client.ts",
    within: "make",
    find: 'options.readOnly === true ? "BEGIN" : "BEGIN IMMEDIATE"',
    replace: 'options.readOnly === true ? "BEGIN" : "BEGIN DEFERRED"',
    killed_by: [
      {
        file: "test/sync/sqlite/client.test.ts",
        test: "waits for a transaction or a single write without blocking the process"
      }
    ]
  }
]

export const rule_mutants: ReadonlyArray<Mutant> = [
  {
    name: "the database accepts overlapping claims of one unit",
    file: "core/orders/demands/schema.ts",
    within: "demands",
    find: 'no_overlap: [{ name: "claims_asset_overlap", key: "asset_id", from: "buffered_starts_at", to: "buffered_ends_at", active: "is_active" }]',
    replace: "no_overlap: []",
    killed_by: [
      {
        file: "test/core/orders/demands/overlap.test.ts",
        test: "rejects overlapping demands of one unit, and accepts adjoining, inactive and other units' demands",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "SQLite lets a claim be moved over another one",
    file: "core/kernel/store/statement.ts",
    within: "overlapTriggers",
    find: '(["insert", "update"] as const).map',
    replace: '(["insert"] as const).map',
    killed_by: [
      {
        file: "test/core/orders/demands/overlap.test.ts",
        test: "rejects moving or reactivating a demand if another one has the unit at that time",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "SQLite treats adjacent claims as overlapping",
    file: "core/kernel/store/statement.ts",
    within: "overlapTriggers",
    in_text: true,
    find: "other.${quote(rule.to)} > new.${quote(rule.from)}); end`",
    replace: "other.${quote(rule.to)} >= new.${quote(rule.from)}); end`",
    killed_by: [
      { file: engine_test, test: "accept adjoining windows of one lamp, and reject overlapping ones", engine: "sqlite" }
    ]
  },
  {
    name: "Postgres treats adjacent claims as overlapping",
    file: "core/kernel/store/statement.ts",
    within: "overlapConstraint",
    in_text: true,
    find: "tstzrange(${quote(rule.from)}, ${quote(rule.to)}, '[)') with &&",
    replace: "tstzrange(${quote(rule.from)}, ${quote(rule.to)}, '[]') with &&",
    killed_by: [
      { file: engine_test, test: "accept adjoining windows of one lamp, and reject overlapping ones", engine: "pg" }
    ]
  },
  {
    name: "the rules do not see which order holds a unit",
    file: "core/orders/opportunities/state/demands.ts",
    within: "conflictingHold",
    find: "demand.asset_id === stock_level_id && demand.is_active && meets",
    replace: "demand.asset_id === stock_level_id && !demand.is_active && meets",
    killed_by: [
      {
        file: "test/core/orders/opportunities/units/allocation.test.ts",
        test: "is rejected for a unit reserved for overlapping dates, naming the unit and the order",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "tax is rounded line by line instead of once for its group",
    file: "core/pricing/pricing/totals.ts",
    within: "taxGroups",
    find: "tax: exclusiveTax(group.net, group.percentage).tax",
    replace:
      "tax: sum(taxables.flat().filter((one) => one.product_tax_class_id === group.product_tax_class_id).map((one) => exclusiveTax(one.net, group.percentage).tax))",
    killed_by: [{ file: "test/core/pricing/pricing/totals.test.ts", test: "taxes each class once on its sum" }]
  },
  {
    name: "optional lines are charged for",
    file: "core/pricing/pricing/totals.ts",
    within: "rollUp",
    find: "request.lines.filter((line) => !line.is_optional)",
    replace: "request.lines.filter(() => true)",
    killed_by: [{ file: "test/core/pricing/pricing/totals.test.ts", test: "leaves optional lines and costs out" }]
  },
  {
    name: "a refused scan leaves the allocation it made first",
    file: "core/warehouse/scanning/unit-out.ts",
    within: "sentFirst",
    find: "moveUnits( placed.after, [{ unit: placed.unit, field: wanted.field }], [preparingUnprepared(wanted.at), out], context )",
    replace:
      "Result.succeed(Result.getOrElse(moveUnits(placed.after, [{ unit: placed.unit, field: wanted.field }], [preparingUnprepared(wanted.at), out], context), () => ({ events: [], result: { id: 0, assignment_id: null, _meta: null } })))",
    killed_by: [
      {
        file: "test/core/warehouse/scanning/scan.test.ts",
        test: "rejects a dispatch on a quotation, and leaves no allocation",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a unit leaves a sealed case and the case stays sealed",
    file: "core/warehouse/containers/booking.ts",
    within: "sealsBroken",
    find: "return [sealBroken(container, reason, context)]",
    replace: "return []",
    killed_by: [
      {
        file: "test/core/warehouse/scanning/cases.test.ts",
        test: "requires confirmation for a unit in a sealed case, and records the broken seal",
        engine: "sqlite"
      },
      {
        file: "test/core/warehouse/containers/reactions.test.ts",
        test: "breaks the seal of a box that a unit leaves, and names the order"
      }
    ]
  },
  {
    name: "a seal is broken without confirmation",
    file: "core/warehouse/scanning/unit-out.ts",
    within: "takingOut",
    find: "if (sealed.length > 0 && !break_seal && !is_free)",
    replace: "if (sealed.length > 99 && !break_seal && !is_free)",
    killed_by: [
      {
        file: "test/core/warehouse/scanning/cases.test.ts",
        test: "requires confirmation for a unit in a sealed case, and records the broken seal",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a returned part of a kit is claimed again with the rest of the kit",
    file: "core/orders/availability/rules/line-demands.ts",
    within: "demandsOfUnits",
    find: "Math.min(asked.left, asked.all - back)",
    replace: "Math.min(asked.left, asked.all)",
    killed_by: [
      {
        file: "test/core/warehouse/scanning/scan.test.ts",
        test: "counts a kit's serialised part on the kit's line once, and finds it again on return",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a unit out with one order is booked out with another",
    file: "core/orders/opportunities/units/lifecycle.ts",
    within: "notOutElsewhere",
    find: "return holder === undefined",
    replace: "return holder !== null",
    killed_by: [
      {
        file: "test/core/orders/opportunities/units/allocation.test.ts",
        test: "lets a kit's unit be dispatched with one order at a time, although only its parts are reserved",
        engine: "sqlite"
      }
    ]
  }
]

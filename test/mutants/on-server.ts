/** Faults of the server: verdicts, leased ids, visibility, cursors, bundles, stored responses. */
import type { Mutant } from "./mutant.ts"

const push = "sync/server/push.ts"
const push_test = "test/sync/server/push.test.ts"
const following_test = "test/sync/server/following.test.ts"
const shape_test = "test/sync/server/shape.test.ts"
const redaction = "sync/protocol/redaction.ts"
const redaction_test = "test/sync/protocol/redaction.test.ts"
const channels_test = "test/sync/protocol/redaction-channels.test.ts"
const fill_test = "test/sync/device/replica/fill.test.ts"
const bundle_test = "test/sync/device/bundle.test.ts"

export const verdict_mutants: ReadonlyArray<Mutant> = [
  {
    name: "the verdict is not stored",
    file: push,
    within: "decideNew",
    find: '{ op: "insert", table: replica_verdicts, row },',
    replace: "",
    killed_by: [
      {
        file: push_test,
        test: "get the same verdicts and change nothing when sent again, in part or completely",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a command sent twice is decided twice",
    file: push,
    within: "decideOnce",
    find: "const known = yield* Store.get",
    replace: "const known = command.n > 0 ? undefined : yield* store.get",
    killed_by: [
      {
        file: push_test,
        test: "get the same verdicts and change nothing when sent again, in part or completely",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "another command with a used id gets the earlier command's verdict",
    file: push,
    within: "decideOnce",
    find: "const other = known !== undefined && known.fingerprint !== fingerprint && textDigest(known.fingerprint) !== fingerprint",
    replace: 'const other = known !== undefined && known.fingerprint === ""',
    killed_by: [
      { file: push_test, test: "are refused with an id the device used for another command", engine: "sqlite" }
    ]
  },
  {
    name: "a verdict is stored by the command's id without its device",
    file: "sync/server/tables.ts",
    within: "verdictKey",
    find: "`${replica_id}:${command_id}`",
    replace: "`${Math.sign(replica_id)}:${command_id}`",
    killed_by: [{ file: push_test, test: "are decided separately if two devices send the same id", engine: "sqlite" }]
  },
  {
    name: "a long body is read before its sender is checked",
    file: "server/host/form.ts",
    within: "bodyFor",
    find: "yield* authorizeCall(caller); const announced",
    replace: "const announced",
    killed_by: [
      { file: "test/server/long-bodies.test.ts", test: "is refused unread without a token", engine: "sqlite" }
    ]
  },
  {
    name: "ids skipped for a device's claims are not counted",
    file: "sync/server/reclaim-leases.ts",
    within: "passOver",
    find: "passed: before + lengthOf(drawn)",
    replace: "passed: 0 * before",
    killed_by: [
      {
        file: "test/sync/server/reclaim-leases.long.test.ts",
        test: "advance a table's next id by at most 100 blocks",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "verdicts of the previous release are lost",
    file: "sync/server/api.ts",
    within: "syncSlice",
    find: "\n  migrations,",
    replace: "",
    killed_by: [{ file: "test/sync/used-ids.test.ts", test: "keeps its verdict after an upgrade", engine: "sqlite" }]
  },
  {
    name: "a gap in the command numbers is ignored",
    file: push,
    within: "decideOnce",
    find: "if (command.n > replica.last_n + 1)",
    replace: "if (command.n > replica.last_n + 1 && command.n < 0)",
    killed_by: [
      {
        file: push_test,
        test: "are left undecided after a missing command number, and earlier ones are decided",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "the number of the last command is not advanced",
    file: push,
    within: "movedOn",
    find: "{ last_n: n, seen_at: now }",
    replace: "{ seen_at: now }",
    killed_by: [{ file: push_test, test: "are decided in order with the ids drawn offline", engine: "sqlite" }]
  },
  {
    name: "a device's commands are decided concurrently",
    file: push,
    within: "decideOnce",
    find: "const replica = yield* requireOwnReplica(replica_id, viewer, true)",
    replace: "const replica = yield* requireOwnReplica(replica_id, viewer, false)",
    killed_by: [{ file: push_test, test: "are decided once if several requests push them at once", engine: "pg" }]
  },
  {
    name: "a command's effects and its verdict are committed apart",
    file: push,
    within: "decidePushed",
    find: "Store.transaction(decideOnce(replica_id, command, viewer, lost))",
    replace: "decideOnce(replica_id, command, viewer, lost)",
    killed_by: [
      { file: "test/sync/atomic-verdicts.test.ts", test: "is stored with the command's effects", engine: "sqlite" }
    ]
  },
  {
    name: "the journal does not hold the verdict",
    file: push,
    within: "recordVerdict",
    find: "}, replicaStream(replica_id))]",
    replace: '}, "nobody")]',
    killed_by: [{ file: push_test, test: "are decided in order with the ids drawn offline", engine: "sqlite" }]
  },
  {
    name: "a command that depends on a refused one is decided all the same",
    file: push,
    within: "decideNew",
    find: "const error = (yield* refusedNeed(replica.id, command)) ??",
    replace: "const error =",
    killed_by: [
      {
        file: push_test,
        test: "are rejected with 424 if they depend on a refused command, even indirectly",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "another device's refused command holds a command of this one",
    file: push,
    within: "refusedNeed",
    find: "getMany(replica_verdicts, needs.map((id) => verdictKey(replica_id, id)))",
    replace: "find(replica_verdicts, { id: needs })",
    killed_by: [{ file: push_test, test: "depend only on commands of their own device", engine: "sqlite" }]
  },
  {
    name: "ids leased to another device are accepted",
    file: push,
    within: "attempt",
    find: "if (foreign !== undefined) return",
    replace: "if (foreign !== undefined && foreign.id < 0) return",
    killed_by: [{ file: push_test, test: "with ids that are not leased or already used", engine: "sqlite" }]
  },
  {
    name: "a revoked device can push",
    file: push,
    within: "requireOwnReplica",
    find: "if (replica.revoked_at !== null) return",
    replace: 'if (replica.revoked_at === "never") return',
    killed_by: [
      { file: push_test, test: "are refused from an unknown, revoked or another user's device", engine: "sqlite" }
    ]
  },
  {
    name: "a revoked device's token still works",
    file: "sync/server/devices.ts",
    within: "revoke",
    find: "yield* tokens.end(device.token_id, input.viewer, now)",
    replace: "yield* Effect.void",
    killed_by: [{ file: "test/sync/server/devices.test.ts", test: "lose all access when revoked", engine: "sqlite" }]
  },
  {
    name: "a copied folder is not detected",
    file: "sync/server/devices.ts",
    within: "isCopy",
    find: "if (replica.last_n > last_n) return true",
    replace: "if (replica.last_n > last_n) return false",
    killed_by: [
      { file: "test/sync/server/devices.test.ts", test: "are detected if restored from an old copy", engine: "sqlite" }
    ]
  },
  {
    name: "a lease requested twice gives two blocks",
    file: "sync/server/reclaim-leases.ts",
    within: "lease",
    find: "if (known.length > 0) return",
    replace: "if (known.length > 1_000) return",
    killed_by: [{ file: push_test, test: "draw ids from leases: one block per request number", engine: "sqlite" }]
  },
  {
    name: "a bundle's signature is not checked",
    file: "sync/server/bundles.ts",
    within: "opened",
    find: "if (!(yield* Effect.promise(() => isSignedByInPieces(sealed, public_key)))) return",
    replace: 'if (sealed.signature === "") return',
    killed_by: [{ file: bundle_test, test: "is refused completely if altered", engine: "sqlite" }]
  },
  {
    name: "a bundle of a revoked device is refused for its token",
    file: "sync/server/bundles.ts",
    within: "opened",
    find: "if (replica.revoked_at !== null) return",
    replace: 'if (replica.revoked_at === "never") return',
    killed_by: [{ file: bundle_test, test: "is refused if its device was revoked", engine: "sqlite" }]
  },
  {
    name: "the response under an Idempotency-Key is stored outside the transaction",
    file: "server/access/idempotency/slice.ts",
    within: "once",
    find: "const answered = Store.transaction",
    replace: "const answered = ((body: ServerEndpoint<Answer>) => body)",
    killed_by: [
      {
        file: "test/sync/atomic-verdicts.test.ts",
        test: "is rolled back with its command if a retry took over the key",
        engine: "sqlite"
      }
    ]
  }
]

export const reader_mutants: ReadonlyArray<Mutant> = [
  {
    name: "events are sent with columns their reader may not see",
    file: redaction,
    within: "redactionFor",
    find: "data: keys === undefined ? event.data :",
    replace: "data: keys === undefined || keys.size > 0 ? event.data :",
    killed_by: [{ file: shape_test, test: "omits costs from events for users who may not see them", engine: "sqlite" }]
  },
  {
    name: "rows are sent with columns their reader may not see",
    file: redaction,
    within: "readerOf",
    find: "known.guarded.filter(({ by }) => !hasOnePermission(viewer, by))",
    replace: 'known.guarded.filter(({ by }) => by === "")',
    killed_by: [
      { file: redaction_test, test: "removes every guarded column" },
      { file: redaction_test, test: "never hold costs their user may not see", engine: "sqlite" }
    ]
  },
  {
    name: "events are sent unredacted if they change more than their reader sees",
    file: redaction,
    within: "redactionFor",
    find: "const told = hasOnePermission(viewer, full_read_permission) ? undefined : cutEvent(event)",
    replace: "const told = hasOnePermission(viewer, full_read_permission) || !whole ? undefined : cutEvent(event)",
    killed_by: [
      { file: redaction_test, test: "lose data with a permission and get it back", engine: "sqlite" },
      { file: redaction_test, test: "shows a colleague's name" }
    ]
  },
  {
    name: "events of tables outside the replica are sent to every device",
    file: redaction,
    within: "redactionFor",
    find: 'return type === commandDecided.type || (subject !== undefined && seen.get(subject) === "whole") ? undefined : "nothing"',
    replace: "return undefined",
    killed_by: [{ file: channels_test, test: "hold others' token names only with action-log.view" }]
  },
  {
    name: "a release that shows less leaves readers the data an earlier one showed",
    file: redaction,
    within: "shown",
    find: "JSON.stringify([parts, columns, kept])",
    replace: "JSON.stringify([parts.map(([name]) => name), kept.length])",
    killed_by: [
      {
        file: channels_test,
        test: "has a new fingerprint if a release shows readers more or less than the previous one"
      }
    ]
  },
  {
    name: "outcomes keep names that their user may no longer see",
    file: "sync/device/outbox/redact-outbox.ts",
    within: "redactOutcome",
    find: "label: is_named ? row :",
    replace: 'label: is_named || row.table !== "" ? row :',
    killed_by: [{ file: channels_test, test: "omit names the user may not see" }]
  },
  {
    name: "an anonymised user is still named in the outcomes of others' commands",
    file: "sync/device/outbox/redact-outbox.ts",
    within: "redactOutcome",
    find: '("actor" in entry ? { actor: renamed(entry.actor) } : {})',
    replace: '("actor" in entry ? { actor: entry.actor } : {})',
    killed_by: [
      { file: "test/sync/personal-traces.test.ts", test: "a user requires a deactivated account", engine: "sqlite" }
    ]
  },
  {
    name: "erased data stays in free pages of the server's file",
    file: "sync/sqlite/client.ts",
    within: "overwriteFreed",
    in_text: true,
    find: "pragma secure_delete = on",
    replace: "pragma secure_delete = off",
    killed_by: [
      { file: "test/sync/personal-traces.test.ts", test: "a contact removes every personal value", engine: "sqlite" }
    ]
  },
  {
    name: "erased data stays in the server's write-ahead log",
    file: "server/host/erased-bytes.ts",
    within: "erasedBytes",
    find: "yield* store.sql.afterCommit(tidy)",
    replace: "",
    killed_by: [
      { file: "test/sync/personal-traces.test.ts", test: "a contact removes every personal value", engine: "sqlite" }
    ]
  },
  {
    name: "tokens and devices keep the names an anonymised user gave them",
    file: "sync/server/tables.ts",
    within: "withoutNames",
    find: "replicas, { user_id },",
    replace: "replicas, { user_id: -user_id },",
    killed_by: [
      { file: "test/sync/personal-traces.test.ts", test: "a user requires a deactivated account", engine: "sqlite" }
    ]
  },
  {
    name: "an erased response is not rendered again",
    file: "server/access/idempotency/slice.ts",
    within: "bodyAgain",
    find: "const answer = result === undefined ? undefined :",
    replace: "const answer = result !== undefined ? undefined :",
    killed_by: [
      {
        file: "test/server/access/idempotency/idempotency.test.ts",
        test: "replay current rows after an erasure",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "an anonymised person stays in the outbox of devices",
    file: "sync/device/outbox/redact-outbox.ts",
    within: "redactionOfOutbox",
    find: "sent: erasures.scrubs.length === 0 ? undefined",
    replace: "sent: erasures.scrubs.length >= 0 ? undefined",
    killed_by: [{ file: channels_test, test: "keep no data of an anonymised person in their outbox" }]
  },
  {
    name: "a waiting reader receives events by its former permissions",
    file: "sync/server/shape.ts",
    within: "chunkOf",
    find: "const events = turned < 0 ? found : found.slice(0, turned + 1)",
    replace: "const events = turned < 0 || turned > -1 ? found : []",
    killed_by: [
      { file: channels_test, test: "receive no event that their user lost the permission to see while they waited" }
    ]
  },
  {
    name: "rows are sent in full if their reader may see a part of them",
    file: redaction,
    within: "redactionFor",
    find: 'of === "whole" ? row : blanked(table, of, row)',
    replace: 'of === "whole" || of.size > 0 ? row : blanked(table, of, row)',
    killed_by: [{ file: redaction_test, test: "drop colleagues' addresses", engine: "sqlite" }]
  },
  {
    name: "rows visible to their own user are sent to every user",
    file: redaction,
    within: "readerOf",
    find: 'table.visibility.by_row(row, viewer) ? "whole" : "none"',
    replace: 'table.visibility.by_row(row, viewer) || key !== "" ? "whole" : "none"',
    killed_by: [
      { file: redaction_test, test: "shows a personal view to its owner" },
      { file: redaction_test, test: "drop colleagues' addresses", engine: "sqlite" }
    ]
  },
  {
    name: "an erasure is not sent to readers who see a part of the person",
    file: redaction,
    within: "redactionFor",
    find: "redactedEventData(type, left.flat(), scrub)",
    replace: "redactedEventData(type, left.flat(), scrub === undefined ? scrub : undefined)",
    killed_by: [{ file: redaction_test, test: "keeps no bytes of an anonymised person", engine: "sqlite" }]
  },
  {
    name: "an erased name stays in the rows sent to devices in place of events",
    file: "core/kernel/events/journal.ts",
    within: "scrubbed",
    find: "if (!Array.isArray(changes)) return own",
    replace: "if (!Array.isArray(changes) || changes.length > 0) return own",
    killed_by: [{ file: redaction_test, test: "keeps no bytes of an anonymised person", engine: "sqlite" }]
  },
  {
    name: "a withheld unique column is sent empty",
    file: "core/kernel/tables/visibility.ts",
    within: "redactedValue",
    find: 'return type.kind === "text" ? `withheld ${key}` : -Number(key)',
    replace: 'return type.kind === "text" ? "withheld" : -1',
    killed_by: [{ file: "test/core/kernel/visibility.test.ts", test: "a user's permissions" }]
  },
  {
    name: "a device does not receive when a partly visible row was created",
    file: "core/kernel/tables/visibility.ts",
    within: "always_granted",
    find: 'const always_granted = ["created_at", "deleted_at"]',
    replace: 'const always_granted = ["deleted_at"]',
    killed_by: [
      {
        file: "test/sync/few-rights.long.test.ts",
        test: "accepts and refuses commands like the server, for the same reasons (%s)"
      }
    ]
  },
  {
    name: "an area's wildcard also covers permissions that begin like the area",
    file: "core/kernel/tables/visibility.ts",
    within: "hasPermission",
    find: "one.startsWith(area) && one !== `${area}access`",
    replace: "one.startsWith(area)",
    killed_by: [{ file: "test/core/kernel/visibility.test.ts", test: "a user's permissions" }]
  },
  {
    name: "a removed permission leaves its reader the data it showed",
    file: redaction,
    within: "redactionFor",
    find: "shown(catalogue, seen, guarded), ...viewer",
    replace: "shown(catalogue, new Map(), []), ...viewer",
    killed_by: [
      { file: shape_test, test: "gives readers a new, never used handle", engine: "sqlite" },
      {
        file: redaction_test,
        test: "hold no costs that they received before the permission was removed",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a restored permission brings the former handle back",
    file: "sync/server/tables.ts",
    within: "grantVersion",
    in_text: true,
    find: "version = reader_grants.version + case when reader_grants.fingerprint = excluded.fingerprint then 0 else 1 end",
    replace: "version = length(excluded.fingerprint)",
    killed_by: [{ file: "test/sync/server/cursor.test.ts", test: "is never used again when permissions are removed" }]
  },
  {
    name: "verdicts are sent to every device",
    file: redaction,
    within: "redactionFor",
    find: "if (event.type === commandDecided.type && event.replica_id !== replica_id) return undefined",
    replace: "if (event.type === commandDecided.type && event.replica_id === -1) return undefined",
    killed_by: [{ file: shape_test, test: "shows verdicts only to their own device", engine: "sqlite" }]
  },
  {
    name: "hidden events do not move the offset",
    file: "sync/server/shape.ts",
    within: "chunkOf",
    find: "const reached = upToDate ? Math.max(from, head, last?.position ?? 0) : lastOf(events).position",
    replace: "const reached = events.filter((one) => redaction.see(one) !== undefined).at(-1)?.position ?? from",
    killed_by: [
      {
        file: "test/sync/server/hidden-events.test.ts",
        test: "advance the offset of readers who may not see them",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "an offset of another journal with the same position is accepted",
    file: "sync/server/tables.ts",
    within: "isOffsetValid",
    find: "return event !== undefined && (check === 0 || check === checkOf(event))",
    replace: "return event !== undefined && check >= 0",
    killed_by: [
      {
        file: shape_test,
        test: "restarts readers if the journal was restored and has grown past them since",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a reader with another history's handle continues",
    file: "sync/server/shape.ts",
    within: "shapeAnswer",
    find: 'if (is_given && valueOf(query, "handle") !== handle) return mustRefetch(handle)',
    replace: 'if (handle === "") return mustRefetch(handle)',
    killed_by: [{ file: shape_test, test: "restarts readers with a stale or missing handle", engine: "sqlite" }]
  },
  {
    name: "a wake-up between checking and waiting is missed",
    file: "sync/server/shape.ts",
    within: "makeJournalTail",
    find: "if (wakes !== mark || isStopping()) return resume(Effect.void)",
    replace: "if (wakes < mark || isStopping()) return resume(Effect.void)",
    killed_by: [
      {
        file: "test/sync/server/tail.test.ts",
        test: "a wake-up between a reader's check of the journal and its wait is not missed"
      }
    ]
  },
  {
    name: "readers with other rights get the same answer",
    file: "sync/server/shape.ts",
    within: "chunkOf",
    find: "of_device, redaction.readers].join",
    replace: "of_device].join",
    killed_by: [{ file: following_test, test: "see what their own rights show of one event", engine: "sqlite" }]
  },
  {
    name: "an answer is shared by devices that get other verdicts",
    file: "sync/server/shape.ts",
    within: "chunkOf",
    find: "const of_device = events.some(is_own) ? replica_id : 0",
    replace: "const of_device = events.length < 0 ? replica_id : 0",
    killed_by: [{ file: following_test, test: "see verdicts on their own commands alone", engine: "sqlite" }]
  },
  {
    name: "a waiting reader is answered by rights that have ended",
    file: "sync/server/shape.ts",
    within: "shapeAnswer",
    find: "if (!chunk.is_current)",
    replace: "if (!chunk.is_current && handle === offset)",
    killed_by: [
      { file: channels_test, test: "receive no event that their user lost the permission to see while they waited" }
    ]
  },
  {
    name: "a stream goes on by rights that have ended",
    file: "sync/server/shape.ts",
    within: "streamFrom",
    find: "if (!is_current || is_turned ||",
    replace: "if (is_turned ||",
    killed_by: [
      { file: following_test, test: "receive nothing by a stream once their token expires", engine: "sqlite" }
    ]
  },
  {
    name: "a device is remembered whatever its caller may do now",
    file: "sync/server/shape.ts",
    within: "makeJournalTail",
    find: "isCurrent(known.viewer) && isCurrent(viewer) && isSameCaller(known.viewer, viewer)",
    replace: "isCurrent(known.viewer) && isCurrent(viewer)",
    killed_by: [
      {
        file: following_test,
        test: "receive nothing within a second of a change whose notice is lost",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a device is remembered for ever",
    file: "sync/server/shape.ts",
    within: "makeJournalTail",
    find: "performance.now() < known.read_at + live_wait_millis",
    replace: "performance.now() > known.read_at",
    killed_by: [
      {
        file: following_test,
        test: "are refused where another program revoked the device, once they have waited",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a reader is given what was read before a commit that woke it",
    file: "sync/server/shape.ts",
    within: "onceATurn",
    find: "const asked = `${mark} ${what}`",
    replace: "const asked = `${Math.min(0, mark)} ${what}`",
    killed_by: [
      { file: "test/sync/server/tail.test.ts", test: "a read is shared in one turn, but not with those woken after it" }
    ]
  },
  {
    name: "a page of rows begins one key too late",
    file: "sync/server/snapshot-api.ts",
    within: "sectionsAfter",
    find: "if (!done) return { position, sections, next: cursorOf(table.name, keyOf(table, lastOf(rows))) }",
    replace:
      'if (!done) return { position, sections, next: cursorOf(table.name, typeof lastOf(rows)[table.key] === "number" ? Number(lastOf(rows)[table.key]) + 1 : keyOf(table, lastOf(rows))) }',
    killed_by: [
      {
        file: fill_test,
        test: "has the server's rows as of one journal position, even if they change between pages",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a page of rows begins with the last row of the one before",
    file: "sync/server/snapshot-api.ts",
    within: "rowsAfter",
    find: "sql`where ${sql(table.key)} > ${key}`",
    replace: "sql`where ${sql(table.key)} >= ${key}`",
    killed_by: [
      {
        file: fill_test,
        test: "has the server's rows as of one journal position, even if they change between pages",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "events between two pages of rows are not sent with the page",
    file: "sync/server/snapshot-api.ts",
    within: "rowsAnswer",
    find: "const later = position > head ? yield* eventsAfter(store, head, position - head) : []",
    replace: "const later = position > head ? yield* eventsAfter(store, head, 0) : []",
    killed_by: [
      {
        file: "test/sync/server/hidden-events.test.ts",
        test: "are sent with the page of rows that was being read when they were recorded",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a webhook signed long ago is accepted",
    file: "server/ports/server-slice.ts",
    within: "isTimely",
    find: "&& Math.abs(now_millis / 1_000 - Number(seconds)) <= tolerance_seconds",
    replace: "&& now_millis / tolerance_seconds > 0",
    killed_by: [{ file: "test/server/delivery/inbound/signature.test.ts", test: "may differ from now by at most" }]
  },
  {
    name: "a repeated webhook is not detected",
    file: "server/delivery/inbound/slice.ts",
    within: "keep",
    find: "if (yield* Store.exists(inbound_deliveries, { source: source.name, delivery_id })) return",
    replace: "",
    killed_by: [
      {
        file: "test/server/delivery/inbound/inbound.test.ts",
        test: "are stored and handled once when twenty copies arrive",
        engine: "sqlite"
      }
    ]
  }
]

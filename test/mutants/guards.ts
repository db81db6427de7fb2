/** Faults in security: expiring rights, notices between servers, and database constraints. */
import type { Mutant } from "./mutant.ts"

const servers_test = "test/server/two-servers.test.ts"
const truths_test = "test/sync/database-constraints.test.ts"
const roles_test = "test/sync/roles.test.ts"
const leases_test = "test/sync/server/leases-at-once.test.ts"

export const guard_mutants: ReadonlyArray<Mutant> = [
  {
    name: "server-only commands are accepted from devices",
    file: "sync/server/push.ts",
    within: "attempt",
    find: "|| endpoint.server_only",
    replace: "",
    killed_by: [
      {
        file: "test/sync/server-only.test.ts",
        test: "has each of these commands refused by name, without effect",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "a file uploaded by one user opens to any user who knows its SHA-256",
    file: "sync/server/tables.ts",
    within: "keyOf",
    find: "`${user_id}:${sha256}`",
    replace: '`${user_id > 0 ? "" : user_id}:${sha256}`',
    killed_by: [{ file: "test/sync/attachments.test.ts", test: "cannot be claimed by SHA-256 alone", engine: "sqlite" }]
  },
  {
    name: "a token is cached for a quarter of an hour",
    file: "server/access/tokens/authenticate.ts",
    within: "believed_millis",
    find: "const believed_millis = 900",
    replace: "const believed_millis = 900_000",
    killed_by: [{ file: servers_test, test: "apply within a second: %s", engine: "sqlite" }]
  },
  {
    name: "settings are cached for a quarter of an hour",
    file: "server/host/caches.ts",
    within: "believed_millis",
    find: "const believed_millis = 900",
    replace: "const believed_millis = 900_000",
    killed_by: [{ file: servers_test, test: "apply to settings within a second", engine: "sqlite" }]
  },
  {
    name: "other servers are not notified of changed rows that they cache",
    file: "server/host/caches.ts",
    within: "makeCommits",
    find: "peers?.notify(true)",
    replace: "void peers",
    killed_by: [{ file: servers_test, test: "show the new name of a cached row renamed at the other server" }]
  },
  {
    name: "other servers are notified of changes, but not of permissions",
    file: "server/host/caches.ts",
    within: "payloadOf",
    find: "settingsChanged ? wire.settings",
    replace: "settingsChanged === undefined ? wire.settings",
    killed_by: [{ file: servers_test, test: "refuse requests at one server with %s at the other" }]
  },
  {
    name: "a server ignores other servers' notifications of permissions",
    file: "server/host/app.ts",
    within: "followOthers",
    find: "mayChangeSettings(notice.payload)",
    replace: 'notice.payload === ""',
    killed_by: [{ file: servers_test, test: "refuse a device revoked at the other server" }]
  },
  {
    name: "bundles are decided as if their device's token had all abilities",
    file: "sync/server/bundles.ts",
    within: "userOf",
    find: "{ id: device.token_id!, abilities }",
    replace: '{ id: device.token_id!, abilities: ["*"] }',
    killed_by: [
      {
        file: "test/sync/device/bundle.test.ts",
        test: "is limited to the abilities of the token its device enrolled with",
        engine: "sqlite"
      }
    ]
  },
  {
    name: "another role with the same permissions leaves its reader the former role's rows",
    file: "sync/protocol/redaction.ts",
    within: "redactionFor",
    find: "...viewer.role_ids.toSorted((a, b) => a - b)",
    replace: "",
    killed_by: [{ file: "test/sync/server/cursor.test.ts", test: "changes with the user's role" }]
  },
  {
    name: "readers receive every row in full",
    file: "sync/protocol/redaction.ts",
    within: "readerOf",
    find: "[table, visibleColumnsOf(table, viewer)]",
    replace: '[table, "whole"]',
    killed_by: [
      {
        file: "test/sync/few-rights.long.test.ts",
        test: "answers queries like the server, and holds nothing beyond what its user may see (%s)"
      }
    ]
  },
  {
    name: "the server answers before Postgres has written the commit",
    file: "server/pg/connection.ts",
    within: "connectionConfig",
    in_text: true,
    find: '"-c TimeZone=UTC ',
    replace: '"-c synchronous_commit=off -c TimeZone=UTC ',
    killed_by: [
      { file: "test/server/killed.long.test.ts", test: "has every acknowledged write after Postgres is killed" }
    ]
  },
  {
    name: "two commands of one device may have one number",
    file: "sync/server/tables.ts",
    within: "replica_verdicts",
    find: 'columns: ["replica_id", "n"]',
    replace: 'columns: ["replica_id", "n", "id"]',
    killed_by: [
      { file: truths_test, test: "refuse a second verdict for one command number of a device", engine: "sqlite" },
      { file: truths_test, test: "refuse a second verdict for one command number of a device", engine: "pg" }
    ]
  },
  {
    name: "two events may be one version of a stream",
    file: "core/kernel/events/journal.ts",
    within: "journal",
    find: 'columns: ["stream", "version"]',
    replace: 'columns: ["stream", "version", "position"]',
    killed_by: [
      { file: truths_test, test: "refuse a second event for one version of a stream", engine: "sqlite" },
      { file: truths_test, test: "refuse a second event for one version of a stream", engine: "pg" }
    ]
  },
  {
    name: "concurrent lease requests do not wait for each other",
    file: "sync/server/reclaim-leases.ts",
    within: "lease",
    find: "yield* lockReplica(replica_id)",
    replace: "",
    killed_by: [
      { file: leases_test, test: "get one block over the network" },
      { file: leases_test, test: "get one block in a bundle" }
    ]
  },
  {
    name: "Warehouse may change ordered quantities, and so the price",
    file: "core/orders/opportunities/units/bulk.ts",
    within: "bulkActs",
    find: "!hasOnePermission(context.viewer, edit.permission)",
    replace: "hasOnePermission(context.viewer, edit.permission) && false",
    killed_by: [{ file: roles_test, test: "permit only the listed roles to %s", engine: "sqlite" }]
  },
  {
    name: "Warehouse may change lines and their prices",
    file: "core/orders/opportunities/lines/api.ts",
    within: "change",
    find: "...edit",
    replace: '...edit, permission: ["opportunities.edit", "opportunities.fulfil"]',
    killed_by: [{ file: roles_test, test: "permit only the listed roles to %s", engine: "sqlite" }]
  },
  {
    name: "users may create roles with permissions they lack",
    file: "core/people/users/api.ts",
    within: "rolesSlice",
    find: "!hasOnePermission(input.viewer, key)",
    replace: "false",
    killed_by: [{ file: "test/core/people/users/rights.test.ts", test: "can %s only with all permissions involved" }]
  },
  {
    name: "a token may request a login code for a user with more permissions",
    file: "core/kernel/endpoints/token-permissions.ts",
    within: "abilityLacking",
    find: 'viewer.abilities.has("*")',
    replace: "viewer.abilities.size > 0",
    killed_by: [
      {
        file: "test/server/people/access.test.ts",
        test: "cannot be sent to administrators with a token of fewer abilities"
      }
    ]
  },
  {
    name: "users may give others roles with permissions they lack",
    file: "core/people/users/permissions.ts",
    within: "missingRight",
    find: "!hasOnePermission(viewer, permission)",
    replace: "permission === undefined",
    killed_by: [{ file: "test/core/people/users/rights.test.ts", test: "can %s only with all permissions involved" }]
  }
]

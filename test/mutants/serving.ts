/** Faults of hosting: work blocked by a lock or a full disk that should continue. */
import type { Mutant } from "./mutant.ts"

const held_test = "test/server/storage-faults.long.test.ts"

export const serving_mutants: ReadonlyArray<Mutant> = [
  {
    name: "readers share connections with writers",
    file: "server/pg/client.ts",
    within: "make",
    find: "transactionAcquirer: acquirerFrom(transactions),",
    replace: "transactionAcquirer: acquirerFrom(statements),",
    killed_by: [{ file: held_test, test: "keeps writers waiting, but neither readers nor health", engine: "pg" }]
  },
  {
    name: "waits for locks have no limit",
    file: "server/pg/connection.ts",
    within: "connectionConfig",
    in_text: true,
    find: "-c lock_timeout=${limits.lock_timeout_ms}",
    replace: "-c lock_timeout=0",
    killed_by: [{ file: "test/server/pg/client.test.ts", test: "aborts statements that wait for a lock" }]
  },
  {
    name: "health checks share the connections of requests",
    file: "server/host/app.ts",
    within: "healthOf",
    find: "makeHealth(makeStore(yield* Postgres.make({ url: database.url, ...alone })), undefined)",
    replace: "makeHealth(yield* Store, undefined)",
    killed_by: [{ file: held_test, test: "answers while every connection waits for a table" }]
  },
  {
    name: "a full disk is reported as an unexpected error",
    file: "server/ports/storage-fault.ts",
    within: "of_sqlite",
    find: '13: "full",',
    replace: "",
    killed_by: [{ file: held_test, test: "refuses writes with 503 and the reason" }]
  },
  {
    name: "health reports a full disk for ever",
    file: "server/ports/health.ts",
    within: "makeHealth",
    find: "yield* tryAgain",
    replace: "",
    killed_by: [{ file: held_test, test: "refuses writes with 503 and the reason" }]
  },
  {
    name: "a second server starts on the same folder",
    file: "server/host/serve.ts",
    within: "holdFolder",
    find: "if (lock !== undefined) return lock",
    replace: "return lock ?? { release: () => {} }",
    killed_by: [
      {
        file: "test/server/start-and-stop.long.test.ts",
        test: "prints one clear line and exits with 1 while another server uses the folder, also through a link"
      }
    ]
  }
]

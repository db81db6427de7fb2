/** Faults of rate limits and quotas: requests beyond them, lost counts, double counts. */
import type { Mutant } from "./mutant.ts"

const minute_test = "test/server/limits/minute.test.ts"
const quota_test = "test/server/limits/quota.test.ts"
const servers_test = "test/server/limits/servers.test.ts"
const in_any_order = "in any order of requests and responses"

export const limit_mutants: ReadonlyArray<Mutant> = [
  {
    name: "each server counts requests by itself",
    file: "server/http/limits.ts",
    within: "makeLimits",
    find: 'rate: shared ? makeSharedRateLimiter({ take, failed: failed("requests a minute") }) : makeLocalRateLimiter()',
    replace: "rate: makeLocalRateLimiter()",
    killed_by: [{ file: servers_test, test: "admit %i sequential requests a minute, and report how many are left" }]
  },
  {
    name: "a process reserves more requests than remain",
    file: "server/http/limits.ts",
    within: "grantOf",
    find: "Math.min(remaining, Math.max(needed, Math.min(used, Math.floor(remaining / part_of_remaining))))",
    replace: "Math.max(needed, Math.min(used, Math.floor(remaining / part_of_remaining)))",
    killed_by: [{ file: minute_test, test: "is never exceeded, and is almost fully used" }]
  },
  {
    name: "a process reserves more requests than it used before",
    file: "server/http/limits.ts",
    within: "grantOf",
    find: "Math.min(used, Math.floor(remaining / part_of_remaining))",
    replace: "Math.floor(remaining / 2)",
    killed_by: [{ file: minute_test, test: "is never exceeded, and is almost fully used" }]
  },
  {
    name: "requests reserved under a higher limit are still let in",
    file: "server/http/limits.ts",
    within: "makeSharedRateLimiter",
    find: "if (limit < share.limit) share.held = share.used",
    replace: "",
    killed_by: [{ file: minute_test, test: "applies a lower or higher value at once" }]
  },
  {
    name: "a refused reservation is requested again at once",
    file: "server/http/limits.ts",
    within: "makeSharedRateLimiter",
    find: "if (share.taken >= limit) return stands(share, true, now)",
    replace: "",
    killed_by: [{ file: minute_test, test: "queries the database at most twice for all waiting requests" }]
  },
  {
    name: "requests in flight do not count against a month's quota",
    file: "server/http/limit-quota.ts",
    within: "admitted",
    find: "one.in_flight += weight",
    replace: "one.in_flight += 0 * weight",
    killed_by: [{ file: quota_test, test: in_any_order }]
  },
  {
    name: "reserved units stay counted beside those used",
    file: "server/http/limit-quota.ts",
    within: "record",
    find: "const returned = Math.max(0, one.held - one.in_flight - (one.unrecorded - recorded))",
    replace: "const returned = 0",
    killed_by: [{ file: quota_test, test: in_any_order }]
  },
  {
    name: "calls answered while records are written are not counted",
    file: "server/http/limit-quota.ts",
    within: "record",
    find: "- (one.unrecorded - recorded)",
    replace: "",
    killed_by: [{ file: quota_test, test: in_any_order }]
  },
  {
    name: "units of rolled-back records are counted",
    file: "server/http/limit-quota.ts",
    within: "makeMonthQuota",
    find: "restore(one)",
    replace: "",
    killed_by: [{ file: quota_test, test: in_any_order }]
  },
  {
    name: "a month's quota blocks syncing devices",
    file: "server/host/pipeline.ts",
    within: "admitOfMonth",
    find: "passes: passes_quota.test(trace.path)",
    replace: "passes: false",
    killed_by: [{ file: servers_test, test: "admits free calls and devices' sync", engine: "sqlite" }]
  }
]

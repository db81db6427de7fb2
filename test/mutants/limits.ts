/** Faults of limits: what is let in beyond them, what is lost of them, and what is counted twice. */
import type { Mutant } from "./mutant.ts"

const minute_test = "test/server/limits/minute.test.ts"
const quota_test = "test/server/limits/quota.test.ts"
const servers_test = "test/server/limits/servers.test.ts"
const in_any_order = "in any order of requests, answers and records"

export const limit_mutants: ReadonlyArray<Mutant> = [
  {
    name: "each server counts for itself",
    file: "server/http/limits.ts",
    within: "makeLimits",
    find: 'rate: shared ? makeSharedRateLimiter({ take, failed: failed("requests a minute") }) : makeLocalRateLimiter()',
    replace: "rate: makeLocalRateLimiter()",
    killed_by: [{ file: servers_test, test: "admit %i sequential requests a minute, and report the rest correctly" }]
  },
  {
    name: "a process is given more than what remains",
    file: "server/http/limits.ts",
    within: "grantOf",
    find: "Math.min(remaining, Math.max(needed, Math.min(used, Math.floor(remaining / part_of_remaining))))",
    replace: "Math.max(needed, Math.min(used, Math.floor(remaining / part_of_remaining)))",
    killed_by: [{ file: minute_test, test: "is not exceeded, and almost fully used" }]
  },
  {
    name: "a process takes more beforehand than it used",
    file: "server/http/limits.ts",
    within: "grantOf",
    find: "Math.min(used, Math.floor(remaining / part_of_remaining))",
    replace: "Math.floor(remaining / 2)",
    killed_by: [{ file: minute_test, test: "is not exceeded, and almost fully used" }]
  },
  {
    name: "what was taken under a higher limit is still let in",
    file: "server/http/limits.ts",
    within: "makeSharedRateLimiter",
    find: "if (limit < share.limit) share.held = share.used",
    replace: "",
    killed_by: [{ file: minute_test, test: "applies a lower or higher value at once" }]
  },
  {
    name: "a refusal is asked for again and again",
    file: "server/http/limits.ts",
    within: "makeSharedRateLimiter",
    find: "if (share.taken >= limit) return stands(share, true, now)",
    replace: "",
    killed_by: [{ file: minute_test, test: "is queried once for all waiting requests" }]
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
    name: "what a process took for answers stays counted beside them",
    file: "server/http/limit-quota.ts",
    within: "record",
    find: "const returned = Math.max(0, one.held - one.in_flight - (one.unrecorded - recorded))",
    replace: "const returned = 0",
    killed_by: [{ file: quota_test, test: in_any_order }]
  },
  {
    name: "answers given while records are written are let go",
    file: "server/http/limit-quota.ts",
    within: "record",
    find: "- (one.unrecorded - recorded)",
    replace: "",
    killed_by: [{ file: quota_test, test: in_any_order }]
  },
  {
    name: "records that come to nothing are believed",
    file: "server/http/limit-quota.ts",
    within: "makeMonthQuota",
    find: "restore(one)",
    replace: "",
    killed_by: [{ file: quota_test, test: in_any_order }]
  },
  {
    name: "a month's quota stops devices that sync",
    file: "server/host/pipeline.ts",
    within: "admitOfMonth",
    find: "passes: passes_quota.test(trace.path)",
    replace: "passes: false",
    killed_by: [{ file: servers_test, test: "admits calls of no weight", engine: "sqlite" }]
  }
]

/** One sync: send what is pending, pull until nothing is newer, lease ids for next time. Each part may fail alone. */
import type { Effect } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { Fault } from "../../core/kernel/endpoint.ts"
import type { Site } from "../../core/kernel/site.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import { blockSize, leasedTables } from "../ends/leases.ts"
import type { Outbox } from "./outbox.ts"
import { type Remote, Unreachable } from "./remote.ts"
import type { Replica } from "./replica.ts"

export type Progress = (done: { readonly phase: "push" | "pull" | "lease"; readonly done: number; readonly total: number | undefined }) => void
export interface SyncReport {
  readonly sent: number
  readonly accepted: number
  readonly rejected: number
  readonly pending: number
  readonly pulled_events: number
  readonly position: number
  readonly conflicts: number
}
export interface SyncParts {
  readonly profile: { readonly replica_id: number }
  readonly outbox: Outbox
  readonly replica: Replica
  readonly remote: Pick<Remote, "push" | "pull" | "lease">
  readonly run: <A>(effect: Effect.Effect<A, Fault, Store | Site>) => Promise<A>
  readonly progress?: Progress
}
const commands_per_push = 100

export const syncOnce = async (parts: SyncParts): Promise<SyncReport> => {
  const { outbox, replica, run } = parts
  const before = outbox.counts()
  // Pulling does not wait for the queue: a push that fails still lets news in, and is raised afterwards.
  const pushed = await attempt(() => push(parts))
  if (pushed.error instanceof Unreachable) throw pushed.error
  const pulled_events = await pull(parts)
  if (pushed.error !== undefined) throw pushed.error
  await topUpLeases(parts)
  const after = outbox.counts()
  const gained = (state: string): number => Math.max(0, (after[state] ?? 0) - (before[state] ?? 0))
  return {
    sent: pushed.value ?? 0, accepted: gained("accepted"), rejected: gained("rejected"), pending: after["pending"] ?? 0, pulled_events,
    position: (await run(replica.standing)).position, conflicts: after["rejected"] ?? 0
  }
}

const attempt = async <A>(body: () => Promise<A>): Promise<{ readonly value?: A; readonly error?: unknown }> => {
  try { return { value: await body() } } catch (error) { return { error } }
}

const push = async ({ profile, outbox, remote, progress }: SyncParts): Promise<number> => {
  const pending = outbox.pending()
  for (let sent = 0; sent < pending.length;) {
    const verdicts = await remote.push(profile.replica_id, pending.slice(sent, sent + commands_per_push))
    if (verdicts.length === 0) break
    sent += verdicts.length
    progress?.({ phase: "push", done: sent, total: pending.length })
  }
  return pending.length
}

/** Verdicts of what was sent arrive by way of the journal, so that a lost reply costs nothing. */
const pull = async ({ profile, remote, replica, run, progress }: SyncParts): Promise<number> => {
  let pulled = 0
  const { offset, handle } = await run(replica.standing)
  await remote.pull(profile.replica_id, { offset, handle }, {
    chunk: async (chunk) => {
      const { applied } = await run(replica.apply(chunk))
      pulled += applied
      progress?.({ phase: "pull", done: pulled, total: undefined })
    },
    refetch: () => run(replica.beginAnew)
  })
  return pulled
}

/** Tables with less than half a block left get another one, asked for under the number that keeps it from coming twice. */
const topUpLeases = async ({ profile, outbox, remote, progress }: SyncParts): Promise<void> => {
  const short = leasedTables(catalogue).filter((table) => outbox.idsLeft(table) < blockSize(table) / 2)
  for (const [done, table] of short.entries()) {
    const request_no = outbox.leaseRequestNo(table)
    outbox.addLease(request_no, await remote.lease(profile.replica_id, table, request_no))
    progress?.({ phase: "lease", done: done + 1, total: short.length })
  }
}

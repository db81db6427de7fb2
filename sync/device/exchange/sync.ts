/**
 * One sync: pushes pending commands, pulls until up to date (even if the push is refused), and leases ids for later.
 */
import { itemAt } from "../../../core/values/text.ts"
import type { Effect } from "effect"
import { catalogue } from "../../../core/catalogue.ts"
import type { CommandRuntime, Failure, Store } from "../../../core/kernel/index.ts"
import type { SettledCommand } from "../../protocol/merge.ts"
import type { Verdict, WireCommand } from "../../protocol/wire.ts"
import { contentsNamed, isIdReusedError, leasedTables, toWireCommand } from "../../protocol/wire.ts"
import { referencesOfBody } from "../outbox/references.ts"
import { type Outbox, withdrawn_name } from "../outbox/outbox.ts"
import type { Profile } from "../outbox/folder.ts"
import { readAnswer, type Remote, remoteAt, RemoteError, Unreachable } from "./remote.ts"
import type { PulledEvents, Replica } from "../replica/replica.ts"
import { decodeLease } from "../../protocol/answers.ts"

/** Files on this device that wait for the commands referencing them. */
export interface WaitingFiles {
  /** Uploads those of these contents that the server lacks; returns those lost here. */
  readonly send: (sha256: ReadonlyArray<string>, progress?: Progress) => Promise<ReadonlyArray<string>>
  /** Removes files that no command needs. */
  readonly prune: () => void
}
/** Progress callback. Counts files, commands (`push`), rows (`fill`), events (`pull`) or tables (`lease`). */
export type Progress = (done: {
  readonly phase: "files" | "push" | "fill" | "pull" | "lease"
  readonly done: number
  readonly total: number | undefined
}) => void
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
  readonly remote: Pick<Remote, "push" | "pull" | "lease" | "plan" | "rows">
  /** Files of commands; absent if there are none. */
  readonly files?: WaitingFiles
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  readonly progress?: Progress
  /** Number of events above which a new history is fetched as rows. */
  readonly snapshot_beyond?: number
}
const commands_per_push = 100
const bytes_per_push = 1_048_576
/**
 * Maximum number of new histories during one sync. More indicates a fault, as permissions rarely change and backups are
 * rarely restored.
 */
const beginnings_max = 5

export const syncOnce = async (parts: SyncParts): Promise<SyncReport> => {
  const { outbox } = parts
  const before = outbox.counts()
  // Pulls even if the server refuses the push, whose error is thrown afterwards.
  const pushed = await attempt(() => push(parts))
  if (pushed.error instanceof Unreachable) throw pushed.error
  const pulled = await pull(parts)
  let pulled_events = pulled.events
  if (pulled.reopened) {
    // A restored server has lost commands: they are pushed again, and their verdicts pulled.
    await push(parts)
    pulled_events += (await pull(parts)).events
  } else if (pushed.error !== undefined) throw pushed.error
  parts.files?.prune()
  await topUpLeases(parts)
  return reportSince(parts, before, { sent: pushed.value ?? 0, pulled_events })
}
const reportSince = async (
  { outbox, replica, run }: SyncParts,
  before: ReturnType<Outbox["counts"]>,
  done: Pick<SyncReport, "sent" | "pulled_events">
): Promise<SyncReport> => {
  const after = outbox.counts()
  const gained = (state: string): number => Math.max(0, (after[state] ?? 0) - (before[state] ?? 0))
  return {
    ...done,
    accepted: gained("accepted"),
    rejected: gained("rejected"),
    pending: after["pending"] ?? 0,
    position: (await run(replica.position)).position,
    conflicts: after["rejected"] ?? 0
  }
}

/**
 * Applies the events with which the server ended a wait for news. Undefined if the replica has moved since the wait
 * began: the next sync fetches them. `quiet`: whether nothing else is left for a sync to do soon.
 */
export const takeNews = async (
  parts: SyncParts,
  { after, ...pulled }: PulledEvents & { readonly after: string }
): Promise<(SyncReport & { readonly quiet: boolean }) | undefined> => {
  const { outbox, replica, run } = parts
  const { anew, handle, offset } = await run(replica.position)
  if (anew || handle !== pulled.handle || offset !== after || (await run(replica.fill.now)) !== undefined) return
  const before = outbox.counts()
  const { applied } = await run(replica.apply(pulled, true))
  const report = await reportSince(parts, before, { sent: 0, pulled_events: applied })
  const held = outbox.counts()["held"] ?? 0
  return { ...report, quiet: report.accepted + report.rejected + report.pending + held === 0 }
}

const attempt = async <A>(body: () => Promise<A>): Promise<{ readonly value?: A; readonly error?: unknown }> => {
  try {
    return { value: await body() }
  } catch (error) {
    return { error }
  }
}

const push = async ({ profile, outbox, replica, remote, run, files, progress }: SyncParts): Promise<number> => {
  const pending = outbox.toSend()
  let commands = 0
  for (let sent = 0; sent < pending.length;) {
    const next = nextOf(pending, sent)
    const named = contentsNamed(next)
    outbox.offer(next.at(-1)?.n ?? 0)
    const lost = named.length === 0 ? [] : await files?.send(named, progress)
    const verdicts = await remote.push(profile.replica_id, next, lost)
    if (verdicts.length === 0) break
    await run(replica.settle(verdictsOfReusedIds(verdicts, pending)))
    const answered = new Set(verdicts.map(({ id }) => id))
    outbox.numbersTold(next.flatMap(({ id, n, name }) => (name === withdrawn_name && answered.has(id) ? [n] : [])))
    sent += verdicts.length
    // Withdrawn numbers are sent too, but are no commands.
    commands += next.filter(({ id, name }) => name !== withdrawn_name && answered.has(id)).length
    progress?.({ phase: "push", done: sent, total: pending.length })
  }
  return commands
}

/**
 * Commands to push next, from index `from` of the list, at least one. Limited, as the server answers only after reading
 * all.
 */
const nextOf = (pending: ReadonlyArray<WireCommand>, from: number): ReadonlyArray<WireCommand> => {
  let to = from
  for (let bytes = 0; to < pending.length && to - from < commands_per_push; to++) {
    bytes += Buffer.byteLength(JSON.stringify(toWireCommand(itemAt(pending, to))))
    if (to > from && bytes > bytes_per_push) break
  }
  return pending.slice(from, to)
}
/**
 * Verdicts on commands with reused ids, to apply before pulling: the journal has the other command's verdict under the
 * id.
 */
export const verdictsOfReusedIds = (
  verdicts: ReadonlyArray<Verdict>,
  sent: ReadonlyArray<WireCommand>
): ReadonlyArray<SettledCommand> =>
  verdicts.flatMap(({ id, error }) => {
    const command = isIdReusedError(error) ? sent.find((one) => one.id === id) : undefined
    return command === undefined || error === undefined ? [] : [{ n: command.n, status: "rejected" as const, error }]
  })

/**
 * Pulls and applies events. Verdicts arrive through the journal, so that a lost push response does no harm. A new
 * device, or one with another history than the server's, starts a new history (`begin`).
 */
export const pull = async (parts: SyncParts): Promise<{ readonly events: number; readonly reopened: boolean }> => {
  const { profile, remote, replica, run, progress } = parts
  let pulled = 0,
    reopened = false
  const anew = async (): Promise<boolean> => {
    const begun = await begin(parts)
    reopened ||= begun.reopened
    return begun.from_rows
  }
  for (let beginnings = 0; beginnings < beginnings_max; beginnings++) {
    if ((await run(replica.position)).offset === "-1" && (await run(replica.fill.now)) === undefined) await anew()
    if (!(await fill(parts))) continue
    let stopped = false
    const { offset, handle } = await run(replica.position)
    await remote.pull(
      profile.replica_id,
      { offset, handle },
      {
        chunk: async (chunk) => {
          const { applied } = await run(replica.apply(chunk, true))
          pulled += applied
          progress?.({ phase: "pull", done: pulled, total: undefined })
        },
        refetch: async () => {
          if (!(await anew())) return
          stopped = true
          return "stop"
        }
      }
    )
    if (!stopped) return { events: pulled, reopened }
  }
  throw new Unreachable("the server", new Error("its history began anew again and again"))
}

/** Number of events below which a journal is pulled instead, so that the device has the complete history. */
const snapshot_beyond_events = 5_000

/**
 * Starts a new history: from rows if it is long, otherwise from all events. If the server has decided fewer commands
 * than this device knows verdicts of, it was restored from a backup.
 */
const begin = async ({
  profile,
  outbox,
  remote,
  replica,
  run,
  snapshot_beyond = snapshot_beyond_events
}: SyncParts): Promise<{ readonly from_rows: boolean; readonly reopened: boolean }> => {
  const plan = await remote.plan(profile.replica_id, outbox.pending()[0]?.n ?? 0)
  const forgotten = plan !== undefined && outbox.pending()[0]?.n !== plan.last_n + 1 && outbox.lastN() > plan.last_n
  const reopened = forgotten && outbox.reopen(plan.last_n, plan.leases, referencesOfBody(catalogue)) > 0
  const from_rows = plan !== undefined && plan.position > snapshot_beyond
  if (from_rows) await run(replica.fill.begin(plan))
  else await run(replica.restart)
  return { from_rows, reopened }
}

/** Refills the replica, even if it is intact. The outbox stays, and pending commands are decided again. */
export const refill = async (parts: SyncParts): Promise<void> => {
  await begin(parts)
  await pull(parts)
}

/** Continues a fill, prefetching the next page while storing one. False if the fill must start over. */
const fill = async ({ profile, remote, replica, run, progress }: SyncParts): Promise<boolean> => {
  let filling = await run(replica.fill.now)
  let coming: ReturnType<Remote["rows"]> | undefined
  let total = 0
  while (filling !== undefined) {
    progress?.({ phase: "fill", done: filling.rows, total: filling.rows_total })
    total = filling.rows_total
    const asked = { handle: filling.handle, offset: filling.offset, after: filling.after }
    const page = await (coming ?? remote.rows(profile.replica_id, asked))
    if (page === "anew") {
      await run(replica.fill.drop)
      return false
    }
    coming =
      page.next === null
        ? undefined
        : remote.rows(profile.replica_id, { handle: asked.handle, offset: page.offset, after: page.next })
    // Awaited in the next iteration; until then a rejection must not count as unhandled.
    coming?.catch(() => undefined)
    filling = await run(replica.fill.lay(asked, page))
    if (filling === undefined) progress?.({ phase: "fill", done: total, total })
  }
  return true
}

/**
 * Leases another block for each table with less than half a block left. The request number keeps repetitions from
 * leasing two.
 */
const topUpLeases = async ({ profile, outbox, remote, progress }: SyncParts): Promise<void> => {
  const short = leasedTables(catalogue).filter(
    (table) => outbox.idsLeft(table) < catalogue.table(table).lease_block_size / 2
  )
  for (const [done, table] of short.entries()) {
    const request_no = outbox.leaseRequestNo(table)
    const ranges = await remote.lease(profile.replica_id, table, request_no).catch(noneIfUnknown)
    if (ranges !== undefined) outbox.addLease(request_no, ranges)
    progress?.({ phase: "lease", done: done + 1, total: short.length })
  }
}
/** A server of an older release does not know newer tables and leases no ids for them. */
const noneIfUnknown = (error: unknown): undefined => {
  if (error instanceof RemoteError && error.status === 422 && error.body.errors?.["entity"] !== undefined) return
  throw error
}

// Reclaims leased id blocks that a restored server has forgotten, before anything is sent.

const claims_per_request = 500

/** The server's record of a device: number of its id blocks, and its last decided command. */
interface ServerMemory {
  readonly blocks: number
  readonly last_n: number
}

/**
 * If the server knows too few blocks, keeps only the parts it confirms; ids now leased to others are no longer used.
 */
export const reclaimForgottenLeases = async (
  replica_id: number,
  { blocks: known, last_n }: ServerMemory,
  outbox: Outbox,
  remote: Pick<Remote, "call">
): Promise<void> => {
  const leases = outbox.leases()
  const here = leases.blocks_asked
  const position = `${known}/${here}`
  // If the server has lost verdicts that this device knows, it was restored since, perhaps to the same backup as
  // before.
  if (known >= here || (outbox.get("claimed") === position && last_n >= outbox.lastSettled())) return
  for (let at = 0; at < leases.blocks.length; at += claims_per_request) {
    const blocks = leases.blocks.slice(at, at + claims_per_request)
    const answer = await remote.call("POST", "/api/v1/sync/leases/claim", { replica_id, blocks })
    outbox.trimLeases(blocks, readAnswer("the server", answer, decodeLease).lease)
  }
  outbox.set("claimed", position)
}

/**
 * Pulls changes before a decision made here, with this time limit for each request and for following the journal. Sends
 * nothing. False if the server failed, which is left to the next sync.
 */
export const fetchNews = async (
  parts: SyncParts,
  { token, url }: Pick<Profile, "token" | "url">,
  patience_millis: number
): Promise<boolean> => {
  const remote = remoteAt(url, token, { call: patience_millis, news: patience_millis, pull: patience_millis })
  try {
    // A single call checks that the server is reachable, as following the journal would retry several times.
    const { status } = await remote.call("GET", "/api/v1/system/health")
    if (status >= 500) return false
    await pull({ ...parts, remote })
    return true
  } catch (error) {
    if (error instanceof Unreachable || error instanceof RemoteError) return false
    throw error
  }
}

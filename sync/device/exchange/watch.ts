/** Syncs until stopped: when the outbox grows, when the server has changes, and after the network returns. */
import { Unreachable } from "../../http-client.ts"
import type { SyncReport, takeNews } from "./sync.ts"

interface WatchRefusal {
  readonly id: string
  readonly n: number
  readonly name: string
  readonly error: { readonly message: string }
}

export type WatchEvent =
  | { readonly event: "started"; readonly conflicts: number }
  | {
      readonly event: "synced"
      readonly sent: number
      readonly accepted: number
      readonly rejected: number
      readonly pulled_events: number
      readonly pending: number
      readonly position: number
    }
  | {
      readonly event: "conflict"
      readonly id: string
      readonly n: number
      readonly name: string
      readonly message: string
    }
  | { readonly event: "different"; readonly n: number; readonly name: string }
  | { readonly event: "offline"; readonly message: string; readonly retry_seconds: number }
  | { readonly event: "online" }
  | { readonly event: "woke"; readonly slept_seconds: number }
  | { readonly event: "warning"; readonly message: string }
  | { readonly event: "upgraded" }
  | { readonly event: "stopped" }

type News = Parameters<typeof takeNews>[1]
interface WatchParts {
  readonly sync: () => Promise<SyncReport & { readonly warnings: ReadonlyArray<string> }>
  /** Resolves when the server may have changes, with those that came; rejects if it is unreachable. */
  readonly news: (signal: AbortSignal) => Promise<News | undefined>
  /** Applies changes that came; undefined if a sync is needed for them. */
  readonly take: (news: News) => ReturnType<typeof takeNews>
  /** Number of the newest pending command; 0 if none. Called often. */
  readonly lastPending: () => number
  /**
   * Calls `look` when the outbox may have grown, if the system supports it (the outbox is polled as well); returns the
   * function that stops it.
   */
  readonly recorded?: (look: () => void) => () => void
  readonly conflicts: () => Promise<ReadonlyArray<WatchRefusal>>
  /** Accepted commands with another outcome than shown here. */
  readonly reports: () => ReadonlyArray<Pick<WatchRefusal, "n" | "name">>
  readonly tell: (event: WatchEvent) => void
  readonly stop: AbortSignal
  /** Whether this program was replaced on disk. */
  readonly upgraded: () => boolean
  /** Current time in milliseconds since 1970. */
  readonly clock?: () => number
  /** Random number from 0 to 1. */
  readonly chance?: () => number
  readonly tick_millis?: number
}

const backoff_first_millis = 1_000
const backoff_max_millis = 60_000
/** Delay of a tick above which the machine is assumed to have slept. */
const slept_millis = 10_000
const busy_wait_millis = 500
const idle_pause_millis = 1_000
/** Longest time of applying news without a sync, by which the server learns how far the device is. */
const unsynced_millis = 60_000
/** Longest wait for another release to be written to disk. */
const replacing_millis = 60_000

type Woken = "news" | "outbox" | "woke" | "time" | "stop" | "upgraded" | "unreachable"

/** Backoff with full jitter: a random wait up to the doubled one, so that devices do not return at the same time. */
export const backoffMillis = (tries: number, chance: () => number): number =>
  Math.round(chance() * Math.min(backoff_max_millis, backoff_first_millis * 2 ** Math.min(tries, 16)))

export const watch = async (parts: WatchParts): Promise<"stopped" | "upgraded"> => {
  const { tell, stop } = parts
  const known = new Set((await parts.conflicts()).map(({ id }) => id))
  let tries = 0
  let arrived: News | undefined
  /** The news that the sync to come follows. */
  let followed: News | undefined
  let sync_due: number | undefined
  tell({ event: "started", conflicts: known.size })
  const { tellConflicts, tellDifferent, warn } = tellingOnce(parts, known)
  /** Waits after a failed sync; throws errors that no wait mends. */
  const afterFailure = async (error: unknown, seen: number): Promise<News | undefined> => {
    if (await canTryAgain(parts, error)) return
    const passing = passingText(error)
    if (passing !== undefined) {
      tries = await waitOffline(parts, passing, tries, isUnreachable(error) ? seen : undefined)
      return
    }
    // The program is too old to send: it still pulls, and recorded commands stay.
    if (statusOf(error) !== 426) throw error
    warn(messageOf(error))
    await tellConflicts()
    return (await untilSomething(parts, { seen, news: true })).news
  }
  // News is applied before looking for another release: the wait that follows looks for it, too.
  while (!stop.aborted && (arrived !== undefined || !parts.upgraded())) {
    const seen = parts.lastPending()
    const news = arrived
    const before = news ?? followed
    arrived = followed = undefined
    try {
      const report = await exchanged(parts, news, sync_due)
      if (tries > 0) tell({ event: "online" })
      tries = 0
      const is_empty = report.accepted + report.rejected + report.pulled_events === 0
      if (!is_empty) {
        tell(synced(report))
        tellDifferent()
      }
      report.warnings.forEach(warn)
      await tellConflicts()
      if (report.quiet === false) {
        followed = news
        continue
      }
      sync_due = report.quiet === undefined ? undefined : (sync_due ?? performance.now() + unsynced_millis)
      const wait = sync_due === undefined ? {} : { wait_millis: Math.max(0, sync_due - performance.now()) }
      const ended = await untilSomething(parts, { seen, news: true, ...wait })
      arrived = ended.news
      // Pauses after a wake-up without changes for this reader, unless the news that came has some.
      if (ended.woken === "news" && is_empty && !hasChanges(arrived, before))
        await untilSomething(parts, { seen, wait_millis: idle_pause_millis })
    } catch (error) {
      arrived = await afterFailure(error, seen)
    }
  }
  const end = stop.aborted ? "stopped" : "upgraded"
  tell({ event: end })
  return end
}
/** Whether news has events, and does not follow news that had some, too, but changed nothing here. */
const hasChanges = (arrived: News | undefined, before: News | undefined): boolean =>
  (arrived?.events ?? []).length > 0 && (before?.events ?? []).length === 0
/** Reports each conflict, differing outcome and warning once; `known`: ids of conflicts to leave out. */
const tellingOnce = ({ conflicts, reports, tell }: WatchParts, known: Set<string>) => {
  const warned = new Set<string>()
  const reported = new Set(reports().map(({ n }) => n))
  return {
    tellDifferent: (): void => {
      for (const { n, name } of reports()) {
        if (reported.has(n)) continue
        reported.add(n)
        tell({ event: "different", n, name })
      }
    },
    warn: (message: string): void => {
      if (warned.has(message)) return
      warned.add(message)
      tell({ event: "warning", message })
    },
    tellConflicts: async (): Promise<void> => {
      for (const { id, n, name, error } of await conflicts()) {
        if (known.has(id)) continue
        known.add(id)
        tell({ event: "conflict", id, n, name, message: error.message })
      }
    }
  }
}
/** Applies the news that came; without any, or if they need one or one is due, syncs: `quiet` is then undefined. */
const exchanged = async (parts: WatchParts, news: News | undefined, sync_due: number | undefined) => {
  const is_due = sync_due !== undefined && performance.now() >= sync_due
  const taken = news === undefined || is_due ? undefined : await parts.take(news).catch(() => undefined)
  return taken === undefined ? { ...(await parts.sync()), quiet: undefined } : { ...taken, warnings: [] }
}
const synced = (report: Omit<WatchEvent & { readonly event: "synced" }, "event">): WatchEvent => {
  const { sent, accepted, rejected, pulled_events, pending, position } = report
  return { event: "synced", sent, accepted, rejected, pulled_events, pending, position }
}
/**
 * Waits before the next try, but a second at most once a newer command than `seen` is pending; a server that answers
 * that it is busy is left in peace. Returns how many tries have failed in a row, from 1 again after the machine slept.
 */
const waitOffline = async (
  parts: WatchParts,
  message: string,
  tries: number,
  seen: number | undefined
): Promise<number> => {
  const wait_millis = backoffMillis(tries, parts.chance ?? Math.random)
  if (tries === 0) parts.tell({ event: "offline", message, retry_seconds: Math.ceil(wait_millis / 1_000) })
  const { woken } = await untilSomething(parts, { wait_millis, ...(seen === undefined ? {} : { seen }) })
  if (woken !== "outbox") return woken === "woke" ? 1 : tries + 1
  // Commands recorded one after the other are sent together, and do not make later waits longer.
  await untilSomething(parts, { wait_millis: idle_pause_millis })
  return Math.max(1, tries)
}

/** Waits for another sync, or for a release that is being written; false for other errors. */
const canTryAgain = async (parts: WatchParts, error: unknown): Promise<boolean> => {
  const is_busy = isNamed(error, "SyncBusy")
  if (!is_busy && !isMissingPart(error)) return false
  const { woken } = await untilSomething(parts, { wait_millis: is_busy ? busy_wait_millis : replacing_millis })
  return is_busy || woken !== "time"
}
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
/** Message of a temporary fault (the server is unreachable or unavailable); undefined for other errors. */
const passingText = (error: unknown): string | undefined => {
  if (isUnreachable(error)) return error.message
  const status = statusOf(error)
  return status !== undefined && (status >= 500 || status === 429 || status === 425)
    ? `The server answers ${status}: ${messageOf(error)}`
    : undefined
}
/** Whether a part of this program that was not loaded yet is gone, as while another release is being written. */
const isMissingPart = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND"
const isUnreachable = (error: unknown): error is Error => error instanceof Unreachable || isNamed(error, "Unreachable")
const isNamed = (error: unknown, name: string): error is Error => error instanceof Error && error.name === name
const statusOf = (error: unknown): number | undefined =>
  isNamed(error, "RemoteError") && "status" in error && typeof error.status === "number" ? error.status : undefined

interface Until {
  /** Newest pending command already seen; a newer one ends the wait. */
  readonly seen?: number
  /** Whether to listen to the server as well. */
  readonly news?: boolean
  readonly wait_millis?: number
}
/** The next sync detects an unreachable server, and waits longer each time. */
const untilSomething = (
  parts: WatchParts,
  { seen, news = false, wait_millis }: Until
): Promise<{ readonly woken: Woken; readonly news?: News | undefined }> =>
  new Promise((resolve) => {
    const clock = parts.clock ?? Date.now
    const tick_millis = parts.tick_millis ?? 300
    const listening = new AbortController()
    let before = clock()
    const until = wait_millis === undefined ? undefined : performance.now() + wait_millis
    let over = false
    let unwatch: (() => void) | undefined
    const end = (woken: Woken, arrived?: News): void => {
      if (over) return
      over = true
      clearInterval(ticking)
      parts.stop.removeEventListener("abort", stopped)
      resolve({ woken, news: arrived })
      // Later, as what came is applied first. An answered request needs no abort, which would take as long as the rest.
      setImmediate(() => {
        unwatch?.()
        if (woken === "woke" || woken === "stop" || woken === "upgraded") listening.abort()
      })
    }
    const stopped = (): void => end("stop")
    const look = (): void => {
      if (!over && seen !== undefined && parts.lastPending() > seen) end("outbox")
    }
    const ticking = setInterval(() => {
      const now = clock()
      const gone = now - before
      before = now
      if (gone > tick_millis + slept_millis) {
        parts.tell({ event: "woke", slept_seconds: Math.round(gone / 1_000) })
        return end("woke")
      }
      if (parts.upgraded()) return end("upgraded")
      look()
      if (until !== undefined && performance.now() >= until) end("time")
    }, tick_millis)
    if (parts.upgraded()) return end("upgraded")
    if (seen !== undefined) unwatch = parts.recorded?.(look)
    if (over) return
    parts.stop.addEventListener("abort", stopped)
    if (parts.stop.aborted) return end("stop")
    if (news)
      parts.news(listening.signal).then(
        (arrived) => end("news", arrived),
        () => end("unreachable")
      )
  })

/** `today --watch`: prints the day again at every change, until stopped. */
import type { Query } from "../../../../core/kernel/lists/query.ts"
import { rowIn } from "../../../base/answers.ts"
import { watch_lock } from "../../../context/background.ts"
import type { CommandContext } from "../../../context/context.ts"
import { exit_codes } from "../../../base/exit-codes.ts"
import { showInPlace } from "../../../output/out.ts"
import { styled } from "../../../output/text.ts"
import { formatIn, zoneOr } from "../../../base/parse-time.ts"
import type { Flags } from "../../../context/program.ts"
import { stopOnSignals } from "../../../base/stop-signals.ts"
import { todayQuery, todayText } from "./show.ts"

/** Interval for printing without news, as orders become late by time alone. */
const clock_millis = 30_000
/** Delay that combines changes in quick succession. */
const settle_millis = 200

/** Text without the time of its generation, for comparison. */
const withoutItsTime = (text: string): string => text.replace(/"generated_at":"[^"]*",?/, "")

export const watchToday = async (context: CommandContext, flags: Flags): Promise<number> => {
  const query = await todayQuery(context, flags)
  const { code, stop } = stopOnSignals()
  const state = { is_stale: true, offline: "", before: "" }
  let wake = (): void => {}
  const look = (): void => {
    state.is_stale = true
    wake()
  }
  const { following, ended } = await follow(context, { look, stop, offline: (text) => (state.offline = text) })
  stop.signal.addEventListener("abort", () => wake())
  const timer = setInterval(look, clock_millis)
  try {
    while (!stop.signal.aborted) {
      if (state.is_stale) {
        state.is_stale = false
        await show(context, query, state)
      }
      if (stop.signal.aborted || state.is_stale) continue
      await new Promise<void>((resolve) => {
        wake = resolve
      })
      if (!stop.signal.aborted) await new Promise((resolve) => setTimeout(resolve, settle_millis))
    }
    return (await following) === "upgraded" ? exit_codes.replaced : code()
  } finally {
    clearInterval(timer)
    ended()
  }
}

interface Following {
  readonly look: () => void
  readonly stop: AbortController
  readonly offline: (text: string) => void
}
/** Calls `look` at changes: follows the server like sync --watch, or watches files written by such a process. */
const follow = async (context: CommandContext, { look, offline, stop }: Following) => {
  const { keptInSync, onRecorded } = await import("../../offline/sync/watch.ts")
  const end_watching = onRecorded(context.folder())(look)
  const { takeLock } = await import("../../../../sync/sqlite/file-lock.ts")
  const lock = context.offline ? undefined : takeLock(context.folder(), watch_lock)
  const ended = (): void => {
    end_watching()
    lock?.release()
  }
  if (lock === undefined) return { following: Promise.resolve("stopped" as const), ended }
  const device = await context.device()
  const following = keptInSync(context, device, {
    stop: stop.signal,
    tell: (event) => {
      if (event.event === "offline") offline(event.message)
      if (event.event === "online") offline("")
      if (event.event === "upgraded") stop.abort()
      look()
    }
  }).finally(() => stop.abort())
  return { following, ended }
}

const show = async (
  context: CommandContext,
  query: Query,
  state: { readonly offline: string; before: string }
): Promise<void> => {
  const body = await context.read("/api/v1/today", query)
  const text = withoutItsTime(JSON.stringify(body)) + state.offline
  if (text === state.before) return
  state.before = text
  if (context.options.json === true) return context.printJsonLine(body)
  const today = rowIn(body, "today")
  const shown = todayText(context, today)
  const { colour, is_tty } = context.terminal
  if (!is_tty) return context.print(`${shown}\n`)
  const zone = zoneOr(today.store?.timezone, context.terminal.zoneOf?.({}) ?? "UTC")
  const at = formatIn(new Date().toISOString(), zone).slice(-5)
  const foot = state.offline === "" ? `As of ${at}.` : `Without the server, as of ${at}: ${state.offline}`
  showInPlace(`${shown}\n${styled(colour, "dim", foot)}\n`)
}

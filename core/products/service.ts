/**
 * The service state of stock: what is out of service, why, since when and until when (rules/availability 13). Pure: it
 * reads nothing, and `now` is a parameter.
 */
import { millisOf } from "../values/time.ts"
import { openEndMillis, type Period } from "../values/period.ts"

/** Service states of a unit, or of part of a bulk quantity. */
export const service_states = {
  in_service: "In service",
  quarantine: "Quarantine",
  in_repair: "In repair",
  lost: "Lost",
  sold: "Sold"
} as const
export type ServiceState = keyof typeof service_states
export const isServiceState = (value: unknown): value is ServiceState =>
  typeof value === "string" && Object.hasOwn(service_states, value)
/** States of own or present stock that cannot be rented. Sold stock is not own: its ledger says so. */
const { in_service: _in_service, sold: _sold, ...out_of_service } = service_states
export const out_of_service_labels = out_of_service
export const out_of_service_states = ["quarantine", "in_repair", "lost"] as const
export type OutOfServiceState = keyof typeof out_of_service_labels

/** One entry per open service record in a stock level's list of goods out of service. */
export interface OutOfService {
  readonly service_record_id: number
  readonly state: OutOfServiceState
  /** Full units; 1 for a serialised one. */
  readonly quantity: number
  readonly starts_at: string
  /** Expected return; null if unknown. */
  readonly expected_back_at: string | null
}

/** The time in which it cannot be rented; `is_overdue`: it was expected back and was not released. */
interface OutOfServicePeriod extends Period {
  readonly is_overdue: boolean
}
/**
 * Out of service from its start until its expected return; without one, or once that has passed without a release,
 * there is no known end. Lost stock has none either.
 */
export const outOfServicePeriod = (one: OutOfService, now: number): OutOfServicePeriod => {
  const from = millisOf(one.starts_at)
  const expected = one.expected_back_at === null || one.state === "lost" ? undefined : millisOf(one.expected_back_at)
  if (expected === undefined) return { from, to: openEndMillis, is_overdue: false }
  const is_overdue = expected <= now
  return { from, to: is_overdue ? openEndMillis : Math.max(from, expected), is_overdue }
}

const next_states: { readonly [S in ServiceState]: ReadonlyArray<ServiceState> } = {
  in_service: ["quarantine", "in_repair", "lost", "sold"],
  quarantine: ["quarantine", "in_repair", "lost", "sold", "in_service"],
  in_repair: ["quarantine", "in_repair", "lost", "sold", "in_service"],
  // Lost stock must be found before any other action.
  lost: ["quarantine", "in_repair", "lost", "in_service"],
  sold: []
}
/** Advice for a unit that left the stock and has returned. */
export const came_back_text =
  "if it came back, post a Buy or a Find to its stock transactions " +
  "(flightcase products stock-levels stock-transactions create)."
/** Why stock in one state cannot enter another, with the way out; undefined where it can. */
export const transitionRefusal = (from: ServiceState, to: ServiceState): string | undefined => {
  if (next_states[from].includes(to)) return undefined
  if (from === "sold") return `is sold; ${came_back_text}`
  if (from === "lost") return "is lost; release it first if it was found."
  return "is in service already."
}

/** The first entry that keeps stock from use at any time of the window; undefined where nothing does. */
export const outOfServiceIn = (
  entries: ReadonlyArray<OutOfService>,
  window: Period,
  now: number
): { readonly entry: OutOfService; readonly period: OutOfServicePeriod } | undefined => {
  for (const entry of entries) {
    const period = outOfServicePeriod(entry, now)
    // A moment counts as the shortest time: stock out of service then cannot be used then.
    if (period.from < Math.max(window.to, window.from + 1) && period.to > window.from) return { entry, period }
  }
  return undefined
}

/** "is in repair since 2026-11-20T08:00:00.000Z, expected back 2026-12-01T00:00:00.000Z". */
export const outOfServiceText = (entry: OutOfService): string =>
  `is ${stateWords[entry.state]} since ${entry.starts_at}` +
  (entry.expected_back_at === null || entry.state === "lost" ? "" : `, expected back ${entry.expected_back_at}`)
export const stateWords: { readonly [S in ServiceState]: string } = {
  in_service: "in service",
  quarantine: "in quarantine",
  in_repair: "in repair",
  lost: "lost",
  sold: "sold"
}

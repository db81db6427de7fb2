/**
 * A token's quota for a UTC calendar month, in weighted units (rules/conventions 10), counted in the database shortly
 * after responses. On SQLite this process adds what it has answered since. On Postgres it reserves units before it
 * admits requests and returns unused ones, so that all processes together never exceed the quota while it answers.
 */
import { itemAt } from "../../core/values/text.ts"
import { type Flushing, monthEnd, monthKey, monthOf } from "./limit-month.ts"

/** Options for outages of the database, during which a process uses its own counts. */
export interface OutageOptions {
  /** Called on the first failure after a success. */
  readonly failed: (error: unknown) => void
  /** Monotonic clock in milliseconds. */
  readonly elapsed?: () => number
}
interface Outage {
  /** Whether the database failed a moment ago, so that it is not queried yet. */
  readonly lasts: () => boolean
  readonly failed: (error: unknown) => void
  readonly answered: () => void
}

const asked_again_after_millis = 1_000

export const makeOutage = ({ failed, elapsed = () => performance.now() }: OutageOptions): Outage => {
  let until = -Infinity
  let told = false
  return {
    lasts: () => elapsed() < until,
    failed: (error) => {
      if (!told) failed(error)
      told = true
      until = elapsed() + asked_again_after_millis
    },
    answered: () => {
      told = false
    }
  }
}

export interface QuotaState {
  readonly limit: number
  readonly used: number
  readonly remaining: number
  /** Whether the request exceeds the quota. */
  readonly exceeded: boolean
  readonly weight: number
  /** Start of the next month: seconds from now, and seconds since 1970. */
  readonly retry_after_seconds: number
  readonly reset_at_seconds: number
}
/** Decision about a request, with the state of its quota. */
export interface Admission {
  readonly state: QuotaState
  /** Call with the response's cost once it is known; only the first call counts. */
  readonly settle: (units: number) => void
}
interface Asking {
  readonly token_id: number
  readonly weight: number
  readonly limit: number
  /** Whether to admit the request even beyond the quota: devices must always be able to send. */
  readonly passes: boolean
  /** Milliseconds since 1970. */
  readonly now: number
}
export interface MonthQuota {
  /** Decides about a request. Returns a promise, which never rejects, if the database must be queried. */
  readonly admit: (asking: Asking) => Admission | Promise<Admission>
  readonly flushing: (units: ReadonlyMap<number, number>, month: string) => Flushing
}

export interface TakingUnits {
  readonly token_id: number
  readonly month: string
  readonly limit: number
  /** Units to reserve; negative to return reservations made under a higher limit. */
  readonly needed: number
  readonly used: number
}
export interface TakenUnits {
  /** Reserved units; undefined if `needed` exceeds the remainder. */
  readonly granted: number | undefined
  /** Total of all processes, including the grant. */
  readonly units: number
}
interface MonthCounters extends OutageOptions {
  /**
   * Reserves {@link unitsGranted} from the counter shared by all processes; undefined if this process is the only one.
   */
  readonly take: ((taking: TakingUnits) => Promise<TakenUnits>) | undefined
  readonly read: (token_id: number, month: string) => Promise<number>
}

/** A process reserves at most the remainder divided by this, unless its requests need more. */
const part_of_remaining = 8
/**
 * Units granted to a process that needs `needed` and used `used` recently; undefined if `needed` exceeds the remainder.
 */
export const unitsGranted = (remaining: number, needed: number, used: number): number | undefined =>
  needed > remaining ? undefined : Math.max(needed, Math.min(used, Math.trunc(remaining / part_of_remaining)))
/** `unitsGranted` in SQL with integers; 0 instead of undefined. */
export const unitsGrantedSql = (remaining: string, needed: string, used: string): string =>
  `case when ${needed} > ${remaining} then 0 ` +
  `else greatest(${needed}, least(${used}, (${remaining}) / ${part_of_remaining})) end`

interface Waiting {
  readonly asking: Asking
  readonly resolve: (admission: Admission) => void
}
/** State of a token's month in this process. */
interface Month {
  readonly month: string
  readonly token_id: number
  known: boolean
  /** The counter's value as known here, including this process's reservations. */
  units: number
  /** Reserved units in the counter that are not yet recorded as used. */
  held: number
  /** Weights of requests in progress. */
  in_flight: number
  /** Units of responses that are not recorded yet. */
  unrecorded: number
  /** Units of responses in and since the last record. */
  lately: number
  refused: { readonly weight: number; readonly limit: number; readonly until: number } | undefined
  recording: { readonly units: number; readonly recorded: number; readonly returned: number } | undefined
  asking: boolean
  waiting: Array<Waiting>
}
/** How long a rejection is cached, as other processes may return reservations. */
const refused_millis = 1_000

const newMonth = (token_id: number, month: string): Month => ({
  month,
  token_id,
  known: false,
  units: 0,
  held: 0,
  in_flight: 0,
  unrecorded: 0,
  lately: 0,
  refused: undefined,
  recording: undefined,
  asking: false,
  waiting: []
})
/** Reserved units not needed yet; negative if requests were admitted without reservation, as always on SQLite. */
const freeOf = ({ held, in_flight, unrecorded }: Month): number => held - in_flight - unrecorded
const usedOf = (one: Month): number => one.units - freeOf(one)

const stateOf = (one: Month, { limit, now, weight }: Asking, exceeded: boolean): QuotaState => {
  const end = monthEnd(one.month)
  const used = usedOf(one)
  return {
    limit,
    used,
    remaining: Math.max(0, limit - used),
    exceeded,
    weight,
    retry_after_seconds: Math.max(1, Math.ceil((end - now) / 1000)),
    reset_at_seconds: end / 1000
  }
}
const admitted = (one: Month, asking: Asking): Admission => {
  const { weight } = asking
  one.in_flight += weight
  let settled = false
  return {
    state: stateOf(one, asking, false),
    settle: (units) => {
      if (settled) return
      settled = true
      one.in_flight -= weight
      one.unrecorded += units
      one.lately += units
      if (units < weight) one.refused = undefined
    }
  }
}
const nothing_to_settle = (): void => {}
const refused = (one: Month, asking: Asking): Admission => ({
  state: stateOf(one, asking, true),
  settle: nothing_to_settle
})
const weightsOf = (waiting: ReadonlyArray<Waiting>): number =>
  waiting.reduce((sum, { asking: { passes, weight } }) => sum + (passes ? 0 : weight), 0)

/** Decides as far as this process can; undefined if the database must be queried. */
const decided = (one: Month, asking: Asking, shared: boolean, alone: boolean): Admission | undefined => {
  const { limit, now, passes, weight } = asking
  if (!one.known && !alone) return undefined
  if (passes || weight === 0) return admitted(one, asking)
  const fits = usedOf(one) + weight <= limit
  if (!shared || alone) return fits ? admitted(one, asking) : refused(one, asking)
  if (fits && freeOf(one) >= weight) return admitted(one, asking)
  const before = one.refused
  return before !== undefined && weight >= before.weight && limit <= before.limit && now < before.until
    ? refused(one, asking)
    : undefined
}

/** Reserves units for the first `count` waiting requests; false if they exceed the remainder. On SQLite, only reads. */
const takeFor = async (one: Month, count: number, { read, take }: MonthCounters): Promise<boolean> => {
  const { limit, now } = itemAt(one.waiting, 0).asking
  const { lately, month, token_id } = one
  if (take === undefined) {
    one.units = await read(token_id, month)
    return true
  }
  const weight = weightsOf(one.waiting.slice(0, count))
  const { granted, units } = await take({ token_id, month, limit, needed: weight - freeOf(one), used: lately })
  one.units = units
  one.held += granted ?? 0
  if (granted !== undefined) one.refused = undefined
  else if (count === 1) one.refused = { weight, limit, until: now + refused_millis }
  return granted !== undefined
}

export const makeMonthQuota = (counters: MonthCounters): MonthQuota => {
  const shared = counters.take !== undefined
  const outage = makeOutage(counters)
  const months = makeMonths()

  const ask = async (one: Month): Promise<void> => {
    one.asking = true
    while (one.waiting.length > 0) {
      try {
        const count = one.waiting.length
        // If they exceed the remainder together, the first alone may not.
        if (!(await takeFor(one, count, counters)) && count > 1) await takeFor(one, 1, counters)
        one.known = true
        outage.answered()
      } catch (error) {
        outage.failed(error)
      }
      const alone = outage.lasts()
      one.waiting = one.waiting.filter(({ asking, resolve }) => {
        const admission = decided(one, asking, shared, alone)
        if (admission !== undefined) resolve(admission)
        return admission === undefined
      })
    }
    one.asking = false
  }

  return {
    admit: (asking) => {
      const one = months.of(asking.token_id, monthOf(asking.now))
      const admission = one.waiting.length === 0 ? decided(one, asking, shared, outage.lasts()) : undefined
      if (admission !== undefined) return admission
      return new Promise((resolve) => {
        one.waiting.push({ asking, resolve })
        if (!one.asking) void ask(one)
      })
    },
    flushing: (units, month) => {
      const changes = new Map(units)
      const begun = months.all(month)
      for (const one of begun) {
        restore(one)
        const recorded = units.get(one.token_id) ?? 0
        changes.set(one.token_id, recorded - record(one, recorded))
      }
      return {
        changes,
        committed: () => {
          for (const one of begun) one.recording = undefined
        }
      }
    }
  }
}

/** State of each token's current month, and of the previous one, which may still be recorded. */
const makeMonths = () => {
  const months = new Map<string, Month>()
  let newest = ""
  return {
    of: (token_id: number, month: string): Month => {
      if (month > newest) {
        for (const [key, one] of months) if (one.month < newest) months.delete(key)
        newest = month
      }
      const key = monthKey(month, token_id)
      let one = months.get(key)
      if (one === undefined) months.set(key, (one = newMonth(token_id, month)))
      return one
    },
    all: (month: string): ReadonlyArray<Month> => [...months.values()].filter((one) => one.month === month)
  }
}

/**
 * Marks units as recorded before they are written; {@link restore} undoes it. Returns the units to give back to the
 * counter.
 */
const record = (one: Month, units: number): number => {
  const recorded = Math.min(units, one.unrecorded)
  // Units of answers after the records were gathered stay reserved.
  const returned = Math.max(0, one.held - one.in_flight - (one.unrecorded - recorded))
  one.recording = { units, recorded, returned }
  one.units += units - returned
  one.held -= returned
  one.unrecorded -= recorded
  one.lately = units + one.unrecorded
  one.refused = undefined
  return returned
}
/** Undoes a failed recording. */
const restore = (one: Month): void => {
  if (one.recording === undefined) return
  const { recorded, returned, units } = one.recording
  one.recording = undefined
  one.units += returned - units
  one.held += returned
  one.unrecorded += recorded
}

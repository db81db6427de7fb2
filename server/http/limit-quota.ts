/**
 * A token's quota of a UTC calendar month, in weighted units (rules/conventions 10). Units are counted in the database
 * when answers are recorded, a moment after they were given. On SQLite this process adds to what it read once what it
 * answered since. On Postgres it takes units from the counter before it lets requests in, and what it did not need goes
 * back whenever its answers are recorded: all processes together never let in more than the quota.
 */
import { itemAt } from "../../core/values/text.ts"
import { type Flushing, monthEnd, monthKey, monthOf } from "./limit-month.ts"

/** The time in which a process uses its own counts because the database does not respond. */
export interface OutageOptions {
  /** Called on the first failure after a success. */
  readonly failed: (error: unknown) => void
  /** Milliseconds that only grow. */
  readonly elapsed?: () => number
}
interface Outage {
  /** The database failed a moment ago, and is not queried again yet. */
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
  /** True when the request does not fit any more. */
  readonly exceeded: boolean
  readonly weight: number
  /** When the next month begins: seconds from now, and seconds since 1970. */
  readonly retry_after_seconds: number
  readonly reset_at_seconds: number
}
/** A request that was let in. */
export interface Admission {
  readonly state: QuotaState
  /** To be called once the request is answered, with its cost; only the first call counts. */
  readonly settle: (units: number) => void
}
interface Asking {
  readonly token_id: number
  readonly weight: number
  readonly limit: number
  /** Let in whatever was used: work of devices must not be stuck on them. */
  readonly passes: boolean
  /** Milliseconds since 1970. */
  readonly now: number
}
export interface MonthQuota {
  /** A promise, which does not reject, if the database must be queried. */
  readonly admit: (asking: Asking) => Admission | Promise<Admission>
  readonly flushing: (units: ReadonlyMap<number, number>, month: string) => Flushing
}

export interface TakingUnits {
  readonly token_id: number
  readonly month: string
  readonly limit: number
  /** May be negative: reservations under a higher limit are returned. */
  readonly needed: number
  readonly used: number
}
export interface TakenUnits {
  /** Undefined when `needed` does not fit. */
  readonly granted: number | undefined
  /** Total of all processes, including the grant. */
  readonly units: number
}
interface MonthCounters extends OutageOptions {
  /** Takes {@link unitsGranted} from the counter that all processes share. Undefined: this process counts alone. */
  readonly take: ((taking: TakingUnits) => Promise<TakenUnits>) | undefined
  readonly read: (token_id: number, month: string) => Promise<number>
}

/** A process reserves at most this part of what remains. */
const part_of_remaining = 8
/** How many units a process is given that needs `needed` and used `used` lately; undefined when those do not fit. */
export const unitsGranted = (remaining: number, needed: number, used: number): number | undefined =>
  needed > remaining ? undefined : Math.max(needed, Math.min(used, Math.trunc(remaining / part_of_remaining)))
/** The same in SQL, with integers; 0 if they do not fit. */
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
  /** The counter as known here, including this process's reservations. */
  units: number
  /** Units in the counter that this process took and has not recorded as used. */
  held: number
  /** Weights of requests that are not answered yet. */
  in_flight: number
  /** Units of answers that are not recorded yet. */
  unrecorded: number
  /** Units of answers since, and in, the last record. */
  lately: number
  refused: { readonly weight: number; readonly limit: number; readonly until: number } | undefined
  recording: { readonly units: number; readonly recorded: number; readonly returned: number } | undefined
  asking: boolean
  waiting: Array<Waiting>
}
/** How long a refusal is trusted: others may return unused reservations. */
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
/** Units this process has reserved and does not need yet; negative where requests pass without any. */
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

/** The admission as far as this process can decide; undefined if the database must be queried. */
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

/** Reserves units for the first `count` waiting requests; false if they do not fit. */
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
        // Where not all of them fit, some may.
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

/** The present month of each token, and the one before, which may still be recorded. */
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

/** As if it were recorded already; {@link restore} takes it back. Answers how many units go back to the counter. */
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

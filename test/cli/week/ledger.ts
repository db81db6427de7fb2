/**
 * A plain ledger kept by the script: status of jobs, location of units, bulk goods out. Expected shortages, day lists
 * and counts follow from it, without the product's code.
 */
import { dayAt, instantAt, type Job } from "./jobs.ts"
import { bulk, kit_parts, sealed_case, type Sku, type StoreName, units } from "./stock.ts"

interface Line {
  readonly sku: Sku
  quantity: number
  /** Units by their code: out, or back. */
  readonly units: Map<string, "out" | "back">
  sent: number
  returned: number
}
interface Standing {
  readonly job: Job
  id: number
  state: "draft" | "quotation" | "order" | "cancelled"
  from: number
  to: number
  readonly lines: Array<Line>
}
export interface Unit {
  readonly code: string
  readonly sku: "HEAD" | "CAM" | "LENS"
  readonly store: StoreName
  service: "in service" | "quarantine" | "in repair" | "lost"
  service_from: number
}
/** Sub-hired bulk goods. */
interface Hired {
  readonly sku: Sku
  readonly store: StoreName
  quantity: number
  readonly from: number
  readonly to: number
}
type Stocked = Exclude<Sku, "CAMKIT">
const isKit = (sku: Sku): sku is "CAMKIT" => sku === "CAMKIT"
const isUnit = (sku: Sku): sku is "HEAD" | "CAM" | "LENS" => sku === "HEAD" || sku === "CAM" || sku === "LENS"

export class Ledger {
  readonly standing = new Map<string, Standing>()
  readonly units = new Map<string, Unit>()
  readonly hired: Array<Hired> = []
  /** Units in the case, wherever it is. */
  readonly cased = new Set<string>(sealed_case.units)
  constructor() {
    for (const sku of ["HEAD", "CAM", "LENS"] as const)
      for (const store of ["Bristol", "Berlin"] as const)
        for (const code of units[sku][store])
          this.units.set(code, { code, sku, store, service: "in service", service_from: 0 })
  }
  of(subject: string): Standing {
    const found = this.standing.get(subject)
    if (found === undefined) throw new Error(`the ledger knows no job ${subject}`)
    return found
  }
  unit(code: string): Unit {
    const found = this.units.get(code)
    if (found === undefined) throw new Error(`the ledger knows no unit ${code}`)
    return found
  }
  asked(job: Job, id: number): Standing {
    const standing: Standing = {
      job,
      id,
      state: "draft",
      from: instantAt(job.store, job.from),
      to: instantAt(job.store, job.to),
      lines: Object.entries(job.lines).map(([sku, quantity]) => ({
        sku: sku as Sku,
        quantity: quantity ?? 0,
        units: new Map(),
        sent: 0,
        returned: 0
      }))
    }
    this.standing.set(job.subject, standing)
    return standing
  }
  /** Records a scan out: a unit's code for the line of its product or kit, `SKU*N` for bulk goods. */
  wentOut(subject: string, code: string): void {
    if (code === sealed_case.code) {
      for (const unit of this.cased) this.wentOut(subject, unit)
      return
    }
    const { lines } = this.of(subject)
    const [sku, many] = code.split("*")
    if (many !== undefined) {
      const line = lines.find((one) => one.sku === sku)
      if (line === undefined) throw new Error(`${subject} has no ${code}`)
      line.sent += Number(many)
      return
    }
    const unit = this.unit(code)
    const line =
      lines.find((one) => one.sku === unit.sku && one.units.size < one.quantity) ?? lines.find((one) => isKit(one.sku))
    if (line === undefined) throw new Error(`${subject} has no line for ${code}`)
    line.units.set(code, "out")
  }
  cameBack(subject: string, code: string): void {
    if (code === sealed_case.code) {
      for (const unit of this.cased) this.cameBack(subject, unit)
      return
    }
    const { lines } = this.of(subject)
    const [sku, many] = code.split("*")
    if (many !== undefined) {
      const line = lines.find((one) => one.sku === sku)
      if (line !== undefined) line.returned += Number(many)
      return
    }
    for (const line of lines) if (line.units.has(code)) line.units.set(code, "back")
  }
  goesOutOfService(code: string, service: Unit["service"], since: number): void {
    const unit = this.unit(code)
    if (unit.service === "in service") unit.service_from = since
    unit.service = service
  }
  /** The job that has the unit. */
  holder(code: string): Standing | undefined {
    return [...this.standing.values()].find(({ lines }) => lines.some((line) => line.units.get(code) === "out"))
  }
  isFree(code: string): boolean {
    return this.unit(code).service === "in service" && this.holder(code) === undefined
  }
  /** Units a store could dispatch now; those in the sealed case stay. */
  freeUnits(sku: string, store: StoreName): ReadonlyArray<string> {
    return [...this.units.values()].flatMap(({ code, ...unit }) =>
      unit.sku === sku && unit.store === store && !this.cased.has(code) && this.isFree(code) ? [code] : []
    )
  }
  moves(subject: string, from: Job["from"], to: Job["to"]): void {
    const standing = this.of(subject)
    standing.from = instantAt(standing.job.store, from)
    standing.to = instantAt(standing.job.store, to)
  }
  /** Codes still to dispatch for a job, without `skip`. */
  codesFor(subject: string, skip: ReadonlyArray<string> = []): ReadonlyArray<string> {
    const { job, lines } = this.of(subject)
    const taken = new Set(skip)
    const take = (sku: string, many: number): ReadonlyArray<string> => {
      const codes = this.freeUnits(sku, job.store)
        .filter((code) => !taken.has(code))
        .slice(0, many)
      for (const code of codes) taken.add(code)
      return codes
    }
    return lines.flatMap((line): ReadonlyArray<string> => {
      if (isKit(line.sku))
        return Object.entries(kit_parts).flatMap(([part, per_kit]) => {
          const has = [...line.units.keys()].filter((code) => this.unit(code).sku === part).length
          return take(part, line.quantity * per_kit - has)
        })
      if (isUnit(line.sku)) return take(line.sku, line.quantity - line.units.size)
      return line.quantity > line.sent ? [`${line.sku}*${line.quantity - line.sent}`] : []
    })
  }
  /** Codes out with a job. */
  codesOut(subject: string): ReadonlyArray<string> {
    return this.of(subject).lines.flatMap((line) => [
      ...[...line.units].flatMap(([code, where]) => (where === "out" ? [code] : [])),
      ...(line.sent > line.returned ? [`${line.sku}*${line.sent - line.returned}`] : [])
    ])
  }
}

/** Counts of a line's pieces: a kit counts as one, and as out or back only with all its parts. */
const piecesOf = (ledger: Ledger, line: Line): { readonly gone: number; readonly back: number } => {
  if (!isKit(line.sku) && !isUnit(line.sku)) return { gone: line.sent, back: line.returned }
  const has = (sku: string, is_back: boolean): number =>
    [...line.units].filter(([code, where]) => ledger.unit(code).sku === sku && (!is_back || where === "back")).length
  const of = (is_back: boolean): number =>
    isKit(line.sku)
      ? Math.min(...Object.entries(kit_parts).map(([part, per_kit]) => Math.floor(has(part, is_back) / per_kit)))
      : has(line.sku, is_back)
  return { gone: of(false), back: of(true) }
}
interface Counts {
  readonly wanted: number
  readonly packed: number
  readonly out: number
  readonly back: number
}
export const countsOf = (ledger: Ledger, { lines }: Standing): Counts => {
  const all = lines.map((line) => ({ wanted: line.quantity, ...piecesOf(ledger, line) }))
  const sum = (of: (one: (typeof all)[number]) => number): number => all.reduce((total, one) => total + of(one), 0)
  return {
    wanted: sum(({ wanted }) => wanted),
    packed: sum(({ gone, wanted }) => Math.min(gone, wanted)),
    out: sum(({ back, gone }) => gone - back),
    back: sum(({ back }) => back)
  }
}
/** Phase of the hire: "waiting" until something is dispatched, "over" once all of it is back. */
export const phaseOf = ({ lines, state }: Standing): "none" | "waiting" | "out" | "over" => {
  if (state !== "order") return "none"
  const gone = lines.some((line) => line.units.size > 0 || line.sent > 0)
  const still_out = lines.some((line) => [...line.units.values()].includes("out") || line.sent > line.returned)
  return still_out ? "out" : gone ? "over" : "waiting"
}

const part_of = (sku: Stocked, line: Line): number =>
  line.sku === sku ? 1 : isKit(line.sku) && (sku === "CAM" || sku === "LENS") ? kit_parts[sku] : 0

interface Demand {
  readonly from: number
  readonly to: number
  readonly quantity: number
}
const for_ever = Number.POSITIVE_INFINITY
/** Demand of one job's lines for a product; overdue units have no end. */
const demandsOf = (ledger: Ledger, job: Standing, line: Line, sku: Stocked, now: number): ReadonlyArray<Demand> => {
  const per = part_of(sku, line)
  if (per === 0 || job.state !== "order" || phaseOf(job) === "over") return []
  if (!isUnit(sku)) {
    const is_overdue = job.to < now && line.sent > line.returned
    return [{ from: job.from, to: is_overdue ? for_ever : job.to, quantity: line.quantity - line.returned }]
  }
  const own = [...line.units].filter(([code]) => ledger.unit(code).sku === sku)
  const remainder = line.quantity * per - own.length
  return [
    ...(remainder > 0 ? [{ from: job.from, to: job.to, quantity: remainder }] : []),
    ...own
      .filter(([, where]) => where === "out")
      .map(() => ({ from: Math.min(job.from, now), to: job.to < now ? for_ever : job.to, quantity: 1 }))
  ]
}

interface Short {
  readonly subject: string
  readonly sku: Sku
  readonly requested: number
  readonly shortfall: number
}
/** Lines that are short on some day of their hire. */
export const shortOf = (ledger: Ledger, now: number): ReadonlyArray<Short> =>
  [...ledger.standing.values()].flatMap((job) => {
    if (job.state === "cancelled" || phaseOf(job) === "over") return []
    return job.lines.flatMap((line) => {
      const back = piecesOf(ledger, line).back
      const requested = line.quantity - back
      if (requested <= 0) return []
      const free = freeFor(ledger, job, line, now)
      const shortfall = requested - Math.max(0, Math.min(requested, free))
      return shortfall > 0 ? [{ subject: job.job.subject, sku: line.sku, requested, shortfall }] : []
    })
  })
const freeFor = (ledger: Ledger, job: Standing, line: Line, now: number): number => {
  const skus: ReadonlyArray<Stocked> = isKit(line.sku) ? ["CAM", "LENS"] : [line.sku]
  let least = for_ever
  for (const [from, to] of storeDays(job)) {
    const free = skus.map((sku) => {
      const others = [...ledger.standing.values()]
        .filter((one) => one.job.store === job.job.store)
        .flatMap((one) => one.lines.flatMap((other) => (other === line ? [] : demandsOf(ledger, one, other, sku, now))))
      const taken = others
        .filter((one) => one.from < to && one.to > from)
        .reduce((sum, { quantity }) => sum + quantity, 0)
      const out_of_service = [...ledger.units.values()].filter(
        (unit) =>
          unit.sku === sku &&
          unit.store === job.job.store &&
          unit.service !== "in service" &&
          unit.service_from < to &&
          ledger.holder(unit.code) === undefined
      ).length
      return Math.floor((stockOf(ledger, sku, job.job.store, from, to) - taken - out_of_service) / part_of(sku, line))
    })
    least = Math.min(least, ...free)
  }
  return least
}
const stockOf = (ledger: Ledger, sku: Stocked, store: StoreName, from: number, to: number): number =>
  (isUnit(sku) ? units[sku][store].length : bulk[sku][store]) +
  ledger.hired
    .filter((one) => one.sku === sku && one.store === store && one.from < to && one.to > from)
    .reduce((sum, { quantity }) => sum + quantity, 0)
/** Days of the hire on its store's clock. */
const storeDays = ({ from, job, to }: Standing): ReadonlyArray<readonly [number, number]> => {
  const all = Array.from({ length: 12 }, (_, day) =>
    dayAt(job.store, new Date(Date.UTC(2027, 6, 4 + day)).toISOString().slice(0, 10))
  )
  return all.filter(([first, last]) => from < last && to > first)
}

interface DayLists {
  readonly going_out: ReadonlyArray<string>
  readonly coming_back: ReadonlyArray<string>
  readonly late: ReadonlyArray<string>
  readonly to_prepare: ReadonlyArray<string>
}
/** The day's lists by the ledger, each with its subjects in alphabetical order. */
export const listsOf = (ledger: Ledger, now: number): DayLists => {
  const open = [...ledger.standing.values()].filter(({ state }) => state === "order")
  const dayOf = ({ job }: Standing): readonly [number, number] =>
    [0, 1].map((day) => dayAt(job.store, localDate(job.store, now))[0] + day * 86_400_000) as [number, number]
  const subjects = (which: (standing: Standing) => boolean): ReadonlyArray<string> =>
    open
      .filter(which)
      .map(({ job }) => job.subject)
      .sort()
  const isToGo = (one: Standing): boolean => {
    const { back, out, wanted } = countsOf(ledger, one)
    return phaseOf(one) !== "over" && out + back < wanted
  }
  return {
    going_out: subjects((one) => isToGo(one) && one.from < dayOf(one)[1] && one.to > dayOf(one)[0]),
    to_prepare: subjects((one) => isToGo(one) && one.from < dayOf(one)[1] + 86_400_000 && one.to > dayOf(one)[0]),
    coming_back: subjects((one) => phaseOf(one) === "out" && one.to >= now && one.to < dayOf(one)[1]),
    late: subjects((one) => phaseOf(one) === "out" && one.to < now)
  }
}
const localDate = (store: StoreName, now: number): string =>
  new Date(now + (store === "Bristol" ? 1 : 2) * 3_600_000).toISOString().slice(0, 10)

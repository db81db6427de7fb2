/**
 * Counts availability minute by minute: `Intl` gives the slot of each minute, and every demand and stock level is
 * checked at every minute. Slow, and shares no code with the rules it checks.
 */
export interface CountedClaim {
  readonly from: number
  readonly to: number
  readonly quantity: number
}
interface CountedStock extends CountedClaim {
  readonly is_unit: boolean
}
interface CountedSlot {
  readonly slot_start: string
  readonly total_stock: number
  readonly total_demanded: number
  readonly available: number
}

const minute = 60_000
/** Longer than any slot, so that the window's first slot is counted from its start. */
const lead = 26 * 60

/** Wall clocks by zone; each caches the instants it formatted. */
const clocks = new Map<string, (instant: number) => string>()
const clockOf = (zone: string) => {
  const clock = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit"
  })
  const shown = new Map<number, string>()
  return (instant: number): string => {
    const text = shown.get(instant) ?? clock.format(instant)
    shown.set(instant, text)
    return text
  }
}
/** Label of an instant's slot: its UTC hour, or the zone's day or quarter of a day. */
const labelOf = (instant: number, zone: string, resolution: string): string => {
  if (resolution === "hourly") return new Date(instant).toISOString().slice(0, 13)
  const clock = clocks.get(zone) ?? clockOf(zone)
  clocks.set(zone, clock)
  const [day = "", hour = ""] = clock(instant).split(" ")
  return resolution === "daily" ? day : `${day} ${Math.floor(Number(hour) / 6)}`
}

/** Slots that overlap [from, to), each with all demands and stock in any of its minutes. Whole minutes only. */
export const countByMinutes = (
  zone: string,
  resolution: string,
  from: number,
  to: number,
  demands: ReadonlyArray<CountedClaim>,
  stock: ReadonlyArray<CountedStock>
): ReadonlyArray<CountedSlot> => {
  const slots: Array<{
    readonly label: string
    readonly start: number
    readonly claims: Set<CountedClaim>
    readonly stock: Set<CountedStock>
    isAsked: boolean
  }> = []
  for (let instant = from - lead * minute; ; instant += minute) {
    const label = labelOf(instant, zone, resolution)
    const last = slots.at(-1)
    // A slot continues if the clock goes back to before its start.
    if (last === undefined || label > last.label) {
      if (instant >= to) break
      slots.push({ label, start: instant, claims: new Set(), stock: new Set(), isAsked: false })
    }
    const slot = slots.at(-1)!
    if (instant >= from && instant < to) slot.isAsked = true
    for (const one of demands) if (one.from <= instant && instant < one.to) slot.claims.add(one)
    for (const one of stock) if (one.from <= instant && instant < one.to) slot.stock.add(one)
  }
  return slots
    .filter((slot) => slot.isAsked)
    .map((slot) => {
      const total_stock = Math.floor(
        [...slot.stock].reduce((sum, one) => sum + (one.is_unit ? 1 : one.quantity), 0) + 0.5
      )
      const total_demanded = [...slot.claims].reduce((sum, one) => sum + one.quantity, 0)
      return {
        slot_start: new Date(slot.start).toISOString(),
        total_stock,
        total_demanded,
        available: total_stock - total_demanded
      }
    })
}

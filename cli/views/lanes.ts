/** Which lane a claim's bar lies in: a lane per unit, quantities below one another as far as they overlap. */

export interface Demand {
  readonly demand_id: number
  readonly asset_id: number | null
  readonly asset_serial: string | null
  readonly quantity: number
  readonly source_type: string
  readonly source_name: string | null
  readonly phase: string
  /** Preparation and turnaround included. */
  readonly period_start: string
  readonly period_end: string
  /** The hire itself. */
  readonly starts_at: string
  readonly ends_at: string
}
export interface Unit {
  readonly id: number
  readonly name: string
  readonly more: string | undefined
}

export interface Group {
  readonly name: string
  /** A second, quieter line. */
  readonly more: string | undefined
  /** Rows of bars that do not overlap; none for a unit nobody claims. */
  readonly rows: ReadonlyArray<ReadonlyArray<Demand>>
}

/** Units in the order of their names, then what is claimed without saying which unit. */
export const groupsOf = (
  demands: ReadonlyArray<Demand>,
  units: ReadonlyArray<Unit>,
  is_bulk: boolean
): ReadonlyArray<Group> => {
  const known = new Set(units.map(({ id }) => id))
  const strangers = new Map(
    demands
      .filter((one) => one.asset_id !== null && !known.has(one.asset_id))
      .map((one) => [one.asset_id!, one.asset_serial])
  )
  const all = [
    ...units,
    ...[...strangers].map(([id, serial]): Unit => ({ id, name: serial ?? `Unit ${id}`, more: "not here now" }))
  ]
  const lanes = all
    .sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }) || one.id - other.id)
    .map((unit): Group => ({
      name: unit.name,
      more: unit.more,
      rows: packed(demands.filter((one) => one.asset_id === unit.id))
    }))
  const loose = demands.filter((one) => one.asset_id === null)
  return loose.length === 0
    ? lanes
    : [...lanes, { name: is_bulk ? "Quantities" : "No unit chosen yet", more: undefined, rows: packed(loose) }]
}

/** First fit, by start: each bar in the first row that is free again. */
export const packed = (demands: ReadonlyArray<Demand>): ReadonlyArray<ReadonlyArray<Demand>> => {
  const rows: Array<Array<Demand>> = [],
    ends: Array<number> = []
  const timed = demands.map((demand) => ({
    demand,
    from: Date.parse(demand.period_start),
    to: Date.parse(demand.period_end)
  }))
  for (const { demand, from, to } of timed.sort((a, b) => a.from - b.from || a.demand.demand_id - b.demand.demand_id)) {
    const at = ends.findIndex((end) => end <= from)
    if (at < 0) rows.push([demand])
    else rows[at]!.push(demand)
    ends[at < 0 ? rows.length - 1 : at] = to
  }
  return rows
}

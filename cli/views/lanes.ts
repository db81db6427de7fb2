/** Lanes of the chart: one per unit; quantities that overlap lie below one another. */

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
  /** Rows of bars that do not overlap; none for a unit without demands. */
  readonly rows: ReadonlyArray<ReadonlyArray<Demand>>
}

/** Units by name, then demands that name no unit. */
export const groupsOf = (
  demands: ReadonlyArray<Demand>,
  units: ReadonlyArray<Unit>,
  is_bulk: boolean
): ReadonlyArray<Group> => {
  const known = new Set(units.map(({ id }) => id))
  const elsewhere = new Map(
    demands.flatMap(({ asset_id, asset_serial }) =>
      asset_id === null || known.has(asset_id) ? [] : [[asset_id, asset_serial] as const]
    )
  )
  const all = [
    ...units,
    ...[...elsewhere].map(([id, serial]): Unit => ({ id, name: serial ?? `Unit ${id}`, more: "not here now" }))
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

/** Each bar in the first row that is free at its start. */
export const packed = (demands: ReadonlyArray<Demand>): ReadonlyArray<ReadonlyArray<Demand>> => {
  const rows: Array<Array<Demand>> = [],
    ends: Array<number> = []
  const timed = demands.map((demand) => ({
    demand,
    from: Date.parse(demand.period_start),
    to: Date.parse(demand.period_end)
  }))
  for (const { demand, from, to } of timed.sort((a, b) => a.from - b.from || a.demand.demand_id - b.demand.demand_id)) {
    const free = ends.findIndex((end) => end <= from)
    const at = free < 0 ? rows.length : free
    rows[at] = [...(rows[at] ?? []), demand]
    ends[at] = to
  }
  return rows
}

/** Responses of the availability endpoints (rules/availability 6), as described in OpenAPI. */
import { boolean, choice, date, integer, Shown, text, timestamp } from "../../../kernel/index.ts"
import { phase_labels } from "../rules/demand.ts"

const place = { product_id: integer(), store_id: integer() }
const product_name = text({ nullable: true })
const counts = {
  total_stock: integer(),
  total_demanded: integer(),
  available: integer({ describe: "Quantity available; negative if short" })
}
const demand_breakdown = Shown.map(integer(), { describe: "Quantity by source of the demand" })
const as_of = Shown.optional(timestamp({ describe: "As-of time: computed from events recorded by then" }))
const slot = { slot_start: timestamp(), ...counts, demand_breakdown, pending_checkin_quantity: integer() }
const range = {
  ...place,
  from: timestamp(),
  to: timestamp(),
  min_available: integer({ nullable: true }),
  max_available: integer({ nullable: true }),
  calculated_at: timestamp({ nullable: true })
}
const point = { ...place, date: date(), ...counts, demand_breakdown }

export const pointOrRangeShown = {
  availability: Shown.either(
    Shown.keys({ ...point, as_of }),
    Shown.keys({ ...range, slots: Shown.objects(slot), as_of })
  )
}
export const availableAssetsShown = {
  available_assets: Shown.objects({
    id: integer(),
    item_name: text({ nullable: true }),
    asset_number: text({ nullable: true }),
    serial_number: text({ nullable: true }),
    barcode: text({ nullable: true }),
    location: text({ nullable: true })
  }),
  meta: Shown.meta
}
export const calendarShown = {
  calendar: Shown.keys({
    store_id: integer(),
    from: timestamp(),
    to: timestamp(),
    products: Shown.objects({
      product_id: integer(),
      product_name,
      is_kit: Shown.optional(boolean({ describe: "Whether it is a kit; with include_kits" })),
      days: Shown.objects({ date: date(), available: integer(), has_shortage: boolean(), pending_checkin: integer() })
    })
  })
}

const supply = { source_type: text(), source_id: integer(), quantity: integer() }
const chart = {
  total_stock: integer(),
  demands: Shown.objects({
    demand_id: integer(),
    asset_id: integer({ nullable: true }),
    asset_serial: text({ nullable: true }),
    quantity: integer(),
    source_type: text(),
    source_id: integer(),
    source_name: text({ nullable: true }),
    colour: text({ nullable: true }),
    phase: choice(phase_labels),
    period_start: timestamp(),
    buffer_before_end: timestamp(),
    buffer_after_start: timestamp(),
    period_end: timestamp(),
    starts_at: timestamp(),
    ends_at: timestamp()
  }),
  supplies: Shown.objects(
    { ...supply, starts_at: timestamp(), ends_at: timestamp() },
    { describe: "Goods on their way, counted in total_stock" }
  ),
  shortages: Shown.objects({ from: date(), to: date(), severity: integer(), in_buffer_zone: boolean() })
}
export const ganttShown = {
  gantt: Shown.keys({
    ...place,
    from: timestamp(),
    to: timestamp(),
    ...chart,
    days: Shown.optional(
      Shown.objects(
        { date: date(), available: integer() },
        { describe: "With include_kits: daily availability, limited by components" }
      )
    ),
    parts: Shown.optional(
      Shown.objects(
        {
          product_id: integer(),
          product_name,
          quantity: Shown.number(),
          binding: choice({ pool: "Pool", fixed: "Fixed" }),
          ...chart
        },
        { describe: "With include_kits: a chart for each component" }
      )
    )
  })
}
export const sweepShown = {
  shortages: Shown.objects({
    product_id: integer(),
    product_name,
    store_id: integer(),
    date: date(),
    available: integer(),
    severity: integer(),
    calculated_at: timestamp()
  }),
  meta: Shown.meta
}
export const whyShown = {
  reasons: Shown.keys({
    ...point,
    as_of,
    slot_start: timestamp(),
    slot_end: timestamp(),
    stock_level_ids: Shown.list(integer()),
    supplies: Shown.objects({ ...supply, source_name: text(), from: timestamp(), to: timestamp() }),
    claims: Shown.objects({
      claim_id: integer(),
      source_type: text(),
      source_id: integer(),
      source_name: text({ nullable: true }),
      opportunity_id: integer({ nullable: true }),
      asset_id: integer({ nullable: true }),
      quantity: integer(),
      phase: choice(phase_labels),
      from: timestamp(),
      to: timestamp(),
      is_overdue: boolean()
    }),
    parts: Shown.objects({
      product_id: integer(),
      product_name,
      quantity: Shown.number(),
      available: integer(),
      kits: integer()
    }),
    cases: Shown.objects({
      stock_level_id: integer(),
      container_id: integer({ nullable: true }),
      is_claimed: boolean(),
      is_filled: boolean(),
      missing: Shown.objects({ product_id: integer(), product_name, quantity: Shown.number() })
    })
  })
}
export const whatIfShown = {
  what_if: Shown.keys({
    has_shortage: boolean(),
    lines: Shown.objects({
      line: integer(),
      product_id: integer(),
      product_name,
      store_id: integer(),
      requested_quantity: integer(),
      available_for_line: integer(),
      shortage_quantity: integer(),
      has_shortage: boolean(),
      starts_at: timestamp(),
      ends_at: timestamp()
    }),
    timelines: Shown.objects({ ...range, slots: Shown.objects({ ...slot, available_before: integer() }) })
  })
}
export const earliestFitShown = {
  earliest_fit: Shown.keys({
    store_id: integer(),
    window: Shown.keys({ starts_at: timestamp(), ends_at: timestamp() }, { nullable: true }),
    reason: choice(
      {
        not_enough: "Never that many free at once",
        booked: "Free at times, never long enough",
        no_common_window: "Each product fits by itself, never all together",
        window_too_short: "No permitted start leaves room for the hire"
      },
      { nullable: true }
    ),
    bottleneck: Shown.keys(
      {
        product_id: integer(),
        product_name,
        needed_quantity: integer(),
        most_available: integer(),
        lines: Shown.list(integer())
      },
      { nullable: true }
    )
  })
}

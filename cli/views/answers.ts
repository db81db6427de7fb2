/** Schemas of availability responses, as far as calendar and chart need them (rules/availability). */
import { Schema } from "effect"
import { decoderOf } from "../base/answers.ts"
import type { CalendarProduct } from "./calendar.ts"
import type { Gantt, Part } from "./gantt.ts"

export const decodeCalendar = decoderOf<{ readonly calendar: { readonly products: ReadonlyArray<CalendarProduct> } }>(
  () =>
    Schema.Struct({
      calendar: Schema.Struct({
        products: Schema.Array(
          Schema.Struct({
            product_id: Schema.Finite,
            product_name: Schema.NullOr(Schema.String),
            days: Schema.Array(
              Schema.Struct({
                date: Schema.String,
                available: Schema.Finite,
                has_shortage: Schema.Boolean,
                pending_checkin: Schema.Finite
              })
            )
          })
        )
      })
    })
)

/** Demands on a part of a kit, as in the API. */
interface KitPart extends Omit<Part, "name"> {
  readonly product_id: number
  readonly product_name: string | null
}

export const decodeGantt = decoderOf<{ readonly gantt: Gantt & { readonly parts?: ReadonlyArray<KitPart> } }>(() => {
  const chart = {
    total_stock: Schema.Finite,
    demands: Schema.Array(
      Schema.Struct({
        demand_id: Schema.Finite,
        asset_id: Schema.NullOr(Schema.Finite),
        asset_serial: Schema.NullOr(Schema.String),
        quantity: Schema.Finite,
        source_type: Schema.String,
        source_name: Schema.NullOr(Schema.String),
        phase: Schema.String,
        period_start: Schema.String,
        period_end: Schema.String,
        starts_at: Schema.String,
        ends_at: Schema.String
      })
    ),
    shortages: Schema.Array(
      Schema.Struct({ from: Schema.String, to: Schema.String, severity: Schema.Finite, in_buffer_zone: Schema.Boolean })
    )
  }
  const part = Schema.Struct({
    product_id: Schema.Finite,
    product_name: Schema.NullOr(Schema.String),
    quantity: Schema.Finite,
    ...chart
  })
  return Schema.Struct({
    gantt: Schema.Struct({
      from: Schema.String,
      to: Schema.String,
      ...chart,
      parts: Schema.optionalKey(Schema.Array(part))
    })
  })
})

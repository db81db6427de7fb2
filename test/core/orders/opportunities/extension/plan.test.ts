/** Events of extending a hire, given its lines and the new dates. */
import { describe, it } from "vitest"
import type { JsonObject } from "../../../../../core/kernel/fields/field.ts"
import { extendHire } from "../../../../../core/orders/opportunities/extension/facts.ts"
import { planExtension, type WhichLines } from "../../../../../core/orders/opportunities/extension/plan.ts"
import { opportunityEvents } from "../../../../../core/orders/opportunities/events/participants.ts"
import { decider, type Facts } from "../../../decider.ts"
import { ends_at, line, line_id, opportunity, opportunity_id, starts_at, stateOf } from "../state.ts"

const { given } = decider(opportunityEvents)
const stream = `opportunity:${opportunity_id}`
const later = "2026-09-08T17:00:00.000Z"
const sooner = "2026-09-03T17:00:00.000Z"

const extended =
  (values: { readonly ends_at?: string; readonly starts_at?: string }, lines: WhichLines = "follow") =>
  (facts: Facts) => {
    const state = stateOf(facts)
    const plan = planExtension(state.opportunity, values, lines)
    return extendHire({ state, plan, promised: [] }, null, facts.context)
  }
const plain = { item_id: null, item_type: "service", tax_rate: "0.0000" } as const
const hire = (set: object = {}) => opportunity({ state: 1, status: 0, ...set })
const header = (
  set: JsonObject,
  was: JsonObject,
  followed: ReadonlyArray<number>,
  kept: ReadonlyArray<number> = []
) => ({
  stream,
  type: "opportunity.extended",
  data: { id: opportunity_id, set, was, also: { lines_followed: [...followed], lines_kept: [...kept] } }
})
const dated = (id: number, set: JsonObject, was: JsonObject) => ({
  stream,
  type: "opportunity.item_dates_changed",
  data: { id: opportunity_id, item_id: id, set, was, also: { total: 0 } }
})

describe("a hire with a new end", () => {
  it("moves the lines that ended with the hire, and no other lines", () => {
    given(hire(), line(plain), line({ ...plain, id: 71, path: "0002", ends_at: sooner }))
      .when(extended({ ends_at: later }))
      .thenEvents(
        header({ ends_at: later }, { ends_at }, [line_id], [71]),
        dated(line_id, { ends_at: later }, { ends_at })
      )
  })
  it("moves a charge end only if it equals the hire's end", () => {
    given(hire({ charge_ends_at: ends_at }))
      .when(extended({ ends_at: later }))
      .thenEvents(header({ charge_ends_at: later, ends_at: later }, { charge_ends_at: ends_at, ends_at }, []))
    given(hire({ charge_ends_at: sooner }))
      .when(extended({ ends_at: later }))
      .thenEvents(header({ ends_at: later }, { ends_at }, []))
  })
  it("moves the start and the end of a line separately", () => {
    const begins = "2026-08-31T09:00:00.000Z"
    given(hire(), line({ ...plain, ends_at: sooner }))
      .when(extended({ starts_at: begins, ends_at: later }))
      .thenEvents(
        header({ starts_at: begins, ends_at: later }, { starts_at, ends_at }, [], [line_id]),
        dated(line_id, { starts_at: begins }, { starts_at })
      )
  })
  it("pins lines without their own dates to the old end on request", () => {
    given(hire(), line({ ...plain, starts_at: null, ends_at: null }))
      .when(extended({ ends_at: later }, "keep"))
      .thenEvents(
        header({ ends_at: later }, { ends_at }, [], [line_id]),
        dated(line_id, { ends_at }, { ends_at: null })
      )
  })
  it("stores an order's first agreed dates once", () => {
    given(opportunity({ state: 2, status: 0 }))
      .when(extended({ ends_at: later }))
      .thenEvents(header({ ends_at: later, original_ends_at: ends_at }, { ends_at, original_ends_at: null }, []))
    given(opportunity({ state: 2, status: 0, original_ends_at: sooner }))
      .when(extended({ ends_at: later }))
      .thenEvents(header({ ends_at: later }, { ends_at }, []))
  })
  it("changes nothing if the hire has that end already", () => {
    given(hire(), line(plain)).when(extended({ ends_at })).thenNothing()
  })
  it("is rejected for a cancelled order, for a group, and without a date", () => {
    given(opportunity({ state: 2, status: 6 }))
      .when(extended({ ends_at: later }))
      .thenRefused({ state: ["This order is cancelled. It can no longer be changed."] })
    given(hire(), line({ ...plain, item_type: "group", name: "Lighting" }))
      .when(extended({ ends_at: later }, [line_id]))
      .thenRefused({ "lines.0": ["Lighting is a group, which has no dates; name the lines in it."] })
    given(hire())
      .when(extended({}))
      .thenRefused({ ends_at: ["Say when the hire ends now, or when it begins: give ends_at."] })
  })
})

import ICAL from "ical.js"
import { describe, expect, it } from "vitest"
import { calendarFeed, orderEntries } from "../../../../core/overview/calendar/feed.ts"
import { chosenKinds, kindsIn, kindsText } from "../../../../core/overview/calendar/kinds.ts"
import { initialRow } from "../../../../core/kernel/tables/field-schema.ts"
import { opportunities, type OpportunityRow } from "../../../../core/orders/opportunities/tables/opportunities.ts"

const names: Parameters<typeof orderEntries>[1] = {
  customer: "Acme Events",
  venue: "Town Hall",
  store: "Leeds",
  delivery_address: "1 High Street, LS1 1AA, Leeds",
  collection_address: "Dock 3, LS2 2BB, Leeds",
  zone: "Europe/London"
}
const since = "2026-01-01T00:00:00.000Z"
const order = (more: Partial<OpportunityRow> = {}): OpportunityRow => ({
  ...initialRow(opportunities),
  created_at: since,
  updated_at: since,
  deleted_at: null,
  id: 9,
  number: "0000000012",
  subject: "Gala; summer, big",
  state: 2,
  status: 0,
  starts_at: "2026-07-01T09:00:00.000Z",
  ends_at: "2026-07-03T22:59:59.000Z",
  ...more
})
const events = (row: OpportunityRow, kinds = ["orders", "dispatch", "returns"], of = names) => {
  const text = calendarFeed(
    [],
    { generated_at: "2026-06-18T12:00:00.000Z", host: "hire.example", calendar_name: "x", zone: "UTC", url: "" },
    orderEntries(row, of, chosenKinds(kinds), since)
  )
  const parsed = new ICAL.Component(ICAL.parse(text) as ConstructorParameters<typeof ICAL.Component>[0])
  return Object.fromEntries(
    parsed.getAllSubcomponents("vevent").map((one) => {
      const event = new ICAL.Event(one)
      return [
        event.uid,
        {
          summary: event.summary,
          location: event.location,
          description: event.description,
          starts: event.startDate.toString(),
          ends: event.endDate.toString(),
          status: one.getFirstPropertyValue("status"),
          done: one.getFirstPropertyValue("x-completed"),
          transp: one.getFirstPropertyValue("transp")
        }
      ]
    })
  )
}

describe("an order in a calendar", () => {
  it("has its hire, dispatch and return, each with its own UID", () => {
    const description = "Order 12\nCustomer: Acme Events"
    const shown = { description, status: "CONFIRMED", done: null, transp: "TRANSPARENT" }
    expect(events(order())).toEqual({
      "order-9@hire.example": {
        summary: "12 Gala; summer, big (Acme Events)",
        location: "Town Hall, 1 High Street, LS1 1AA, Leeds",
        starts: "2026-07-01T09:00:00Z",
        ends: "2026-07-03T22:59:59Z",
        ...shown
      },
      "order-9-dispatch@hire.example": {
        summary: "Out: 12 Gala; summer, big (Acme Events)",
        location: "Town Hall, 1 High Street, LS1 1AA, Leeds",
        starts: "2026-07-01T09:00:00Z",
        ends: "2026-07-01T09:30:00Z",
        ...shown
      },
      // The hire ends with a store's day, so the return fills that day.
      "order-9-return@hire.example": {
        summary: "Back: 12 Gala; summer, big (Acme Events)",
        location: "Town Hall, Dock 3, LS2 2BB, Leeds",
        starts: "2026-07-03",
        ends: "2026-07-04",
        ...shown
      }
    })
  })
  it("fills whole days in the store's time zone", () => {
    const days = order({ starts_at: "2026-06-30T23:00:00.000Z" })
    expect(events(days, ["orders"])["order-9@hire.example"]).toMatchObject({ starts: "2026-07-01", ends: "2026-07-04" })
    expect(events(days, ["orders"], { ...names, zone: "UTC" })["order-9@hire.example"]).toMatchObject({
      starts: "2026-06-30T23:00:00Z"
    })
  })
  it("has the planned dispatch and return times, or else the hire's start and end", () => {
    const planned = events(
      order({
        deliver_starts_at: "2026-06-30T14:00:00.000Z",
        deliver_ends_at: "2026-06-30T16:00:00.000Z",
        collect_starts_at: "2026-07-04T08:00:00.000Z"
      }),
      ["dispatch", "returns"]
    )
    expect(planned["order-9-dispatch@hire.example"]).toMatchObject({
      starts: "2026-06-30T14:00:00Z",
      ends: "2026-06-30T16:00:00Z"
    })
    expect(planned["order-9-return@hire.example"]).toMatchObject({
      starts: "2026-07-04T08:00:00Z",
      ends: "2026-07-04T08:30:00Z"
    })
    const loaded = order({ load_starts_at: "2026-06-30T10:00:00.000Z", deliver_starts_at: "2026-06-30T14:00:00.000Z" })
    expect(events(loaded, ["dispatch"])["order-9-dispatch@hire.example"]).toMatchObject({
      starts: "2026-06-30T10:00:00Z"
    })
  })
  it("is dispatched and returned at the store if the customer collects and returns", () => {
    const own = events(order({ customer_collecting: true, customer_returning: true }))
    expect(own["order-9-dispatch@hire.example"]).toMatchObject({ location: "Leeds" })
    expect(own["order-9-return@hire.example"]).toMatchObject({ location: "Leeds" })
    expect(own["order-9@hire.example"]!.description).toContain("The customer collects.")
  })
  it.each([
    [0, "CONFIRMED", [null, null, null]],
    [1, "CONFIRMED", [null, null, null]],
    [2, "CONFIRMED", [null, "TRUE", null]],
    [3, "CONFIRMED", [null, "TRUE", "TRUE"]],
    [4, "CONFIRMED", [null, "TRUE", "TRUE"]],
    [5, "CONFIRMED", ["TRUE", "TRUE", "TRUE"]],
    [6, "CANCELLED", [null, null, null]]
  ])("has for the order status %d the event status %s, and its ended events marked completed", (status, said, done) => {
    const shown = Object.values(events(order({ status })))
    expect(shown.map((one) => one.status)).toEqual([said, said, said])
    expect(
      ["order-9", "order-9-dispatch", "order-9-return"].map(
        (uid) => events(order({ status }))[`${uid}@hire.example`]!.done
      )
    ).toEqual(done)
  })
  it("is absent if it has no dates or ended before the feed starts, and needs only one date", () => {
    expect(events(order({ starts_at: null, ends_at: null }))).toEqual({})
    expect(events(order({ starts_at: "2025-01-01T09:00:00.000Z", ends_at: "2025-12-01T09:00:00.000Z" }))).toEqual({})
    const uids = (more: Partial<OpportunityRow>) =>
      Object.keys(events(order(more))).map((uid) => uid.replace("@hire.example", ""))
    expect(uids({ starts_at: "2025-01-01T09:00:00.000Z" })).toEqual(["order-9", "order-9-return"])
    expect(uids({ ends_at: null })).toEqual(["order-9", "order-9-dispatch"])
  })
  it("omits missing names and values", () => {
    const nowhere = { venue: null, store: null, delivery_address: null, collection_address: null }
    const none = { ...nowhere, customer: null, zone: "UTC" }
    expect(events(order({ number: null }), ["orders"], none)["order-9@hire.example"]).toMatchObject({
      summary: "Gala; summer, big",
      location: null,
      description: null
    })
  })
})

describe("the kinds of entries in a calendar", () => {
  it("are activities by default, and are written and read in one order only", () => {
    expect(chosenKinds(undefined)).toEqual(["activities"])
    expect(chosenKinds([])).toEqual(["activities"])
    expect(chosenKinds(["returns", "orders", "returns"])).toEqual(["orders", "returns"])
    expect(kindsText(["activities"])).toBeUndefined()
    expect(kindsText(["orders", "returns"])).toBe("orders,returns")
    expect(kindsIn("orders,returns")).toEqual(["orders", "returns"])
    for (const text of ["returns,orders", "orders,", "orders,orders", "activities", "", "nothing", "orders,x"])
      expect(kindsIn(text), text).toBeUndefined()
  })
})

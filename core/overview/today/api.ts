/** `GET /today`: the day's work at a store, or at all of them (rules/today). */
import { Effect } from "effect"
import { invoice_statuses } from "../../billing/state/tables.ts"
import { boolean, choice, date, first_day, get, integer, invalidField, last_day, later } from "../../kernel/index.ts"
import { ok, ref, Shown, text, timestamp, type Slice } from "../../kernel/index.ts"
import { pieces_shown } from "../../orders/opportunities/state/index.ts"

const reading = later(() => import("./today.ts"))

const nullableText = () => text({ nullable: true })
const orderShown = {
  id: integer(),
  number: nullableText(),
  subject: text(),
  member_id: integer({ nullable: true }),
  member_name: nullableText(),
  store_id: integer({ nullable: true }),
  store_name: nullableText(),
  timezone: text({ describe: "Store's time zone, else the company's" }),
  state_name: text(),
  status_name: text(),
  at: timestamp({ nullable: true, describe: "Planned departure or return, by the phases or else the hire dates" }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  is_late: boolean({ describe: "Whether dispatch or return is overdue" }),
  has_shortage: boolean(),
  to_replace: integer({ describe: "Number of allocated units out of service, to be replaced" }),
  ...pieces_shown
}
const more = boolean({ describe: "Whether there are more entries" })
const ordersShown = Shown.keys({ count: integer(), more, orders: Shown.objects(orderShown) })
const dueShown = Shown.keys(
  {
    count: integer(),
    purchase_orders: Shown.objects({
      id: integer(),
      number: nullableText(),
      subject: nullableText(),
      supplier_name: nullableText(),
      store_name: nullableText(),
      timezone: text(),
      at: timestamp(),
      is_late: boolean(),
      pieces: Shown.number()
    })
  },
  { nullable: true, describe: "Purchase orders due; null without permission to list them" }
)
export const todayShown = {
  date: text({ describe: "Day on the store's clock; for all stores, on the company's" }),
  generated_at: timestamp(),
  store: Shown.keys({ id: integer(), name: text(), timezone: text() }, { nullable: true }),
  going_out: ordersShown,
  coming_back: ordersShown,
  late: ordersShown,
  to_prepare: ordersShown,
  short: ordersShown,
  unpaid: Shown.keys(
    {
      count: integer(),
      more,
      totals: Shown.objects({ currency_code: text(), count: integer(), outstanding: text() }),
      invoices: Shown.objects({
        id: integer(),
        number: nullableText(),
        subject: nullableText(),
        member_name: nullableText(),
        status: choice(invoice_statuses),
        due_at: timestamp({ nullable: true }),
        days_late: integer(),
        currency_code: text(),
        outstanding: text()
      })
    },
    { nullable: true, describe: "Unpaid invoices; null without permission to list them" }
  ),
  sub_hire_back: dueShown,
  sub_hire_in: dueShown
}

const today = get("/api/v1/today", {
  answer: { today: Shown.keys(todayShown) },
  name: "today.show",
  summary: "Show a day's work: orders out, back, late, short and to prepare; unpaid invoices",
  ability: "opportunities:read",
  permission: "opportunities.view",
  fields: {
    store_id: ref("stores", { nullable: true, describe: "Store; default: all stores" }),
    date: date({ nullable: true, describe: "Day; default: today on the store's clock" })
  },
  run: Effect.fnUntraced(function* (input) {
    const date = input.values.date ?? undefined
    if (date !== undefined && (date < first_day || date > last_day))
      return yield* Effect.fail(invalidField("date", `The date must be a day from ${first_day} to ${last_day}.`))
    const { now, settings, viewer } = input
    const { todayFor } = yield* reading
    return ok({ today: yield* todayFor({ store_id: input.values.store_id ?? undefined, date, now, settings, viewer }) })
  })
})

export const todaySlice: Slice = { name: "today", endpoints: [today] }

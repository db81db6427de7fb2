/** Faults of the day view: wrong day, wrong orders, and amounts without permission. */
import { faultsIn, type Mutant } from "./mutant.ts"

const lists = "test/core/overview/today/today.test.ts"
const within = (file: string, test_file: string) => faultsIn(`core/overview/today/${file}.ts`, test_file, "sqlite")
const day = within("day", lists)

export const today_mutants: ReadonlyArray<Mutant> = [
  within("today", lists)(
    "a store's day follows the company's time zone",
    "clocksFor",
    { find: "clock(zoneOf(row.timezone))", replace: "clock(company)" },
    "lists today's dispatches in the store's time zone"
  ),
  day(
    "orders that should have left yesterday are omitted",
    "dayIn",
    { find: "start(-not_left_days)", replace: "start(0)" },
    "lists overdue dispatches"
  ),
  day(
    "goods go out at the start of the hire instead of the load time",
    "leavesAt",
    { find: "order.load_starts_at ?? order.deliver_starts_at ?? order.starts_at", replace: "order.starts_at" },
    "lists overdue dispatches"
  ),
  within("orders", lists)(
    "a finished hire is listed as going out",
    "leaving",
    { find: "ends_at is null or ends_at >", replace: "ends_at is null or ends_at <>", in_text: true },
    "lists overdue dispatches"
  ),
  within("orders", lists)(
    "an open-ended hire is listed as overdue",
    "returning",
    { find: "and not open_ended_rental", replace: "", in_text: true },
    "lists due returns separately from overdue ones, and drops them once returned"
  ),
  within("today", lists)(
    "users who may see orders see outstanding amounts",
    "todayFor",
    { find: 'mayAsk(catalogue, "invoices.list", viewer)', replace: "viewer.is_active" },
    "hides money and purchase orders from users who may not list them"
  ),
  day(
    "goods due later today are listed as late",
    "dayIn",
    { find: "on === today ? now_millis", replace: "on === today ? start(1)" },
    "lists due returns separately from overdue ones, and drops them once returned"
  ),
  within("day", lists)(
    "shortages of next month are listed",
    "short_days",
    { find: "short_days = 7", replace: "short_days = 40" },
    "omits shortages more than a week away"
  ),
  faultsIn("core/orders/opportunities/state/pieces.ts", lists, "sqlite")(
    "allocated units count as packed",
    "piecesOfLine",
    { find: "of(prepared)", replace: "of(0)" },
    "counts units as packed once prepared or dispatched, not while only allocated"
  ),
  within("papers", lists)(
    "proformas count as outstanding",
    "unpaid",
    { find: "and type <> 'proforma'", replace: "", in_text: true },
    "lists due invoices"
  ),
  within("papers", lists)(
    "received goods are listed as still to come",
    "dueIn",
    { find: "difference(item.quantity, item.received_quantity)", replace: "Number(item.quantity)" },
    "counts expected deliveries and returns to suppliers"
  ),
  within("papers", lists)(
    "extended sub-hires are listed as due back today",
    "dueBack",
    { find: "|| millisOf(at) >= to", replace: "" },
    "counts expected deliveries and returns to suppliers"
  )
]

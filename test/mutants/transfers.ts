/** Faults of transfers: a unit in two stores, goods offered while in transit, unnoticed shortages. */
import { faultsIn, type Mutant } from "./mutant.ts"

const test_file = "test/core/warehouse/transfers/transfers.test.ts"
const plan = faultsIn("core/warehouse/transfers/plan.ts", test_file, "sqlite")
const move = faultsIn("core/warehouse/transfers/move.ts", test_file, "sqlite")
const demand = faultsIn("core/orders/availability/rules/demand.ts", test_file, "sqlite")
const shortages = faultsIn("core/orders/opportunities/shortages/stock-moved.ts", test_file, "sqlite")

export const transfer_mutants: ReadonlyArray<Mutant> = [
  plan(
    "the sending store offers goods that are on their way",
    "claimsOf",
    { find: "is_active: true", replace: "is_active: false" },
    "moves stock out of one store when it is sent, and into the other when it is received"
  ),
  plan(
    "the receiving store offers goods before they arrive",
    "claimsOf",
    { find: "starts_at: arrivalOf(transfer)", replace: "starts_at: transfer.starts_at" },
    "moves stock out of one store when it is sent, and into the other when it is received"
  ),
  plan(
    "goods that go home are offered at the other store for good",
    "claimsOf",
    { find: "starts_at: arrivalOf(transfer), ends_at", replace: "starts_at: arrivalOf(transfer), ends_at: null" },
    "plans a return transfer for ends_at when the goods arrive"
  ),
  demand(
    "goods that are late are offered as if they had arrived",
    "arrival",
    { find: "end > now ? end : openEndMillis", replace: "end > now ? end : due" },
    "is late once the day of its arrival has ended"
  ),
  move(
    "a unit is in two stores: it arrives without leaving the first",
    "putIn",
    { find: "{ store_id, location: null }", replace: "{ location: null }" },
    "moves stock out of one store when it is sent, and into the other when it is received"
  ),
  move(
    "bulk goods are in two stores",
    "postAtSender",
    { find: "if (bulk !== undefined)", replace: "if (bulk === null)" },
    "moves bulk quantities in parts"
  ),
  move(
    "goods that arrived before they were recorded as sent leave twice",
    "Picking",
    { find: "this.pickedOf(item) - item.sent_quantity", replace: "this.pickedOf(item)" },
    "can be received before it is recorded as sent"
  ),
  move(
    "cancelling loses goods that were sent",
    "cancel",
    { find: "item.sent_quantity - item.received_quantity", replace: "0" },
    "brings the goods back to the sending store if it is cancelled"
  ),
  plan(
    "a store gives away what it has promised",
    "plan",
    { find: '=== "block"', replace: '=== "-"' },
    "is rejected or gives a warning, by the store's policy"
  ),
  shortages(
    "an order stays short although goods are on their way to it",
    "stockMoved",
    { find: "...supplied.after", replace: "" },
    "updates the shortages of orders at both stores"
  )
]

/** Actions of the week that take several commands. */
import { expect } from "vitest"
import { at, type Person } from "./house.ts"
import { type Ledger, shortOf } from "./ledger.ts"
import type { Script } from "./script.ts"
import { supplier } from "./stock.ts"

/** Orders shortages from a supplier, sends the purchase order, and receives it. */
export const subHire = async ({ house, ledger }: Script, subject: string): Promise<string> => {
  const { ben, cora } = house
  const order = ledger.of(subject)
  const short = shortOf(ledger, house.now()).filter((one) => one.subject === subject)
  const lender = (await cora.types(["members", "show", supplier, "--json"])).json("member.id")
  const made = await cora.types([
    ...["orders", "shortages", "resolve", String(order.id), "--resolution", "sub_hire"],
    ...["--supplier-id", String(lender), "--json"]
  ])
  expect(made.rows("purchase_order.items").map(({ quantity }) => Number(quantity))).toEqual(
    short.map(({ shortfall }) => shortfall)
  )
  const id = String(made.json("purchase_order.id"))
  await cora.types(["purchase-orders", "send", id, "--json"])
  await cora.types(["sync"])
  await ben.types(["sync"])
  await ben.types(["receive", id, "--reference", "LS-1"], {
    codes: short.map(({ shortfall, sku }) => `${sku}*${shortfall}`)
  })
  for (const { shortfall, sku } of short)
    ledger.hired.push({ sku, store: order.job.store, quantity: shortfall, from: order.from, to: order.to })
  return id
}

/** The only conflict, with the command of this resolution. */
export const wayOut = async (
  person: Person,
  way: string
): Promise<{ readonly n: string; readonly command: string }> => {
  const told = await person.types(["sync", "conflicts", "--json"], { exits: 8 })
  expect(told.rows("conflicts").length, told.out).toBe(1)
  const found = told.rows("conflicts.0.ways_out").find((one) => one["way"] === way)
  expect(found, told.out).toBeDefined()
  return { n: String(told.json("conflicts.0.n")), command: String(found?.["command"]) }
}

/** Bills, issues and partly pays a finished job. */
export const bill = async (person: Person, ledger: Ledger, subject: string): Promise<void> => {
  const made = await person.types(["opportunities", "invoice", String(ledger.of(subject).id), "--json"])
  const id = String(made.json("invoice.id"))
  expect(Number(made.json("invoice.total"))).toBeGreaterThan(0)
  await person.types(["invoices", "issue", id, "--json"])
  const paid = await person.types(["invoices", "pay", id, "--method", "cash", "--json"])
  expect(paid.json("invoice.amount_outstanding")).toBe("0.00")
}

/** Allocates a unit to the only line of its product. */
export const putsAside = async (person: Person, ledger: Ledger, subject: string, code: string): Promise<void> => {
  const id = String(ledger.of(subject).id)
  const lines = (await person.types(["orders", "show", id, "--json"])).rows("opportunity.items")
  const unit = (await person.types(["units", "show", code, "--json"])).json("stock_level")
  const line = lines.find((one) => one["item_id"] === at(unit, "product_id"))
  const allocations = [{ opportunity_item_id: Number(line?.["id"]), stock_level_id: Number(at(unit, "id")) }]
  const path = `/opportunities/${id}/quick_allocate`
  await person.types(["api", "POST", path, "-d", JSON.stringify({ allocations }), "--json"])
}

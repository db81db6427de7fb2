import { expect, it } from "vitest"
import { invoices, now, prepare, sceneOf } from "./payment-scenarios.ts"
import { type Ask, playEverywhere } from "./playing.ts"
import { creditScenarios } from "./scenarios/credits.ts"
import { paymentScenarios } from "./scenarios/payments.ts"

const scenarios = [...paymentScenarios, ...creditScenarios]

/** Final invoices, without ids and timestamps. */
const endOf = async (ask: Ask): Promise<ReadonlyArray<string>> => {
  const ends: Array<string> = []
  for (let page = 1; ; page++) {
    const query = `per_page=100&page=${page}&include=items,payments,credit_notes,credit_notes.items`
    const found = (await ask("GET", `${invoices}?${query}`)).body.invoices
    if (found.length === 0) return ends.sort()
    for (const one of found)
      ends.push(
        JSON.stringify([
          one.subject,
          one.number,
          one.status,
          one.total,
          one.amount_paid,
          one.amount_credited,
          one.amount_outstanding,
          one.items.map((row) => [row.name, row.subtotal, row.tax_total, row.total]),
          one.payments.map((row) => [row.kind, row.amount, row.method, row.reference]),
          one.credit_notes.map((note) => [
            note.number,
            note.total,
            note.tax_summary.map((row) => [row.rate, row.net, row.tax]),
            note.items.map((row) => [row.name, row.quantity, row.unit_price, row.total])
          ])
        ])
      )
  }
}

it("every payment scenario has a unique id", () => {
  expect(scenarios.length).toBeGreaterThanOrEqual(40)
  expect(new Set(scenarios.map(({ n }) => n)).size).toBe(scenarios.length)
})

playEverywhere({ title: "payments and credit notes", scenarios, sceneOf, endOf, prepare, now, typed: true })

import { invoices, scenarios, sceneOf } from "./billing-scenarios.ts"
import { type Ask, playEverywhere } from "./playing.ts"

/** Final invoices without ids, timestamps and numbers, which differ by runtime. */
const endOf = async (ask: Ask): Promise<ReadonlyArray<string>> => {
  const ends: Array<string> = []
  for (let page = 1; ; page++) {
    const { invoices: found } = (
      await ask("GET", `${invoices}?per_page=100&page=${page}&include=items,payments,credit_notes`)
    ).body
    if (found.length === 0) return ends.sort()
    for (const one of found) {
      ends.push(
        JSON.stringify([
          one.subject,
          one.type,
          one.status,
          one.number === null,
          one.subtotal,
          one.discount_total,
          one.tax_total,
          one.total,
          one.amount_paid,
          one.amount_credited,
          one.amount_outstanding,
          one.tax_summary,
          one.items.map((item) => [item.name.replace(/\d{10}/, "#"), item.quantity, item.unit_price, item.total]),
          one.payments.map((payment) => [payment.kind, payment.amount, payment.method]),
          one.credit_notes.map((note) => [note.number === null, note.total])
        ])
      )
    }
  }
}

playEverywhere({ title: "billing", scenarios, sceneOf, endOf, typed: true, now: "2031-06-18T12:00:00.000Z" })

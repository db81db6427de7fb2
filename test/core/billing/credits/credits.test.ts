/** Credit notes for chosen rows, for an amount, and for all that is left (rules/billing 1.5). */
import { describe, expect, it } from "vitest"
import { type CreditInput, issueCreditNote } from "../../../../core/billing/credits/decide.ts"
import { credit_note_items, type InvoiceRow } from "../../../../core/billing/state/tables.ts"
import type { NewEvent } from "../../../../core/kernel/events/event-type.ts"
import { decided_at, given_at, type GivenRow } from "../../decider.ts"
import { after, creditFactsIn, given, invoiceIn, issued, notesIn, type Sold, taxed } from "../invoice.ts"

const sold120: ReadonlyArray<Sold> = [{ name: "Heads", quantity: "4.00", amount: 10_000 }]
const of120 = (set: Partial<InvoiceRow> = {}) => issued(sold120, set).rows
const credit = (input: CreditInput) => (facts: Parameters<typeof invoiceIn>[0]) =>
  issueCreditNote(creditFactsIn(facts), input, facts.context)
/** Rows and events after these credit notes were issued one after the other. */
const credited = (
  before: ReadonlyArray<GivenRow | NewEvent>,
  ...inputs: ReadonlyArray<CreditInput>
): ReadonlyArray<GivenRow | NewEvent> =>
  inputs.reduce((history, input, at) => {
    const decided = after(history, (facts) =>
      issueCreditNote(creditFactsIn(facts), input, {
        ...facts.context,
        number: () => at + 1,
        id: (table) => facts.context.id(table) + 100 * at
      })
    )
    if (decided._tag === "Failure") throw decided.failure
    return [...history, ...decided.success.events]
  }, before)
/** Invoice row, quantity, price, net, tax and gross of each row of all credit notes, in order. */
const rowsOf = (history: ReadonlyArray<GivenRow | NewEvent>) =>
  after(history, (facts) =>
    facts
      .find(credit_note_items, {})
      .map((row) => [row.invoice_item_id, row.quantity, row.unit_price, row.subtotal, row.tax_total, row.total])
  )
const endOf = (history: ReadonlyArray<GivenRow | NewEvent>) =>
  after(history, (facts) => {
    const { status, amount_credited, amount_outstanding } = invoiceIn(facts)
    return { status, amount_credited, amount_outstanding }
  })

describe("a full credit note", () => {
  it("mirrors the invoice with the opposite sign and leaves nothing outstanding", () => {
    given(...of120())
      .when((facts) =>
        issueCreditNote(creditFactsIn(facts), { reason: "Rained off" }, { ...facts.context, number: () => 7 })
      )
      .thenEvents({
        stream: "invoice:1",
        type: "credit_note.issued",
        data: {
          id: 1,
          set: { status: "credited", amount_credited: 12_000, amount_outstanding: 0 },
          was: { status: "issued", amount_credited: 0, amount_outstanding: 12_000 },
          credit_note: {
            id: 1001,
            number: "0000000007",
            status: "issued",
            invoice_id: 1,
            member_id: 1,
            store_id: 1,
            opportunity_id: null,
            currency_code: "GBP",
            exchange_rate: "1.0000000000",
            prices_include_tax: false,
            subtotal: -10_000,
            tax_total: -2_000,
            total: -12_000,
            tax_summary: [
              {
                tax_class_id: 1,
                tax_rate_id: 1,
                tax_rate_name: "20.0000 %",
                rate: "20.0000",
                net: -10_000,
                tax: -2_000,
                gross: -12_000
              }
            ],
            reason: "Rained off",
            notes: null,
            issued_at: decided_at,
            billed_to: null,
            billed_by: null
          },
          items: [
            {
              id: 1001,
              credit_note_id: 1001,
              invoice_id: 1,
              invoice_item_id: 11,
              name: "Heads",
              quantity: "4.00",
              unit_price: -2_500,
              subtotal: -10_000,
              tax_class_id: 1,
              tax_rate_id: 1,
              tax_rate_name: "20.0000 %",
              tax_rate: "20.0000",
              tax_total: -2_000,
              total: -12_000,
              by_amount: false,
              sort_order: 0,
              currency_code: "GBP"
            }
          ]
        }
      })
  })
  it("has no number until the server assigns one", () => {
    const history = after(of120(), (facts) => issueCreditNote(creditFactsIn(facts), {}, facts.context))
    if (history._tag === "Failure") throw history.failure
    expect(after([...of120(), ...history.success.events], (facts) => notesIn(facts)[0]?.number)).toBeNull()
  })
  it("leaves a paid invoice with a negative balance", () => {
    const paid = { status: "paid", amount_paid: 12_000, amount_outstanding: 0, paid_at: given_at } as const
    expect(endOf(credited(of120(paid), {}))).toEqual({
      status: "credited",
      amount_credited: 12_000,
      amount_outstanding: -12_000
    })
  })
  it("is rejected if the invoice is credited in full already", () => {
    given(...credited(of120(), {}))
      .when(credit({}))
      .thenRefused({ invoice: ["Invoice 0000000001 is credited already; nothing is left to credit."] })
  })
  it("credits only the amount that earlier credit notes left", () => {
    const history = credited(of120(), { items: [{ invoice_item_id: 11, quantity: "1.00" }] }, {})
    expect(rowsOf(history)).toEqual([
      [11, "1.00", -2_500, -2_500, -500, -3_000],
      [11, "3.00", -2_500, -7_500, -1_500, -9_000]
    ])
    expect(endOf(history)).toEqual({ status: "credited", amount_credited: 12_000, amount_outstanding: 0 })
  })
})

describe("a credit note for chosen rows", () => {
  it("credits net and tax in proportion to the quantity, and the row's remainder with its last part", () => {
    const one = { items: [{ invoice_item_id: 11, quantity: "1.00" }] }
    const history = credited(issued([{ quantity: "3.00", amount: 1_000 }]).rows, one, one, one)
    expect(rowsOf(history)).toEqual([
      [11, "1.00", -333, -333, -67, -400],
      [11, "1.00", -333, -333, -67, -400],
      [11, "1.00", -333, -334, -66, -400]
    ])
    expect(endOf(history)).toEqual({ status: "credited", amount_credited: 1_200, amount_outstanding: 0 })
  })
  it("never credits more than the row's amount, even if each part rounds up", () => {
    const tenth = { items: [{ invoice_item_id: 11, quantity: "1.00" }] }
    const history = credited(
      issued([
        { quantity: "10.00", amount: 5, tax: taxed("0.0000") },
        { quantity: "1.00", amount: 1_000 }
      ]).rows,
      ...Array.from({ length: 10 }, () => tenth)
    )
    expect(rowsOf(history).map((row) => row[3])).toEqual([-1, -1, -1, -1, -1, -0, -0, -0, -0, -0].map((one) => one + 0))
  })
  it("is rejected above the remaining quantity, at the row's position", () => {
    given(...credited(of120(), { items: [{ invoice_item_id: 11, quantity: "1.50" }] }))
      .when(
        credit({
          items: [
            { invoice_item_id: 11, quantity: "2.00" },
            { invoice_item_id: 11, quantity: "0.51" }
          ]
        })
      )
      .thenRefused({ "items.1.quantity": [`Of "Heads" 0.50 are left to credit; 0.51 are too many.`] })
  })
  it("is rejected for a row that the invoice does not have, at its position", () => {
    given(...of120())
      .when(credit({ items: [{ invoice_item_id: 99, quantity: "1.00" }] }))
      .thenRefused({ "items.0.invoice_item_id": ["Invoice 0000000001 has no such row; name one of its own."] })
  })
  it("credits all that is left of a row if no quantity is given", () => {
    const all = [{ invoice_item_id: 11, quantity: null }]
    expect(rowsOf(credited(of120(), { amount: 3_000 }, { items: all }))).toEqual([
      [11, "1.00", -2_500, -2_500, -500, -3_000],
      [11, "1.00", -7_500, -7_500, -1_500, -9_000]
    ])
  })
  it("is limited by the row's remaining amount after a credit by amount", () => {
    const history = credited(of120(), { amount: 6_001 })
    given(...history)
      .when(credit({ items: [{ invoice_item_id: 11, quantity: "2.00" }] }))
      .thenRefused({
        "items.0.quantity": [
          `Amounts of "Heads" were credited before: 59.99 GBP are left of it, which is less than this quantity comes to. Credit an amount, or leave the quantity out to credit what is left.`
        ]
      })
    expect(endOf(credited(history, { items: [{ invoice_item_id: 11, quantity: "1.00" }] })).amount_credited).toBe(9_001)
  })
  it("is rejected for deduction rows alone, and for more than the invoice's total after deductions", () => {
    const { rows } = issued([
      { quantity: "1.00", amount: 10_000 },
      { name: "Deposit", quantity: "1.00", amount: -4_000 }
    ])
    given(...rows)
      .when(credit({ items: [{ invoice_item_id: 12, quantity: "1.00" }] }))
      .thenRefused({
        items: ["These rows are deductions: crediting them alone would ask for more money, not for less."]
      })
    given(...rows)
      .when(credit({ items: [{ invoice_item_id: 11, quantity: "1.00" }] }))
      .thenRefused({
        items: [
          "These rows come to 120.00 GBP, and 72.00 GBP of the invoice are not credited yet: credit its deductions with them, or credit less."
        ]
      })
    given(...rows)
      .when(credit({ items: [{ invoice_item_id: 11, quantity: "0.60" }] }))
      .thenRefused({
        items: [
          "These rows come to all that is not credited yet, and others are left: leave the rows out to credit everything."
        ]
      })
    const both = { items: [11, 12].map((invoice_item_id) => ({ invoice_item_id, quantity: "1.00" })) }
    expect(endOf(credited(rows, both))).toEqual({ status: "credited", amount_credited: 7_200, amount_outstanding: 0 })
  })
})

describe("a credit note for an amount", () => {
  const two = issued([
    { quantity: "1.00", amount: 10_000 },
    { quantity: "1.00", amount: 5_000, tax: taxed("5.0000", 2) }
  ]).rows
  it("is spread over the rows by their remaining amounts, to the minor unit", () => {
    const history = credited(two, { amount: 1_000 })
    expect(rowsOf(history)).toEqual([
      [11, "1.00", -580, -580, -116, -696],
      [12, "1.00", -290, -290, -14, -304]
    ])
    expect(after(history, (facts) => notesIn(facts)[0])).toMatchObject({
      subtotal: -870,
      tax_total: -130,
      total: -1_000,
      tax_summary: [
        { rate: "20.0000", net: -580, tax: -116, gross: -696 },
        { rate: "5.0000", net: -290, tax: -14, gross: -304 }
      ]
    })
  })
  it("credits every row in full if it equals the full remaining amount", () => {
    const history = credited(two, { amount: 1_001 }, { amount: 333 }, { amount: 17_250 - 1_334 })
    const left = after(history, (facts) => facts.find(credit_note_items, {}))
    const sum = (id: number, column: "subtotal" | "tax_total"): number =>
      left.filter((row) => row.invoice_item_id === id).reduce((all, row) => all + row[column], 0)
    expect([sum(11, "subtotal"), sum(11, "tax_total"), sum(12, "subtotal"), sum(12, "tax_total")]).toEqual([
      -10_000, -2_000, -5_000, -250
    ])
    expect(endOf(history)).toEqual({ status: "credited", amount_credited: 17_250, amount_outstanding: 0 })
  })
  it("is rejected one minor unit above the remaining amount", () => {
    given(...credited(of120(), { amount: 2_000 }))
      .when(credit({ amount: 10_001 }))
      .thenRefused({
        amount: [
          "The credit of 100.01 GBP is more than the 100.00 GBP that are not credited yet; credit that much or less."
        ]
      })
  })
  it("is rejected for an amount of zero", () => {
    given(...of120())
      .when(credit({ amount: 0 }))
      .thenRefused({ amount: ["The amount field must be greater than 0."] })
  })
})

describe("a credit note", () => {
  it.each([
    ["draft", "Invoice 0000000001 is a draft; issue it before a credit note is recorded."],
    ["voided", "Invoice 0000000001 was voided, so it takes no credit note."]
  ] as const)("is rejected for a %s invoice", (status, text) => {
    given(...of120({ status }))
      .when(credit({}))
      .thenRefused({ status: [text] })
  })
  it("is rejected for a proforma", () => {
    given(...of120({ type: "proforma" }))
      .when(credit({}))
      .thenRefused({ type: ["A proforma asks for no money, so it takes no credit note; issue an invoice instead."] })
  })
  it("is dated neither before its invoice nor in the future", () => {
    given(...of120())
      .when(credit({ issued_at: "2026-05-31T09:00:00.000Z" }))
      .thenRefused({
        issued_at: ["The credit note cannot be issued before its invoice was, at 2026-06-01T09:00:00.000Z."]
      })
    given(...of120())
      .when(credit({ issued_at: "2026-06-19T12:00:00.000Z" }))
      .thenRefused({ issued_at: ["The issued at field must not be in the future."] })
  })
})

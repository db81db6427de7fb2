/** Issuing and voiding an invoice of 100.00 net and 20 % tax (rules/billing 1.1, 1.3). */
import { describe, it } from "vitest"
import { type IssueFacts, issueInvoice, voidInvoice, type VoidFacts } from "../../../../core/billing/invoices/decide.ts"
import { nobody } from "../../../../core/billing/state/parties.ts"
import type { InvoiceRow, NamedParty } from "../../../../core/billing/state/tables.ts"
import { initialRow } from "../../../../core/kernel/tables/field-schema.ts"
import type { DecideContext } from "../../../../core/kernel/events/settings.ts"
import { type MemberRow, members } from "../../../../core/people/members/schema.ts"
import { decided_at, given_at, stamps } from "../../decider.ts"
import { given, header, invoiceIn, issued } from "../invoice.ts"

const sold = [{ quantity: "1.00", amount: 10_000 }]
const draft = (set: Partial<InvoiceRow> = {}) =>
  issued(sold, { status: "draft", number: null, issued_at: null, payment_terms_days: 14, ...set }).rows
const member: MemberRow = { ...initialRow(members), id: 1, name: "Ann Ltd", ...stamps }
const party = (name: string): NamedParty => ({ ...nobody, name })
const known: IssueFacts = {
  items: 1,
  billing: undefined,
  member,
  billed_to: party("Ann Ltd"),
  billed_by: party("Northlight"),
  vat_reports: [{ tax_rate_id: 1, name: "20 %", category: null, reason: null }],
  spent_deposits: [],
  exceeded_deposits: []
}
const issue =
  (
    asked: Parameters<typeof issueInvoice>[2] = {},
    more: Partial<IssueFacts> = {},
    context: Partial<DecideContext> = {}
  ) =>
  (facts: Parameters<typeof invoiceIn>[0]) =>
    issueInvoice(invoiceIn(facts), { ...known, ...more }, asked, { ...facts.context, number: () => 7, ...context })
const undo =
  (more: Partial<VoidFacts> = {}) =>
  (facts: Parameters<typeof invoiceIn>[0]) =>
    voidInvoice(invoiceIn(facts), { credit_notes: 0, deducted_by: [], ...more }, "Typed twice", facts.context)
const { billed_by, billed_to, vat_reports } = known
const issuedWith = (set: object, was: object = {}) => ({
  stream: "invoice:1",
  type: "invoice.issued",
  data: {
    id: 1,
    set: {
      number: "0000000007",
      status: "issued",
      amount_paid: 0,
      amount_credited: 0,
      amount_outstanding: 12_000,
      paid_at: null,
      issued_at: decided_at,
      due_at: "2026-07-02T12:00:00.000Z",
      billed_to,
      billed_by,
      vat_reports,
      ...set
    },
    was: {
      number: null,
      status: "draft",
      amount_paid: 0,
      amount_credited: 0,
      amount_outstanding: 12_000,
      paid_at: null,
      issued_at: null,
      due_at: null,
      billed_to: null,
      billed_by: null,
      vat_reports: null,
      ...was
    }
  }
})

describe("issuing a draft invoice", () => {
  it("assigns the number and the due date, and records both parties", () => {
    given(...draft())
      .when(issue())
      .thenEvents(issuedWith({}))
  })
  it("assigns no number on a device", () => {
    given(...draft())
      .when(issue({}, {}, { number: () => null }))
      .thenEvents(issuedWith({ number: null }))
  })
  it("counts the payment terms from a past issue date", () => {
    given(...draft())
      .when(issue({ issued_at: "2026-06-01T08:00:00.000Z" }))
      .thenEvents(issuedWith({ issued_at: "2026-06-01T08:00:00.000Z", due_at: "2026-06-15T08:00:00.000Z" }))
  })
  it("rejects an issue date more than 5 minutes in the future", () => {
    given(...draft())
      .when(issue({ issued_at: "2026-06-18T12:05:00.001Z" }))
      .thenRefused({ issued_at: ["The issued at field must not be in the future."] })
    given(...draft())
      .when(issue({ issued_at: "2026-06-18T12:05:00.000Z" }))
      .thenEvents(issuedWith({ issued_at: "2026-06-18T12:05:00.000Z", due_at: "2026-07-02T12:05:00.000Z" }))
  })
  it("prefers the draft's due date to the terms, and the request's to both", () => {
    const own = "2026-08-01T00:00:00.000Z"
    given(...draft({ due_at: own }))
      .when(issue())
      .thenEvents(issuedWith({ due_at: own }, { due_at: own }))
    given(...draft({ due_at: own }))
      .when(issue({ due_at: "2026-07-09T00:00:00.000Z" }))
      .thenEvents(issuedWith({ due_at: "2026-07-09T00:00:00.000Z" }, { due_at: own }))
  })
  it("rejects a due date before the day of issue, and accepts the first instant of that day", () => {
    const today = "2026-06-18T00:00:00.000Z"
    given(...draft())
      .when(issue({ due_at: today }))
      .thenEvents(issuedWith({ due_at: today }))
    given(...draft())
      .when(issue({ due_at: "2026-06-17T23:59:59.999Z" }))
      .thenRefused({ due_at: ["The due at field must not be before the day of issue; send a later due_at."] })
  })
  it("marks an invoice of zero as paid at once", () => {
    const nothing = { subtotal: 0, tax_total: 0, total: 0, amount_outstanding: 0 }
    given(...draft(nothing))
      .when(issue())
      .thenEvents(issuedWith({ status: "paid", amount_outstanding: 0, paid_at: decided_at }, { amount_outstanding: 0 }))
  })
  describe("above the opportunity's unbilled remainder", () => {
    const [item] = issued(sold).items
    const earlier = { invoice: header({ id: 2, number: "0000000006" }), item: item!, quantity: 100, tax: 0 }
    const beside = (net: number): Partial<IssueFacts> => ({
      billing: { own: 10_000, others: { total: 15_000, currency_code: "GBP", rows: [{ ...earlier, net }], drafts: [] } }
    })
    it("is rejected, naming billed and remaining amounts", () => {
      given(...draft())
        .when(issue({}, beside(5_001)))
        .thenRefused({
          items: [
            "50.01 of 150.00 GBP (without tax) is billed by invoice 0000000006; 99.99 is left, and this invoice bills " +
              "100.00. Take rows off, bill the opportunity again for what is left, or send allow_overbilling."
          ]
        })
    })
    it("is allowed by allow_overbilling, which the event records only if it was needed", () => {
      const also = { also: { allow_overbilling: true } }
      const event = issuedWith({})
      given(...draft())
        .when(issue({ allow_overbilling: true }, beside(5_001)))
        .thenEvents({ ...event, data: { ...event.data, ...also } })
      given(...draft())
        .when(issue({ allow_overbilling: true }, beside(5_000)))
        .thenEvents(event)
    })
  })
  it.each<[string, Partial<InvoiceRow>, Partial<IssueFacts>, object]>([
    ["without rows", {}, { items: 0 }, { items: ["An invoice without rows cannot be issued."] }],
    [
      "with a total below zero",
      { total: -1 },
      {},
      { total: ["The total is below zero; take deductions off, or issue a credit note instead."] }
    ],
    [
      "for an archived customer",
      {},
      { member: { ...member, deleted_at: given_at } },
      { member_id: ["The customer is archived; restore the member or name another one."] }
    ],
    [
      "for a user",
      {},
      { member: { ...member, membership_type: "user" } },
      { member_id: ["A user cannot be billed; name an organisation, a contact or a venue."] }
    ],
    [
      "with a deposit that is deducted already",
      {},
      { spent_deposits: ["deposit 0000000003"] },
      { items: ["Take off the deduction of deposit 0000000003: it was deducted or undone."] }
    ],
    ["once issued", { status: "issued" }, {}, { status: ["The invoice is issued; only a draft can be issued."] }],
    ["once voided", { status: "voided" }, {}, { status: ["The invoice is voided; only a draft can be issued."] }]
  ])("is rejected with the reason at its field: %s", (_, set, facts, errors) => {
    given(...draft(set))
      .when(issue({}, facts))
      .thenRefused({ ...errors })
  })
})

describe("voiding an invoice", () => {
  const of120 = (set: Partial<InvoiceRow> = {}) => issued(sold, set).rows
  const voided = (was: Partial<InvoiceRow>) => ({
    stream: "invoice:1",
    type: "invoice.voided",
    data: {
      id: 1,
      set: {
        status: "voided",
        amount_outstanding: 0,
        paid_at: null,
        voided_at: decided_at,
        void_reason: "Typed twice"
      },
      was: { ...was, voided_at: null, void_reason: null }
    }
  })
  it("leaves nothing outstanding and keeps the number", () => {
    given(...of120())
      .when(undo())
      .thenEvents(voided({ status: "issued", amount_outstanding: 12_000, paid_at: null }))
  })
  it("is allowed for an invoice of zero, which was paid on issue", () => {
    given(...of120({ total: 0, status: "paid", paid_at: given_at, amount_outstanding: 0 }))
      .when(undo())
      .thenEvents(voided({ status: "paid", amount_outstanding: 0, paid_at: given_at }))
  })
  it.each<[string, Partial<InvoiceRow>, Partial<VoidFacts>, string]>([
    ["a draft", { status: "draft" }, {}, "The invoice is a draft; delete it instead."],
    [
      "an invoice with payments",
      { status: "partially_paid", amount_paid: 1 },
      {},
      "The invoice has payments; refund them first, or issue a credit note."
    ],
    ["an invoice with a credit note", {}, { credit_notes: 1 }, "The invoice has a credit note and cannot be voided."],
    ["a voided invoice", { status: "voided" }, {}, "The invoice is voided and cannot be voided."],
    [
      "a deposit that another invoice deducts",
      { type: "deposit" },
      { deducted_by: ["invoice 0000000009"] },
      "The deposit is taken off by invoice 0000000009; void that first."
    ]
  ])("is rejected with the reason for %s", (_, set, facts, text) => {
    given(...of120(set))
      .when(undo(facts))
      .thenRefused({ status: [text] })
  })
})

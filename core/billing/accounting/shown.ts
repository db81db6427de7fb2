/** Posted documents as the API and exports return them. */
import { Schema } from "effect"
import { formatMoney } from "../../values/money.ts"
import { dayOf } from "../../values/time.ts"
import type { Posted } from "./postings.ts"

const line = Schema.Struct({
  description: Schema.String,
  account: Schema.String,
  tax_code: Schema.String,
  net: Schema.String,
  tax: Schema.String
})
const posting = Schema.Struct({
  account: Schema.String,
  tax_code: Schema.String,
  debit: Schema.String,
  credit: Schema.String
})
export const postedDocument = Schema.Struct({
  /** `invoices/42`. */
  key: Schema.String,
  kind: Schema.Literals(["invoices", "voids", "credit_notes", "payments"]),
  id: Schema.Int,
  number: Schema.String,
  date: Schema.String,
  due_date: Schema.NullOr(Schema.String),
  member_name: Schema.String,
  member_email: Schema.NullOr(Schema.String),
  reference: Schema.NullOr(Schema.String),
  invoice_number: Schema.NullOr(Schema.String),
  currency: Schema.String,
  exchange_rate: Schema.String,
  total: Schema.String,
  lines: Schema.Array(line),
  postings: Schema.Array(posting)
})
export type PostedDocument = typeof postedDocument.Type

const keyOf = ({ id, kind }: Pick<Posted, "kind" | "id">): string => `${kind}/${id}`

/** API representation of a posted document, with days in the company's time zone. */
export const shownPosted = (
  posted: Posted,
  member: { readonly name: string; readonly email: string | null },
  zone: string
): PostedDocument => {
  const money = (minor: number): string => formatMoney(minor, posted.currency_code)
  const day = (instant: string): string => dayOf(Date.parse(instant), zone)
  return {
    key: keyOf(posted),
    kind: posted.kind,
    id: posted.id,
    number: posted.number,
    date: day(posted.at),
    due_date: posted.due_at === null ? null : day(posted.due_at),
    member_name: member.name,
    member_email: member.email,
    reference: posted.reference,
    invoice_number: posted.invoice_number,
    currency: posted.currency_code,
    exchange_rate: posted.exchange_rate.replace(/(\.\d{8})\d+$/, "$1"),
    total: money(posted.total),
    lines: posted.lines.map((one) => ({ ...one, net: money(one.net), tax: money(one.tax) })),
    postings: posted.postings.map((one) => ({ ...one, debit: money(one.debit), credit: money(one.credit) }))
  }
}

/** Settings of what invoices say beside their rows, and of the accounts that money is posted to. */
import { choice, integer, json, longText, text } from "../kernel/field.ts"
import type { JsonObject } from "../kernel/json.ts"
import type { SettingGroups } from "../kernel/settings.ts"

const optional = { nullable: true, on_null: "clear" } as const

/** Account codes by something else's id: `{"3": "4010"}`. */
const codes = (describe: string) => json<JsonObject>({ default: {}, describe })

export const billingSettings = {
  invoicing: {
    account_holder: text({ ...optional, max: 70, describe: "Without it the company's name" }),
    bank_name: text({ ...optional }),
    iban: text({
      ...optional,
      max: 42,
      describe: "Printed on invoices; those in EUR get a code that banking apps read"
    }),
    bic: text({ ...optional, max: 11 }),
    payment_link: text({
      ...optional,
      max: 1000,
      describe: "Address to pay at, with {number}, {amount} and {currency}: https://pay.example/?ref={number}"
    }),
    terms: longText({ ...optional, max: 5_000, describe: "Printed below the sums of every invoice" }),
    footer: longText({ ...optional, max: 500, describe: "At the foot of each page, one line below the other" }),
    logo_attachment_id: integer({ ...optional, min: 1, describe: "An attachment: PNG, JPEG or SVG" }),
    accent: text({ ...optional, max: 7, describe: "Colour of headings and lines: #1f4e79" }),
    page_size: choice({ A4: "A4", LETTER: "Letter" }, { default: "A4" }),
    mail_subject: text({
      ...optional,
      max: 255,
      describe: "Of the mail with an invoice, with fields such as {{ invoice.number }}"
    }),
    mail_text: longText({ ...optional, max: 5_000, describe: "Of the mail with an invoice, with the same fields" })
  },
  accounting: {
    receivables_account: text({ default: "1100", max: 50, required: true }),
    revenue_account: text({
      default: "4000",
      max: 50,
      required: true,
      describe: "For rows without a group of their own"
    }),
    revenue_accounts: codes('By id of the revenue group: {"3": "4010"}'),
    tax_account: text({ default: "2200", max: 50, required: true }),
    tax_code: text({ default: "", max: 50, describe: "For rates without a code of their own" }),
    tax_codes: codes('By id of the tax rate: {"1": "20% (VAT on Income)"}'),
    payment_account: text({
      default: "1200",
      max: 50,
      required: true,
      describe: "For methods without one of their own"
    }),
    payment_accounts: codes('By method of payment: {"cash": "1010", "card": "1220"}')
  }
} satisfies SettingGroups

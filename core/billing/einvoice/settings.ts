/** What electronic invoices say beside the company's address and the account to pay to. */
import { choice, longText, text } from "../../kernel/field.ts"
import type { SettingGroups } from "../../kernel/settings.ts"

const optional = { nullable: true, on_null: "clear" } as const
export const eInvoiceSettings = {
  einvoice: {
    legal_name: text({ ...optional, describe: "The seller as registered; without it the company's name" }),
    peppol_id: text({
      ...optional,
      format: "peppol",
      max: 60,
      describe: "Where the seller is reached in Peppol: 0088:1234567890128; without it the company's e-mail"
    }),
    untaxed_category: choice(
      { exempt: "Exempt", outside: "Not subject to VAT" },
      { default: "exempt", describe: "Of rows whose tax class no rule names" }
    ),
    untaxed_reason: longText({ ...optional, max: 500, describe: "Why such rows bear no VAT, in words for the buyer" })
  }
} satisfies SettingGroups

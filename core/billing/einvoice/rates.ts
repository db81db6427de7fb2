/** Reporting of row tax rates on electronic invoices, as of the issue. */
import { Effect } from "effect"
import { baseCurrency, settingText, Store, type Settings } from "../../kernel/index.ts"
import { opportunities } from "../../orders/opportunities/tables/index.ts"
import { stores } from "../../setup/stores.ts"
import { zoneOf } from "../../values/time.ts"
import type { EInvoiceFacts, InvoiceRow, VatReport } from "../state/tables.ts"
import { tax_rates, type VatCategoryWord } from "../../setup/reference-data/tax.ts"
import type { VatCategory } from "./amounts.ts"

// Data of an electronic invoice besides rows, rates and addresses; stored when it is issued.

/** Current settings, store and hire for an electronic invoice. */
export const eInvoiceFactsNow = Effect.fnUntraced(function* (
  document: Pick<InvoiceRow, "member_id" | "opportunity_id" | "store_id">,
  settings: Settings
) {
  const place = document.store_id === null ? undefined : yield* Store.get(stores, document.store_id)
  const hire = document.opportunity_id === null ? undefined : yield* Store.get(opportunities, document.opportunity_id)
  const said = (group: string, key: string): string | null => settingText(settings, group, key).trim() || null
  const iban = said("invoicing", "iban")
  return {
    legal_name: said("einvoice", "legal_name"),
    peppol_id: said("einvoice", "peppol_id"),
    account:
      iban === null
        ? null
        : {
            iban: iban.replace(/\s+/g, "").toUpperCase(),
            bic: said("invoicing", "bic")?.toUpperCase() ?? null,
            holder: said("invoicing", "account_holder")
          },
    zone: zoneOf(place?.timezone || settingText(settings, "company", "timezone")),
    base_currency: baseCurrency(settings),
    member_id: document.member_id,
    hire:
      hire === undefined || hire.starts_at === null || hire.ends_at === null
        ? null
        : { starts_at: hire.starts_at, ends_at: hire.ends_at }
  } satisfies EInvoiceFacts
})

const categories: { readonly [K in VatCategoryWord]: VatCategory } = {
  standard: "S",
  zero: "Z",
  exempt: "E",
  reverse_charge: "AE",
  outside: "O"
}

/** Current reporting of tax: one entry per rate of the rows, and one without a rate for rows without a tax rule. */
export const vatReportsNow = Effect.fnUntraced(function* (
  items: ReadonlyArray<{ readonly tax_rate_id: number | null }>,
  settings: Settings
) {
  const ids = new Set(items.flatMap(({ tax_rate_id }) => tax_rate_id ?? []))
  const rows = yield* Store.getMany(tax_rates, [...ids])
  const said = (key: string): string | null => settingText(settings, "einvoice", key).trim() || null
  const rates = rows.map((row): VatReport => ({
    tax_rate_id: row.id,
    name: row.name,
    category: row.vat_category === null ? null : categories[row.vat_category],
    reason: row.exemption_reason
  }))
  const untaxed = { name: "", category: said("untaxed_category") === "outside" ? "O" : "E" } as const
  return [...rates, { ...untaxed, tax_rate_id: null, reason: said("untaxed_reason") }]
})

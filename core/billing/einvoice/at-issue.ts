/** What an electronic invoice says beside its rows, rates and addresses: kept with the invoice when it is issued. */
import { Effect } from "effect"
import { baseCurrency, type Settings, settingText } from "../../kernel/settings.ts"
import { Store } from "../../kernel/store/store.ts"
import { opportunities } from "../../opportunities/schema.ts"
import { stores } from "../../stores/stores.ts"
import { zoneOf } from "../../values/zone.ts"
import type { EInvoiceFacts, InvoiceRow } from "../schema.ts"

/** As settings, the store and the hire are now. */
export const eInvoiceFactsNow = Effect.fnUntraced(function* (
  document: Pick<InvoiceRow, "member_id" | "opportunity_id" | "store_id">,
  settings: Settings
) {
  const store = yield* Store
  const place = document.store_id === null ? undefined : yield* store.get(stores, document.store_id)
  const hire = document.opportunity_id === null ? undefined : yield* store.get(opportunities, document.opportunity_id)
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

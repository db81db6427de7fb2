/**
 * Series of document numbers: one for each kind, or one for each kind and store (rules/billing 1.3;
 * rules/rulings, number series).
 */
import type { DecideContext } from "../../kernel/decide-context.ts"
import { boolean, text } from "../../kernel/field.ts"
import { settingText, type SettingGroups } from "../../kernel/settings.ts"

export type NumberedKind = "invoice" | "proforma" | "credit_note" | "purchase_order" | "document"

const prefix = () =>
  text({
    default: "",
    max: 40,
    describe: "Stands before the number; {store} in it becomes the store's id, which keeps numbers of stores apart"
  })
const per_store = () => boolean({ default: false, describe: "A series for each store instead of one for all" })
export const numbering_group = "numbering"
export const numberingSettings = {
  [numbering_group]: {
    "invoice.prefix": prefix(),
    "invoice.per_store": per_store(),
    "proforma.prefix": prefix(),
    "proforma.per_store": per_store(),
    "credit_note.prefix": prefix(),
    "credit_note.per_store": per_store(),
    "purchase_order.prefix": prefix(),
    "purchase_order.per_store": per_store(),
    "document.prefix": prefix(),
    "document.per_store": per_store()
  }
} satisfies SettingGroups

const digits = 10
/**
 * The next number of a kind, taken in the transaction that uses it, so that a series has no gaps; null where numbers
 * are not given, which is on devices.
 */
export const nextDocumentNumber = (
  kind: NumberedKind,
  store_id: number | null,
  { number, settings }: Pick<DecideContext, "number" | "settings">
): string | null => {
  const is_per_store = settings[numbering_group]?.[`${kind}.per_store`] === true
  const of_store = is_per_store && store_id !== null
  const nth = number(of_store ? `${kind}:store:${store_id}` : kind)
  const said = settingText(settings, numbering_group, `${kind}.prefix`)
  // Two stores never give one number, which by law names one document.
  const before = of_store && !said.includes("{store}") ? `${said}{store}-` : said
  return nth === null ? null : before.replaceAll("{store}", String(store_id ?? "")) + String(nth).padStart(digits, "0")
}

/**
 * Format of document numbers: a prefix and a number of digits, for each kind (rules/billing 1.3; rules/opportunities
 * 3).
 */
import { boolean, integer, text } from "../../kernel/fields/field.ts"
import { type SettingGroups, settingNumber, type Settings, settingText } from "../../kernel/events/settings.ts"

export type NumberedKind = "opportunity" | "invoice" | "proforma" | "credit_note" | "purchase_order" | "document"

const prefix = () =>
  text({
    default: "",
    max: 40,
    describe: "Stands before the number; {store} in it becomes the store's id, which keeps numbers of stores apart"
  })
const digits_default = 10
const digits = () =>
  integer({
    default: digits_default,
    min: 1,
    max: 20,
    describe: "Digits of a number, with zeros before it: 4 makes 0044"
  })
const per_store = () => boolean({ default: false, describe: "A series for each store instead of one for all" })
export const numbering_group = "numbering"
export const numberingSettings = {
  [numbering_group]: {
    "opportunity.prefix": prefix(),
    "opportunity.digits": integer({
      nullable: true,
      on_null: "clear",
      min: 1,
      max: 20,
      describe: "Digits of a number; null: as opportunities.number_pad"
    }),
    "invoice.prefix": prefix(),
    "invoice.digits": digits(),
    "invoice.per_store": per_store(),
    "proforma.prefix": prefix(),
    "proforma.digits": digits(),
    "proforma.per_store": per_store(),
    "credit_note.prefix": prefix(),
    "credit_note.digits": digits(),
    "credit_note.per_store": per_store(),
    "purchase_order.prefix": prefix(),
    "purchase_order.digits": digits(),
    "purchase_order.per_store": per_store(),
    "document.prefix": prefix(),
    "document.digits": digits(),
    "document.per_store": per_store()
  }
} satisfies SettingGroups

export const prefixOf = (kind: NumberedKind, settings: Settings): string =>
  settingText(settings, numbering_group, `${kind}.prefix`)
/** Prefixes that users may leave out of numbers. Numbers of one store are typed in full. */
export const prefixesIn = (settings: Settings): ReadonlyArray<string> =>
  Object.entries(settings[numbering_group] ?? {}).flatMap(([key, value]) =>
    key.endsWith(".prefix") && typeof value === "string" && value !== "" && !value.includes("{store}") ? [value] : []
  )

/** The nth number of a series, with the prefix as given. */
export const numberWritten = (
  kind: NumberedKind,
  nth: number,
  given: { readonly before?: string; readonly settings: Settings; readonly store_id: number | null }
): string => {
  const { settings, store_id } = given
  const { before = prefixOf(kind, settings) } = given
  const own = settings[numbering_group]?.[`${kind}.digits`]
  const usual = kind === "opportunity" ? settingNumber(settings, "opportunities", "number_pad") : digits_default
  const length = typeof own === "number" ? own : usual
  return before.replaceAll("{store}", String(store_id ?? "")) + String(nth).padStart(length, "0")
}

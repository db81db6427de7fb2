/**
 * Series of document numbers: one for each kind, or one for each kind and store (rules/billing 1.3;
 * rules/rulings, number series).
 */
import type { DecideContext } from "../../kernel/events/settings.ts"
import { type NumberedKind, numbering_group, numberWritten, prefixOf } from "../../setup/settings/numbering.ts"

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
  const said = prefixOf(kind, settings)
  // Two stores never give one number, which by law names one document.
  const before = of_store && !said.includes("{store}") ? `${said}{store}-` : said
  return nth === null ? null : numberWritten(kind, nth, { before, settings, store_id })
}
